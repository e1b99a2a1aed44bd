#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata mle` with trends, REML, leave-one-out, variograms, maps and simulations, against dense NumPy; files of other programs."""
import csv
import importlib.util
import math
import shutil
import struct
import subprocess
import sys
import unittest

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
from strata_program import ProgramTest, load_valid, strata


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def read_tiff(data):
    """Tags of a little-endian TIFF file, and its bands of fp64, which stand one behind the other."""
    kinds = {2: "s", 3: "H", 4: "I", 12: "d"}
    (begin,) = struct.unpack_from("<I", data, 4)
    tags = {}
    for k in range(*struct.unpack_from("<H", data, begin)):
        tag, kind, count, _ = struct.unpack_from("<HHII", data, begin + 2 + 12 * k)
        layout = f"<{count}{kinds[kind]}"
        at = begin + 10 + 12 * k
        if struct.calcsize(layout) > 4:
            (at,) = struct.unpack_from("<I", data, at)
        values = struct.unpack_from(layout, data, at)
        tags[tag] = values[0] if kind == 2 else values
    cells = tags[256][0] * tags[257][0]
    pixels = b"".join(data[a:a + n] for a, n in zip(tags[273], tags[279]))
    return tags, np.frombuffer(pixels, "<f8").reshape(-1, cells)


class Field:
    """Stations with an elevation, values with a trend in it and in x, and what generalised least squares make of them."""

    def __init__(self, n=80, seed=5):
        random = np.random.default_rng(seed)
        self.places = np.column_stack([4e5 + 1000 * random.random(n), 5e6 + 1000 * random.random(n)])
        self.elevation = 100 + 50 * random.random(n)
        self.theta = (2.0, 150.0, 0.5, 0.3)
        S = self.covariance(self.places, self.places) + 0.3 * np.eye(n)
        self.y = 20 + 0.1 * self.elevation + 0.002 * (self.places[:, 0] - 4e5) + np.linalg.cholesky(S) @ random.standard_normal(n)

    def covariance(self, a, b):
        h = np.hypot(a[:, None, 0] - b[None, :, 0], a[:, None, 1] - b[None, :, 1])
        return self.theta[0] * np.exp(-h / self.theta[1])

    def write(self, path, separator=",", decimal="."):
        rows = [("station", "X_UTM", "Y_UTM", "elev", "rain")]
        rows += [(f"s{k}", *(repr(v).replace(".", decimal) for v in row))
                 for k, row in enumerate(np.column_stack([self.places, self.elevation, self.y]).tolist())]
        path.write_text("".join(separator.join(row) + "\n" for row in rows), encoding="utf-8")
        return path

    def columns(self, places, elevation):
        """Of --trend x,elev, the coordinate from an origin near by, which costs NumPy no digits."""
        return np.column_stack([np.ones(len(places)), places[:, 0] - 4e5, elevation])

    def solve(self, rows=None):
        """S^-1, S^-1 F and (F' S^-1 F)^-1 of these rows, and coefficients."""
        rows = np.arange(len(self.y)) if rows is None else rows
        S = self.covariance(self.places[rows], self.places[rows]) + self.theta[3] * np.eye(len(rows))
        F = self.columns(self.places[rows], self.elevation[rows])
        W = np.linalg.solve(S, F)
        A = F.T @ W
        b = np.linalg.solve(A, W.T @ self.y[rows])
        return S, F, W, A, b

    def log_likelihood(self, reml):
        S, F, _, A, b = self.solve()
        r = self.y - F @ b
        n, k = F.shape
        twice = np.linalg.slogdet(S)[1] + r @ np.linalg.solve(S, r)
        if not reml:
            return -0.5 * (n * math.log(2 * math.pi) + twice)
        return -0.5 * ((n - k) * math.log(2 * math.pi) + twice + np.linalg.slogdet(A)[1] - np.linalg.slogdet(F.T @ F)[1])

    def predict(self, places, elevation, rows=None):
        rows = np.arange(len(self.y)) if rows is None else rows
        S, F, W, A, b = self.solve(rows)
        C = self.covariance(self.places[rows], places)
        f = self.columns(places, elevation)
        mean = f @ b + C.T @ np.linalg.solve(S, self.y[rows] - F @ b)
        D = f - C.T @ W
        variance = self.theta[0] - np.einsum("ij,ij->j", C, np.linalg.solve(S, C)) + np.einsum("ij,ij->i", D, np.linalg.solve(A, D.T).T)
        return mean, variance


