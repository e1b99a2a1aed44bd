# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""What there is to draw in reports, traces, tables and results of benchmarks: strata_plot.py draws it."""
import collections
import csv
import gzip
import itertools
import json
import math
import pathlib
import re
import statistics
import zlib


class Unusable(Exception):
    """What the user can put right."""


Input = collections.namedtuple("Input", "path name type data")  # type: "report", "trace", "benchmark" or "table"


# ---- files ----


def plain(text):
    """For Matplotlib, which takes what is between two $ for a formula."""
    return text.replace("$", "\\$")


def read(path):
    raw = pathlib.Path(path).read_bytes()
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (EOFError, OSError, zlib.error) as error:
            raise Unusable(f"{path}: not whole: {error}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unusable(f"{path}: neither JSON nor CSV") from None
    name = plain(pathlib.Path(path).name)
    if not text.lstrip().startswith(("{", "[")):
        return Input(path, name, "table", read_table(path, text))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unusable(f"{path}: not JSON: {error}") from None
    events = data if isinstance(data, list) else data.get("traceEvents")
    if isinstance(events, list):
        return Input(path, name, "trace", events)
    if "benchmarks" in data:
        return Input(path, name, "benchmark", data)
    if not str(data.get("schema", "")).startswith("strata."):
        raise Unusable(f"{path}: no report of strata, no trace and no result of Google Benchmark")
    return Input(path, name, "report", data)


def read_table(path, text):
    """The columns of numbers of a CSV file by their names in lower case; others are left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise Unusable(f"{path}: empty")
    delimiter = ";" if lines[0].count(";") > lines[0].count(",") else ","
    rows = list(csv.reader(lines, delimiter=delimiter))
    columns = {}
    for name, cells in zip(rows[0], zip(*rows[1:])):
        try:
            columns[name.strip().lower()] = [float(cell) for cell in cells]
        except ValueError:
            continue
    if not columns:
        raise Unusable(f"{path}: no column of numbers under a line of names")
    return columns


def beside(item, path):
    """A file that a report names, if it is there: as seen from here, or from the report's folder."""
    for place in (pathlib.Path(path), pathlib.Path(item.path).parent / path):
        if path and place.is_file():
            return read(str(place))
    return None


def column(table, *names):
    return next((table[name] for name in names if name in table), None)


def places(table):
    """x, y, their labels, and whether they are degrees; None: the table has none."""
    for x, y, geographic in (("lon", "lat", True), ("longitude", "latitude", True), ("x", "y", False), ("easting", "northing", False)):
        if x in table and y in table:
            labels = ("longitude (degrees)", "latitude (degrees)") if geographic else (f"{x} (unit of the data)", f"{y} (unit of the data)")
            return table[x], table[y], labels, geographic
    return None


# ---- what there is to draw in a file: the data of a picture, or None ----


def find_convergence(item):
    report = item.data
    if item.type != "report":
        return None
    refine, fit = report.get("refine") or {}, report.get("fit") or {}
    if refine.get("history"):
        return {"y": refine["history"], "target": refine["tolerance"], "label": f"refinement: {refine['method']}",
                "axes": ("step of the refinement (0: the first solve)", "normwise backward error")}
    history = report.get("history") or {}
    if history.get("iterations"):
        label = f"{report['solver']}, preconditioner in {report['precision']}"
        return {"x": history["iterations"], "y": history["relative_residual"], "target": report["asked"]["tolerance"], "label": label,
                "axes": ("iteration", "relative residual ||b - A x|| / ||b||")}
    if fit.get("history"):
        return {"y": fit["history"], "x": range(1, len(fit["history"]) + 1), "target": None, "label": "fit",
                "axes": ("evaluation", "log-likelihood")}
    return None


def find_layers(item):
    return item.data if item.type == "report" and item.data.get("blocks") and item.data["n"] > 0 else None


def find_map(item):
    if item.type != "report":
        return None
    tiles = {**item.data, **(item.data.get("precisions") or {})} if item.data["schema"].startswith("strata.mle/") else item.data
    return tiles if tiles.get("map") else None


def find_trace(item):
    return [event for event in item.data if event.get("ph") == "X"] or None if item.type == "trace" else None


def find_kriging(item):
    table = item
    if item.type == "report":
        table = beside(item, (item.data.get("prediction") or {}).get("output", ""))
    if table is None or table.type != "table" or not places(table.data):
        return None
    sd = column(table.data, "sd", "standard_error") or [math.sqrt(v) for v in column(table.data, "variance") or []]
    if "mean" not in table.data or not sd:
        return None
    observed = beside(item, item.data["problem"]["source"]) if item.type == "report" else None
    sites = places(observed.data) if observed and observed.type == "table" else None
    return {"places": places(table.data), "mean": table.data["mean"], "sd": sd, "sites": sites}


def find_variogram(item):
    """Of a table its points, of observations those made of them; of a report the curve, and the points of its observations."""
    found = {}
    if item.type == "table":
        lag = column(item.data, "distance", "lag", "h")
        half = column(item.data, "semivariance", "gamma")
        if lag and half:
            return {"lag": lag, "half": half, "pairs": column(item.data, "pairs", "count", "np", "n")}
        others = [values for name, values in item.data.items() if name not in ("x", "y", "lon", "lat", "longitude", "latitude", "easting", "northing")]
        values = column(item.data, "value") or (others[0] if len(item.data) == 3 and len(others) == 1 else None)
        return {"observations": (places(item.data), values)} if values and places(item.data) else None
    if item.type == "report" and item.data["schema"].startswith("strata.mle/"):
        found = {"theta": item.data["theta"], "covariance": item.data.get("covariance"), "km": item.data["problem"]["metric"].endswith("km")}
        observed = beside(item, item.data["problem"]["source"])
        if observed and observed.type == "table":
            found |= find_variogram(observed) or {}
    return found or None


def matern_correlation(h, theta):
    """2^(1-nu) / Gamma(nu) (h/range)^nu K_nu(h/range), the Bessel function by its integral over exp(-s cosh t) cosh(nu t)."""
    import numpy

    s = numpy.maximum(numpy.asarray(h, dtype=float) / theta["range"], 1e-8)[:, None]
    t = numpy.linspace(0, 30, 6001)[None, :]
    nu = theta["nu"]
    with numpy.errstate(over="ignore", under="ignore"):
        inside = numpy.exp(numpy.minimum(nu * t, 700) - s * numpy.cosh(t)) / 2 + numpy.exp(-nu * t - s * numpy.cosh(t)) / 2
    step = float(t[0, 1])
    bessel = step * (inside.sum(axis=1) - (inside[:, 0] + inside[:, -1]) / 2)
    return numpy.clip(2 ** (1 - nu) / math.gamma(nu) * s[:, 0] ** nu * bessel, 0, 1)


def correlation(h, family, structure):
    """Of a structure at distances h, as docs/geostatistics.md has the families; a table without a family is Matern's."""
    import numpy

    x = numpy.asarray(h, dtype=float) / structure["range"]
    if family == "spherical":
        return numpy.where(x < 1, 1 - 1.5 * x + x**3 / 2, 0)
    if family in ("gaussian", "powered"):
        return numpy.exp(-(x ** (2 if family == "gaussian" else structure["nu"])))
    return numpy.exp(-x) if family == "exponential" else matern_correlation(h, structure)


def semivariance(h, theta, covariance):
    """The model's, of one structure or two."""
    second = covariance.get("second")
    gamma = theta["nugget"] + theta["sigma2"] * (1 - correlation(h, covariance.get("family"), theta))
    return gamma + second["sigma2"] * (1 - correlation(h, second["family"], second)) if second else gamma


def named(theta, covariance):
    """The numbers of both structures, those that there are."""
    words = ", ".join(f"{name} {value:.4g}" for name, value in theta.items() if value is not None)
    second = covariance.get("second")
    numbers = "" if not second else ", ".join(f"{name} {second[name]:.4g}" for name in ("sigma2", "range", "nu") if second[name] is not None)
    return f"{words} + {second['family']} {numbers}" if second else words


def seconds_of_benchmarks(document):
    """{name: {"Strata": s, "vendor": s}} of the benchmarks that have a vendor's call beside them."""
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    samples = collections.defaultdict(list)
    for row in document["benchmarks"]:
        if row.get("run_type", "iteration") == "iteration" and not row.get("error_occurred"):
            samples[row.get("run_name", row["name"])].append(row["real_time"] * scale[row["time_unit"]])
    vendor = {re.sub(r"/vendor/[^/]+/", "/", name): name for name in samples if "/vendor/" in name}
    found = {}
    for name in samples:
        # dense/tree_potrf/Cuda/fp16x2,fp32/n:4096/manual_time beside .../Cuda/vendor/fp64/n:4096/...
        parts = name.split("/")
        twin = vendor.get("/".join(parts[:3] + parts[4:]))
        if twin and "/vendor/" not in name:
            label = "\n".join([parts[1], *parts[3:4], " ".join(part for part in parts[4:] if ":" in part)])
            found[label] = {"Strata": statistics.median(samples[name]), "vendor": statistics.median(samples[twin])}
    return found


MOTIFS = {"gauss_seidel": "Gauss-Seidel", "ortho": "orthogonalisation", "spmv": "product with A", "restrict": "restriction",
          "prolong": "prolongation", "update": "update of x"}


def find_compare(item):
    """The label of the vendor, and {what: {who: seconds}}."""
    if item.type == "benchmark":
        bars = seconds_of_benchmarks(item.data)
        return {"unit": "seconds", "bars": bars} if bars else None
    report = item.data if item.type == "report" else {}
    if report.get("compare"):
        theirs, ours = report["compare"]["seconds"], report["seconds"]
        vendor = report["compare"]["library"]
        runs = [(name, len(list(run))) for name, run in itertools.groupby(report["layers"].split(","))]
        where = f"\nn = {report['n']}\n" + ",".join(name if count == 1 else f"{name}x{count}" for name, count in runs)
        bars = {}
        if "cholesky" in ours["factor_parts"]:
            bars["Cholesky" + where] = {"Strata": ours["factor_parts"]["cholesky"], vendor: theirs["factor"]}
        kept = ", A kept" if "copy" in theirs else ""
        bars["factor" + kept + where] = {"Strata": ours["factor"], vendor: theirs.get("copy", 0) + theirs["factor"]}
        bars["factor + solve" + where] = {"Strata": ours["factor"] + ours["solve"], vendor: sum(theirs.values())}
        return {"unit": "seconds", "bars": bars}
    if report.get("mixed") and report.get("fp64"):
        bars = collections.defaultdict(dict)
        for who, phase in (("mixed precision", report["mixed"]), ("fp64", report["fp64"])):
            for motif in (phase["motifs"] or {"parts": []})["parts"]:
                bars[MOTIFS.get(motif["name"], motif["name"])][who] = 1e3 * motif["seconds"]
        return {"unit": "milliseconds", "bars": bars} if bars else None
    return None
