# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Clocks and numbers of the comparisons with LAPACK, in NumPy's arrays, or with cuSOLVER, in PyTorch's on a GPU."""
import statistics
import time

import numpy as np


class Machine:
    """Where the numbers are: `device` is "lapack" (NumPy and SciPy), "cpu" or "cuda" (PyTorch)."""

    def __init__(self, device, processor_time=False):
        self.device, self.torch = device, None
        self.clock = time.process_time if processor_time else time.perf_counter
        if device != "lapack":
            import torch

            self.torch = torch

    @property
    def theirs(self):
        """The library on the other side."""
        return {"lapack": "LAPACK", "cpu": "PyTorch", "cuda": "cuSOLVER"}[self.device]

    @property
    def xp(self):
        return self.torch or np

    def name(self):
        return self.torch.cuda.get_device_name() if self.device == "cuda" else "host"

    def wait(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def forget(self):
        """Memory that PyTorch keeps for later is the other library's, too."""
        if self.device == "cuda":
            self.torch.cuda.empty_cache()

    def seconds(self, run):
        self.wait()
        begin = self.clock()
        result = run()
        self.wait()
        return self.clock() - begin, result

    def medians(self, runs, repeat):
        """Seconds of each of these functions, by turns, after one of each that warms up; and what the last turn gave."""
        times = [[] for _ in runs]
        results = [None for _ in runs]
        self.forget()
        for _ in range(repeat + 1):
            for k, run in enumerate(runs):
                results[k] = None  # its memory is free
                seconds, results[k] = self.seconds(run)
                times[k].append(seconds)
        return [statistics.median(each[1:]) for each in times], results

    def uniform(self, shape, seed):
        """In (0, 1)."""
        if self.torch is None:
            return np.random.default_rng(seed).random(shape)
        return self.torch.rand(shape, generator=self._generator(seed), dtype=self.torch.float64, device=self.device)

    def normal(self, shape, seed):
        if self.torch is None:
            return np.random.default_rng(seed).standard_normal(shape)
        return self.torch.randn(shape, generator=self._generator(seed), dtype=self.torch.float64, device=self.device)

    def _generator(self, seed):
        return self.torch.Generator(device=self.device).manual_seed(seed)

    def numbers(self, n):
        """0, ..., n - 1."""
        return np.arange(n, dtype=float) if self.torch is None else self.torch.arange(n, dtype=self.torch.float64, device=self.device)

    def identity(self, n):
        return np.eye(n) if self.torch is None else self.torch.eye(n, dtype=self.torch.float64, device=self.device)

    def columns(self, a):
        """The same numbers in Fortran order."""
        return np.asfortranarray(a) if self.torch is None else a.T.contiguous().T

    def there(self, a):
        """An array of either package as this machine's."""
        return np.asarray(a) if self.torch is None else self.torch.as_tensor(a).to(self.device)
