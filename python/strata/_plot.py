# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of reports and fits, by matplotlib where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._core import FactorReport, SolveReport, SparseReport
    from ._fit import Fit

# Of the precisions, as in the pictures of `strata plot`.
_COLOURS = {
    "fp64": "#440154", "fp32": "#31688e", "tf32": "#277f8e", "fp16_split": "#21918c", "bf16": "#1fa187", "fp16": "#6ece58",
    "fp8_e4m3": "#fde725", "fp8_e5m2": "#fde725",
}  # fmt: skip


def _axes(given: Any) -> Any:
    """The caller's axes, or the axes of a new figure. Raises ImportError that says what to install."""
    if given is not None:
        return given
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot() draws with matplotlib, which is not installed: pip install matplotlib") from error
    return pyplot.subplots()[1]


def layers(report: FactorReport, axes: Any = None) -> Any:
    """The blocks of a factor in the colours of their precisions."""
    axes = _axes(axes)
    from matplotlib.patches import Patch, Rectangle

    blocks = report.blocks()
    for row, col, rows, cols, precision in blocks:
        axes.add_patch(Rectangle((col, row), cols, rows, facecolor=_COLOURS.get(precision, "grey"), edgecolor="white", linewidth=0.4))
    used = {precision for *_, precision in blocks}
    axes.legend(handles=[Patch(facecolor=colour, label=name) for name, colour in _COLOURS.items() if name in used])
    axes.set(xlim=(0, report.n), ylim=(report.n, 0), aspect="equal", xlabel="column", ylabel="row", title=f"Layers {report.layers}")
    return axes


def convergence(report: SolveReport | SparseReport, axes: Any = None) -> Any:
    """The errors of a solve after each of its steps."""
    axes = _axes(axes)
    errors = np.asarray(report.history)
    axes.plot(np.arange(len(errors)), np.where(errors > 0, errors, np.nan), marker="o" if len(errors) <= 60 else "", markersize=4)
    tolerance: float | None = getattr(report, "tolerance", None)  # of a dense solve
    if tolerance is not None:
        axes.axhline(tolerance, linestyle="--", color="black", label=f"tolerance {tolerance:.1e}")
        axes.legend()
    axes.set(
        yscale="log", title="Convergence", xlabel="step of the refinement" if tolerance is not None else "iteration",
        ylabel="backward error of the worst column" if tolerance is not None else "|b - A x| / |b|",
    )  # fmt: skip
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(alpha=0.3)
    return axes


def kriging_map(fit: Fit, axes: Any = None, points: int = 64) -> Any:
    """What a fit predicts on a grid over the extent of its places, with the observations as dots of the same colours."""
    axes = _axes(axes)
    places, values = np.asarray(fit.locations), np.asarray(fit.values)
    sides = [np.linspace(low, high, points) for low, high in zip(places.min(axis=0), places.max(axis=0))]
    x, y = np.meshgrid(*sides)
    mean = np.asarray(fit.predict(np.column_stack([x.ravel(), y.ravel()])).mean).reshape(x.shape)
    low, high = min(mean.min(), values.min()), max(mean.max(), values.max())
    drawn = axes.pcolormesh(x, y, mean, shading="nearest", vmin=low, vmax=high)
    axes.scatter(*places.T, c=values, s=12, vmin=low, vmax=high, edgecolors="black", linewidths=0.3)
    axes.figure.colorbar(drawn, ax=axes, label="prediction, and observations (dots)")
    axes.set(xlabel="x", ylabel="y", title="Kriging with the fitted covariance")
    return axes
