#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""`strata info`: the table, and JSON that fits its schema and the machine."""
import json
import os
import re
import unittest

from strata_program import APPS, ProgramTest, load_valid, strata


class Info(ProgramTest):
    def test_prints_a_table(self):
        run = strata("info")
        self.assertEqual((run.code, run.err), (0, ""))
        for row in ("Strata", "compiler", "Kokkos", "Kokkos Kernels", "MPI", "NLopt", "BLAS threads", "enabled", "default", "host", "memory", "matrix units"):
            self.assertRegex(run.out, rf"(?m)^  +{row}  ")

    def test_prints_json(self):
        run = strata("info", "--json")
        self.assertEqual((run.code, run.err), (0, ""))
        self.path("info.json").write_text(run.out)
        info = load_valid(self.path("info.json"), "info")
        self.assertEqual(info["host"]["memory_bytes"], os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        self.assertLessEqual(info["host"]["cores"], os.cpu_count())
        self.assertIn(info["default_backend"], info["backends"])

    def test_names_what_is_not_built(self):
        info = json.loads(strata("info", "--json").out)
        shown = strata("info").out
        without = {"MPI": "mpi", "NLopt": "nlopt"}
        for name, key in without.items():
            self.assertEqual(any(part.startswith(name) for part in info["not_built"]), info[key] == "none")
        self.assertEqual(any(part.startswith("CUDA and HIP") for part in info["not_built"]), not {"Cuda", "HIP"} & set(info["backends"]))
        self.assertTrue(any(part.startswith("the adapter to Trilinos") for part in info["not_built"]))
        for part in info["not_built"]:
            self.assertIn(f"  not built                {part}\n", shown)

    def test_threads_of_the_blas_and_who_says_so(self):
        """The tests' own variables are empty here, which libraries take for none."""
        none = {name: "" for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")}
        info = json.loads(strata("info", "--json", env=none).out)
        threads = info["blas_threads"]
        self.assertEqual(threads["source"], "")
        if threads["kind"] == "unknown":
            self.skipTest("a BLAS that can't be told")
        self.assertRegex(strata("info", env=none).out, rf"(?m)^  +BLAS threads  +up to {threads['most']} a product, by its size \(the library's choice; ")
        if threads["kind"] != "pthreads":
            return
        self.assertEqual(threads["most"], info["host"]["cores"])
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            run = strata("info", "--json", env={**none, name: "1"})
            self.assertEqual(json.loads(run.out)["blas_threads"], {"most": 1, "kind": "pthreads", "source": name})
            self.assertRegex(strata("info", env={**none, name: "1"}).out, rf"up to 1 a product, by its size \({name}; pthreads\)")

    def test_says_where_the_threads_of_openmp_and_of_the_blas_wait_on_the_same_cores(self):
        free = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "active"}
        info = json.loads(strata("info", "--json", env=free).out)
        both = "OpenMP" in info["backends"] and info["blas_threads"]["kind"] == "pthreads" and info["blas_threads"]["most"] > 1
        advice = "); these and OpenMP's wait busily on the same cores: link OpenBLAS for OpenMP, or set OMP_WAIT_POLICY=passive\n"
        self.assertEqual(advice in strata("info", env=free).out, both)
        self.assertNotIn("wait busily", strata("info", env={**free, "OMP_WAIT_POLICY": "passive"}).out)

    def test_is_the_configuration_of_every_report(self):
        run = strata("info", "--json")
        self.path("info.json").write_text(run.out)
        info = load_valid(self.path("info.json"), "info")
        configuration = self.solve("--generate", "minij", "--n", 5)["configuration"]
        for key in ("strata", "commit", "compiler", "kokkos", "libraries", "blas_threads", "backends", "accelerators"):
            self.assertEqual(configuration[key], info[key])

    def test_prints_the_schemas_that_the_files_hold(self):
        names = re.search(r"--schema ([\w|]+)", strata("info", "--help").out)[1].split("|")
        self.assertGreaterEqual(set(names), {"info", "solve", "solve_out_of_core", "hpgmxp"})
        for name in names:
            with self.subTest(name=name):  # mend: strata info --schema NAME > apps/schema/NAME.schema.json
                self.assertEqual(strata("info", "--schema", name).out, (APPS / "schema" / f"{name}.schema.json").read_text())
        self.assert_refused(strata("info", "--schema", "sovle"), "sovle")

    def test_refuses_what_it_does_not_know(self):
        self.assert_refused(strata("info", "--xml"), "--xml")


if __name__ == "__main__":
    unittest.main()
