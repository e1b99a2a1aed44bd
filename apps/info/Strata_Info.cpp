// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/info/Strata_Info.hpp>

#include <apps/document/Strata_Document.hpp>
#include <apps/info/Strata_InfoFields.hpp>
#include <apps/info/Strata_NotBuilt.hpp>
#include <apps/info/Strata_Schemas.hpp>
#include <apps/shared/Strata_Report.hpp>
#include <apps/solve/Strata_SolveResult.hpp>
#include <comm/Strata_Mpi.hpp>
#include <core/info/Strata_Version.hpp>

#include <Kokkos_Core.hpp>

#include <CLI/CLI.hpp>

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

// Whether the threads of the BLAS and of Kokkos' host backend are in each other's way, in words.
std::string waiting(BlasThreading const& threads) {
  char const* const policy = std::getenv("OMP_WAIT_POLICY");  // NOLINT(concurrency-mt-unsafe)
  Kokkos::DefaultHostExecutionSpace const host;
  bool const is_openmp = std::string_view(host.name()) == "OpenMP";
  return advice_on_waiting(threads, is_openmp ? host.concurrency() : 1, policy ? policy : "");
}

void show_versions(Report& report, Program const& program) {
  auto const& built = program.built;
  report.section("Versions");
  report.only_screen("Strata", words(built.version, ", commit ", built.commit));
  report.only_screen("compiler", words(built.compiler, ", build type ", built.build_type));
  report.show("Kokkos", built.kokkos);
  report.show("Kokkos Kernels", built.kokkos_kernels);
  report.show("MPI", program.mpi);
  report.show("NLopt", program.nlopt);
  for (auto const& library : built.libraries) report.show(library.name, library.version);
  auto const& threads = built.blas_threads;
  std::string const source = threads.source.empty() ? "the library's choice" : threads.source;
  std::string const advice = waiting(threads);
  report.only_screen("BLAS threads",
                     words("up to ", threads.most, " a product, by its size (", source, "; ",
                           threads.kind, ')', advice.empty() ? "" : "; ", advice));
  report.section("Backends");
  report.only_screen("enabled", list_of(built.backends));
  report.only_screen("default",
                     words(program.default_backend, ", concurrency ", program.concurrency));
  for (auto const& part : program.not_built) report.only_screen("not built", part);
  report.only_screen("--compare with",
                     vendor_cholesky().empty() ? "nothing" : std::string(vendor_cholesky()));
}

void show_devices(Report& report, Devices const& found) {
  auto const& host = found.host;
  report.section("Devices");
  report.only_screen("host", words(host.model, ", ", host.cores, " cores"));
  report.show("  memory", host.memory_bytes, unit::bytes);
  report.show("  available", host.memory_available_bytes, unit::bytes);
  report.only_screen("  matrix units", list_of(host.matrix_units));
  for (auto const& gpu : found.accelerators)
    report.show(words(gpu.backend, ' ', gpu.id), json_of(gpu));
}

}  // namespace

Program this_program() {
  return {configuration(),      devices(),    mpi_library(),          Exec::name(),
          Exec().concurrency(), STRATA_NLOPT, parts(STRATA_NOT_BUILT)};
}

void add_configuration(Report& report) {
  report.document("configuration", json_of(this_program()));
}

void add_info_options(CLI::App& command, InfoOptions& options) {
  command.add_flag("--json", options.as_json, "for machines");
  std::string words;
  for (auto const& name : schema_names()) words += (words.empty() ? "" : "|") + name;
  command
      .add_option("--schema", options.schema,
                  "print the JSON schema of that document, in place of the table")
      ->check(CLI::IsMember(schema_names()).description(""))
      ->type_name(words);
}

Exit info(InfoOptions const& options) {
  if (!options.schema.empty()) {
    std::cout << schema_text(options.schema);
    return Exit::Solved;
  }
  Program const program = this_program();
  Report report;
  report.document("", json_of(InfoDocument{program}));
  show_versions(report, program);
  show_devices(report, program.devices);
  options.as_json ? void(std::cout << report.json_text()) : report.print(std::cout);
  return Exit::Solved;
}

}  // namespace strata::apps