class MleKriging(ProgramTest):
    def mle(self, *arguments, code=0):
        path = self.path("report.json")
        run = strata("mle", *arguments, "--json", path, timeout=400)
        self.assertEqual(run.code, code, run.err)
        self.out, self.err = run.out, run.err
        return load_valid(path, "mle")

    def setUp(self):
        super().setUp()
        self.field = Field()
        self.file = self.field.write(self.path("rain.csv"))
        self.data = ["--data", self.file, "--columns", "X_UTM,Y_UTM,rain"]
        self.at = ["--theta", ",".join(map(str, self.field.theta))]

    def test_has_both_likelihoods_and_the_coefficients(self):
        _, F, _, A, b = self.field.solve()
        for reml in (False, True):
            report = self.mle(*self.data, *self.at, "--evaluate", "--trend", "x,elev", "--likelihood", "reml" if reml else "ml")
            expected = self.field.log_likelihood(reml)
            self.assertLess(abs(report["log_likelihood"] - expected), 1e-8 * abs(expected))
            self.assertEqual(report["mean"], {"model": "trend", "value": None})
            terms = report["trend"]["terms"]
            self.assertEqual([term["name"] for term in terms], ["constant", "x", "elev"])
            for term, slope, variance in zip(terms[1:], b[1:], np.diag(np.linalg.inv(A))[1:]):
                self.assertLess(abs(term["coefficient"] - slope), 1e-7 * abs(slope))
                self.assertLess(abs(term["standard_error"] - variance**0.5), 1e-7 * variance**0.5)
            if reml:  # whose columns' determinant does not know of the origin
                gram = np.linalg.slogdet(F.T @ F)[1]
                self.assertLess(abs(report["trend"]["log_likelihood_nlme"] - (expected - gram / 2)), 1e-8 * abs(expected))

    def test_fits_with_a_trend_and_counts_its_coefficients(self):
        for likelihood in ("ml", "reml"):
            report = self.mle(*self.data, "--trend", "x,elev", "--fix", "nu", "--likelihood", likelihood, "--gradient")
            self.assertEqual(report["status"], "fitted")
            self.assertLess(max(abs(v) for k, v in report["gradient"]["by_logarithm"].items() if k != "nu"), 0.05)
            self.assertLess(abs(report["aic"] + 2 * report["log_likelihood"] - 2 * 6), 1e-9)
            self.assertIn("not used: station", "".join(report["warnings"]))
            self.assertIn("Trend: coefficient +- standard error", self.out)

    def test_krigs_with_the_trend_of_the_new_places(self):
        random = np.random.default_rng(1)
        places = np.column_stack([4e5 + 1000 * random.random(7), 5e6 + 1000 * random.random(7)])
        elevation = 100 + 50 * random.random(7)
        self.path("new.csv").write_text("elev;name;Y_UTM;X_UTM\n" + "".join(
            f"{e!r};p;{y!r};{x!r}\n".replace(".", ",") for (x, y), e in zip(places.tolist(), elevation.tolist())), encoding="utf-8")
        report = self.mle(*self.data, *self.at, "--trend", "x,elev", "--predict", self.path("new.csv"), "--output", self.path("out.csv"))
        self.assertEqual(report["prediction"]["variance_of"], "field, universal kriging")
        with open(self.path("out.csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        mean, variance = self.field.predict(places, elevation)
        for row, m, v in zip(rows, mean, variance):
            self.assertLess(abs(float(row["mean"]) - m), 1e-9 * abs(m))
            self.assertLess(abs(float(row["variance"]) - v), 1e-8 * v)
        self.assertEqual(rows[0]["name"], "p")
        self.mle(*self.data, *self.at, "--trend", "x,elev", "--no-variance", "--predict", self.path("new.csv"), "--output", self.path("out.csv"))
        again = self.path("out.csv").read_text(encoding="utf-8").splitlines()
        self.assertEqual(again[0], "x,y,mean,elev,name")

    def test_leaves_observations_out(self):
        f = self.field
        report = self.mle(*self.data, *self.at, "--evaluate", "--trend", "x,elev", "--loo", self.path("loo.csv"))
        table = read_csv(self.path("loo.csv"))
        np.testing.assert_array_equal(table["observed"], f.y)
        z = []
        for i in range(len(f.y)):
            others = np.delete(np.arange(len(f.y)), i)
            mean, variance = f.predict(f.places[i:i + 1], f.elevation[i:i + 1], others)
            self.assertLess(abs(table["predicted"][i] - mean[0]), 1e-8 * abs(mean[0]))
            self.assertLess(abs(table["sd"][i] ** 2 - variance[0] - f.theta[3]), 1e-8)
            z.append((f.y[i] - mean[0]) / table["sd"][i])
        found = report["validation"]
        self.assertLess(abs(found["mean_square_z"] - np.mean(np.square(z))), 1e-7)
        self.assertLess(abs(found["rmse"] - np.sqrt(np.mean(np.square(table["residual"])))), 1e-12)
        self.assertEqual(found["outliers"][0]["observation"], 1 + int(np.argmax(np.abs(z))))
        report = self.mle(*self.data, *self.at, "--evaluate", "--loo", self.path("loo.csv"), "--loo-folds", "5,blocks")
        self.assertEqual(sorted(set(read_csv(self.path("loo.csv"))["fold"])), [1, 2, 3, 4, 5])
        self.assertEqual(report["validation"]["folds"], "5,blocks")

    def test_writes_the_variogram(self):
        report = self.mle(*self.data, *self.at, "--evaluate", "--variogram", self.path("v.csv"))
        table, f = read_csv(self.path("v.csv")), self.field
        self.assertEqual(list(table), ["distance", "semivariance", "pairs", "model"])
        cutoff = np.hypot(*np.ptp(f.places, axis=0)) / 3
        h = np.hypot(*(f.places[:, None] - f.places[None]).transpose(2, 0, 1))[np.triu_indices(len(f.y), 1)]
        d = ((f.y[:, None] - f.y[None]) ** 2)[np.triu_indices(len(f.y), 1)]
        inside = (h > cutoff * 4 / 15) & (h <= cutoff * 5 / 15)
        self.assertEqual(table["pairs"][4], inside.sum())
        self.assertAlmostEqual(table["semivariance"][4], d[inside].mean() / 2, 9)
        np.testing.assert_allclose(table["model"], 0.3 + 2 * (1 - np.exp(-table["distance"] / 150)), rtol=1e-12)
        self.assertEqual(len(report["variogram"]), len(table["pairs"]))

    def test_maps_and_simulates(self):
        grid = "400000:401000:100,5000000:5001000:250"
        report = self.mle(*self.data, *self.at, "--trend", "x", "--predict-grid", grid, "--simulations", 2, "--output", self.path("map.asc"))
        self.assertEqual(len(report["prediction"]["files"]), 4)
        self.assertEqual(report["prediction"]["count"], 11 * 5)
        self.mle(*self.data, *self.at, "--trend", "x", "--predict-grid", grid, "--simulations", 2, "--output", self.path("map.csv"))
        table = read_csv(self.path("map.csv"))
        for layer in ("mean", "sd", "sim1", "sim2"):
            lines = self.path(f"map.{layer}.asc").read_text(encoding="utf-8").splitlines()
            self.assertEqual(lines[:7], ["ncols 11", "nrows 5", "xllcorner 399950", "yllcorner 4999875", "dx 100", "dy 250", "NODATA_value -9999"])
            np.testing.assert_array_equal(np.array(" ".join(lines[7:]).split(), dtype=float), table[layer])
        self.assertEqual((table["x"][12], table["y"][12]), (400100, 5000750))
        self.assertGreater(np.abs(table["sim1"] - table["sim2"]).max(), 0.1)
        report = self.mle(*self.data, *self.at, "--predict-grid", "auto", "--no-variance", "--output", self.path("map.csv"))
        self.assertLessEqual(report["prediction"]["count"], 40000)
        self.assertIsNone(report["prediction"]["average_variance"])

    def test_adds_two_covariances(self):
        theta = ["--family", "exponential+spherical", "--theta", "2,150,0.3+1e+0,400"]
        report = self.mle(*self.data, *theta, "--trend", "0", "--evaluate")
        f = self.field
        x = np.hypot(*(f.places[:, None] - f.places[None]).transpose(2, 0, 1)) / 400
        S = f.covariance(f.places, f.places) + 0.3 * np.eye(80) + np.where(x < 1, 1 - 1.5 * x + x**3 / 2, 0)
        expected = -0.5 * (80 * math.log(2 * math.pi) + np.linalg.slogdet(S)[1] + f.y @ np.linalg.solve(S, f.y))
        self.assertAlmostEqual(report["log_likelihood"] / expected, 1, 11)
        self.assertEqual(report["covariance"]["second"], {"family": "spherical", "sigma2": 1, "range": 400, "nu": None})
        report = self.mle(*self.data, "--trend", "x,elev", "--family", "exponential+spherical")
        self.assertGreater(report["covariance"]["second"]["range"], 0)
        self.assertIn("sigma2_2", report["standard_errors"]["further"])
        run = strata("mle", *self.data, "--family", "exponential+spherical", "--theta", "2,150,0.3", "--evaluate")
        self.assert_refused(run, "must be two structures")
        self.assert_refused(strata("mle", *self.data, "--family", "exponential+cubic"), "cubic")

    def test_maps_are_geotiff_and_netcdf(self):
        grid = "400000:401000:100,5000000:5001000:250"
        def mapped(name, *options):
            return self.mle(*self.data, *self.at, "--predict-grid", grid, "--simulations", 2, *options, "--output", self.path(name))
        mapped("map.csv")
        table = read_csv(self.path("map.csv"))
        layers = ("mean", "sd", "sim1", "sim2")
        self.assertEqual(len(mapped("map.tif", "--crs", "EPSG:32631")["prediction"]["files"]), 1)
        tags, bands = read_tiff(self.path("map.tif").read_bytes())
        self.assertEqual((tags[256], tags[257], tags[277]), ((11,), (5,), (4,)))
        self.assertEqual((tags[33550], tags[33922]), ((100, 250, 0), (0, 0, 0, 399950, 5001125, 0)))
        self.assertEqual(tags[34735], (1, 1, 1, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32631))
        self.assertEqual(tags[42113], b"nan\0")
        for layer, band in zip(layers, bands):
            np.testing.assert_array_equal(band, table[layer])
            self.assertIn(f">{layer}</Item>".encode(), tags[42112])
        mapped("plain.tif")
        self.assertEqual(read_tiff(self.path("plain.tif").read_bytes())[0][34735], (1, 1, 1, 1, 1025, 0, 1, 1))
        mapped("map.nc")
        if importlib.util.find_spec("scipy") is not None:
            self.check_netcdf(self.path("map.nc"), table, layers)
        for tool, name, text in (("gdalinfo", "map.tif", "32631"), ("ncdump", "map.nc", "CF-1.8")):
            if shutil.which(tool):
                told = subprocess.run([tool, self.path(name)], capture_output=True, check=True, text=True).stdout
                self.assertIn(text, told)
        run = strata("mle", *self.data, *self.at, "--predict-grid", grid, "--crs", "EPSG:32631", "--output", self.path("utm.nc"))
        self.assert_refused(run, "EPSG:32631 is a projected coordinate system", "MAP.tif")

    def test_maps_of_longitude_and_latitude_take_no_projected_system(self):
        random = np.random.default_rng(1)
        rows = np.column_stack([random.random((40, 2)) * 5 + 40, random.standard_normal(40)])
        self.path("globe.csv").write_text("lon,lat,value\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()), encoding="utf-8")
        told = ("--locations", self.path("globe.csv"), "--theta", "1,200,0.5,0.1", "--predict-grid", "41:44:1,41:43:1")
        run = strata("mle", *told, "--crs", "EPSG:32631", "--output", self.path("globe.tif"))
        self.assertNotEqual(run.code, 0)
        self.assertIn("EPSG:32631 is a projected coordinate system, and the map's coordinates are longitude and latitude", run.err)
        self.mle(*told, "--crs", "EPSG:4258", "--output", self.path("globe.tif"))
        tags, _ = read_tiff(self.path("globe.tif").read_bytes())
        self.assertEqual(tags[34735], (1, 1, 1, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4258))
        self.mle(*told, "--output", self.path("globe.nc"))
        if importlib.util.find_spec("scipy") is None:
            return
        from scipy.io import netcdf_file
        with netcdf_file(self.path("globe.nc"), mmap=False) as file:
            of = file.variables["crs"]
            self.assertEqual((of.grid_mapping_name, of.semi_major_axis, of.inverse_flattening), (b"latitude_longitude", 6378137, 298.257223563))
            self.assertEqual((file.variables["lon"].units, file.variables["mean"].grid_mapping), (b"degrees_east", b"crs"))
            self.assertFalse(hasattr(of, "crs_wkt") or hasattr(of, "spatial_ref"))

    def check_netcdf(self, path, table, layers):
        from scipy.io import netcdf_file
        with netcdf_file(path, mmap=False) as file:
            self.assertEqual(file.Conventions, b"CF-1.8")
            self.assertNotIn("crs", file.variables)
            self.assertFalse(hasattr(file.variables["x"], "standard_name"))
            self.assertEqual(file.dimensions, {"y": 5, "x": 11})
            np.testing.assert_array_equal(file.variables["y"][:], np.arange(5001000, 4999999, -250))
            np.testing.assert_array_equal(file.variables["x"][:], np.arange(400000, 401001, 100))
            for layer in layers:
                np.testing.assert_array_equal(file.variables[layer][:].ravel(), table[layer])

    def test_refuses_what_does_not_go_together(self):
        def refused(*arguments):
            return strata("mle", *self.data, *arguments)
        self.assert_refused(refused("--trend", "x,nothing"), "there is no column 'nothing'")
        self.assert_refused(refused("--trend", "x,rain"), "column 'rain' is the value itself")
        self.assert_refused(refused("--trend", "x,elev,x"), "trend: x is a combination of x: leave it out")
        self.assert_refused(refused("--trend", "elev^0"), "must be NAME^K with K from 1 to 9")
        self.assert_refused(refused("--trend", "log(elev),,x"), "has an empty term")
        self.assert_refused(refused("--trend", "1", "--mean", "none"), "--trend and --mean say the same")
        self.assert_refused(refused("--trend", "elev", "--predict-grid", "auto", "--output", self.path("m.asc")), "--trend needs elev")
        self.assert_refused(refused("--loo-folds", "3"), "--loo-folds is of --loo")
        self.assert_refused(refused("--predict-grid", "auto", "--output", self.path("m.tif"), "--crs", "32631"), "must be EPSG:N")
        self.assert_refused(refused("--predict-grid", "auto", "--output", self.path("m.asc"), "--crs", "EPSG:32631"), "--crs is of --predict-grid")
        self.assert_refused(refused("--predict-grid", "auto", "--output", self.path("m.png")), ".tif, .nc or .asc for grids")
        self.assert_refused(refused("--simulations", "3"), "are of --predict or --predict-grid")
        self.assert_refused(refused("--predict-grid", "1:2", "--output", self.path("m.asc")), "must be X0:X1:DX,Y0:Y1:DY")
        self.assert_refused(refused("--loo", self.path("l.csv"), "--loo-folds", "99"), "99 parts of 80 observations")
        run = strata("mle", "--data", self.file)
        self.assert_refused(run, "expected the columns x,y,value or lon,lat,value", "--columns X,Y,VALUE says which they are")

    def test_takes_files_with_tabs_and_decimal_commas(self):
        first = self.mle(*self.data, *self.at, "--evaluate", "--trend", "sqrt(elev)*x,poly2")
        for separator, decimal in (("\t", ","), (";", ","), ("\t", ".")):
            self.field.write(self.file, separator, decimal)
            self.assertEqual(self.mle(*self.data, *self.at, "--evaluate", "--trend", "sqrt(elev)*x,poly2")["log_likelihood"], first["log_likelihood"])
        self.assertEqual([term["name"] for term in first["trend"]["terms"]], ["constant", "sqrt(elev)*x", "x", "y", "x^2", "x*y", "y^2"])

    def test_says_that_trend_replaces_mean(self):
        for word, trend in (("none", "0"), ("constant", "1")):
            old = self.mle(*self.data, *self.at, "--evaluate", "--mean", word)
            self.assertIn(f"--mean {word} is --trend {trend}, which replaces it", self.err)
            self.assertEqual(old["log_likelihood"], self.mle(*self.data, *self.at, "--evaluate", "--trend", trend)["log_likelihood"])
            self.assertNotIn("--mean", self.err)


if __name__ == "__main__":
    unittest.main()
