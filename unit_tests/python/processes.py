# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Programs in a Python of their own: what hangs is ended, and a failure."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest


def run(program: str, *, interrupt: bool = False, environment: dict[str, str] | None = None, seconds: float = 200) -> subprocess.CompletedProcess[str]:
    """It says a line when it is ready, and is then interrupted if asked; where its threads stood if it takes longer than `seconds`."""
    watched = f"import faulthandler, signal; faulthandler.register(signal.SIGUSR1)\n{program}"
    process = subprocess.Popen([sys.executable, "-c", watched], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    first = process.stdout.readline()
    if interrupt:
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGUSR1)
        time.sleep(1.0)
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"no end in {seconds} s: {first + out}\n{err}")
    return subprocess.CompletedProcess(process.args, process.returncode, first + out, err)
