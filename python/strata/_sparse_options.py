# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What sparse solvers take by name, for type checkers."""

from __future__ import annotations

from typing import Any, Callable, Literal, TypedDict

Method = Literal["auto", "cg", "minres", "gmres", "fgmres", "bicgstab", "direct"]
Kind = Literal["auto", "none", "jacobi", "l1-jacobi", "chebyshev", "gs", "ic", "ilu", "amg", "direct"]
Precision = Literal["fp64", "fp32", "bf16", "fp16"]


Norm = Literal["residual", "preconditioned", "energy"]
Monitor = Callable[[int, float], object]


class Options(TypedDict, total=False):
    """What `Solver` and `solve` take by name, for type checkers."""

    solver: Method
    preconditioner: Kind
    precision: Precision
    tolerance: float
    restart: int
    max_iterations: int
    block_size: int
    fill: int
    coordinates: Any
    near_null_space: Any
    absolute_tolerance: float
    stop: Norm
