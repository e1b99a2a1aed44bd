# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Use the package beside PyTorch, with tensors on the GPU if it was built for one: solves, a log-determinant and a gradient as torch.linalg has
them. Without PyTorch the exit code is 77."""
import importlib.util
import sys

import numpy
import strata

if importlib.util.find_spec("torch") is None:
    print("PyTorch is not installed")
    sys.exit(77)
import strata.torch
import torch

CUDA = 2  # as DLPack numbers devices
place = torch.device("cuda", strata._core.device()[1]) if strata._core.device()[0] == CUDA else torch.device("cpu")
n = 1500
M = torch.from_numpy(numpy.random.default_rng(5).standard_normal((n, n))).to(place)
A, b = M @ M.T / n + torch.eye(n, dtype=M.dtype, device=place), M[0].clone()
bound = 20 * n * torch.finfo(M.dtype).eps  # the condition number of A is at most 5


def close(name, mine, theirs):
    assert isinstance(mine, torch.Tensor) and mine.device == theirs.device, f"{name}: {type(mine)} for one on {theirs.device}"
    apart = float(torch.linalg.norm(mine - theirs) / torch.linalg.norm(theirs))
    print(f"{name:28} {apart:.1e} from torch.linalg, on {place}")
    assert apart <= bound, f"{name}: {apart} is more than {bound}"


expected = torch.linalg.solve(A, b)
close("solve", strata.solve(A, b), expected)
close("solve, two right-hand sides", strata.solve(A, M[:, :2].clone()), torch.linalg.solve(A, M[:, :2]))
close("factor in fp16 and fp32", strata.cholesky(A, "fp16,fp32").solve(b), expected)
logdet = strata.logdet(A)
assert abs(float(logdet) - float(torch.logdet(A))) <= max(logdet.error, bound * n), f"log-determinant: {logdet} for {float(torch.logdet(A))}"
close("gradient of b' A^-1 b", torch.autograd.grad(b @ strata.torch.solve(A.requires_grad_(), b), A)[0].detach(), -torch.outer(expected, expected))
for library in sorted({line.split()[-1] for line in open("/proc/self/maps") if "libcu" in line or "stakokkos" in line}):
    print(library)
print(strata.configuration())
