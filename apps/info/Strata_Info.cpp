// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/info/Strata_Info.hpp>

#include <apps/shared/Strata_Report.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <comm/Strata_Mpi.hpp>
#include <core/info/Strata_Version.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace strata::apps {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;

std::string list_of(std::vector<std::string> const& names) {
  return names.empty() ? "none" : joined(names);
}

// The parts of a text between bars.
std::vector<std::string> parts(std::string_view text) {
  std::vector<std::string> list;
  while (!text.empty()) {
    auto const bar = std::min(text.find('|'), text.size());
    list.emplace_back(text.substr(0, bar));
    text.remove_prefix(std::min(bar + 1, text.size()));
  }
  return list;
}

// Whether the threads of the BLAS and those of Kokkos' host backend are in each other's way, in words.
std::string waiting(BlasThreading const& threads) {
  char const* const policy = std::getenv("OMP_WAIT_POLICY");  // NOLINT(concurrency-mt-unsafe)
  Kokkos::DefaultHostExecutionSpace const host;
  bool const is_openmp = std::string_view(host.name()) == "OpenMP";
  return advice_on_waiting(threads, is_openmp ? host.concurrency() : 1, policy ? policy : "");
}

void add_versions(Report& report, Configuration const& built) {
  report.section("Versions");
  report.tell("strata", "Strata", built.version, words(built.version, ", commit ", built.commit));
  report.only_json("commit", built.commit);
  report.tell("compiler", "compiler", built.compiler,
              words(built.compiler, ", build type ", built.build_type));
  report.only_json("build_type", built.build_type);
  report.add("kokkos", "Kokkos", built.kokkos);
  report.add("kokkos_kernels", "Kokkos Kernels", built.kokkos_kernels);
  report.add("mpi", "MPI", mpi_library());
  report.add("nlopt", "NLopt", STRATA_NLOPT);
  report.only_json("libraries", Report::Value::object());
  for (auto const& library : built.libraries)
    report.add("libraries/" + library.name, library.name, library.version);
  auto const& threads = built.blas_threads;
  std::string const source = threads.source.empty() ? "the library's choice" : threads.source;
  std::string const advice = waiting(threads);
  report.tell("blas_threads/most", "BLAS threads", threads.most,
              words("up to ", threads.most, " a product, by its size (", source, "; ", threads.kind,
                    ')', advice.empty() ? "" : "; ", advice));
  report.only_json("blas_threads/kind", threads.kind);
  report.only_json("blas_threads/source", threads.source);
  report.section("Backends");
  report.tell("backends", "enabled", built.backends, list_of(built.backends));
  int const concurrency = Exec().concurrency();
  report.tell("default_backend", "default", Exec::name(),
              words(Exec::name(), ", concurrency ", concurrency));
  report.only_json("concurrency", concurrency);
  report.only_json("not_built", parts(STRATA_NOT_BUILT));
  for (auto const& part : parts(STRATA_NOT_BUILT)) report.only_screen("not built", part);
  report.only_screen("--compare with",
                     vendor_cholesky().empty() ? "nothing" : std::string(vendor_cholesky()));
}

void add_devices(Report& report, Devices const& found) {
  auto const& host = found.host;
  report.section("Devices");
  report.tell("host/model", "host", host.model, words(host.model, ", ", host.cores, " cores"));
  report.only_json("host/cores", host.cores);
  report.add("host/memory_bytes", "  memory", host.memory_bytes, unit::bytes);
  report.add("host/memory_available_bytes", "  available", host.memory_available_bytes,
             unit::bytes);
  report.tell("host/matrix_units", "  matrix units", host.matrix_units, list_of(host.matrix_units));
  report.only_json("accelerators", Report::Value::array());
  for (auto const& gpu : found.accelerators)
    report.add("accelerators/-", words(gpu.backend, ' ', gpu.id),
               {{"id", gpu.id},
                {"backend", gpu.backend},
                {"name", gpu.name},
                {"architecture", gpu.architecture},
                {"memory_bytes", gpu.memory_bytes}});
}

void describe(Report& report) {
  add_versions(report, configuration());
  add_devices(report, devices());
}

}  // namespace

void add_configuration(Report& report) {
  Report program;
  describe(program);
  report.section("");
  report.only_json("configuration", program.json());
}

Exit info(bool as_json) {
  Report report;
  report.only_json("schema", "strata.info/1");
  describe(report);
  as_json ? void(std::cout << report.json_text()) : report.print(std::cout);
  return Exit::Solved;
}

}  // namespace strata::apps
