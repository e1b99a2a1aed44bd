// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/info/Strata_Info.hpp>

#include <apps/shared/Strata_InfoJson.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <apps/solve/Strata_SolveCompare.hpp>
#include <core/info/Strata_Version.hpp>

#include <Kokkos_Core.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace strata::apps {

namespace {

using Json = nlohmann::ordered_json;
using Exec = Kokkos::DefaultExecutionSpace;

std::string joined(std::vector<std::string> const& words) {
  std::string result;
  for (auto const& word : words) result += (result.empty() ? "" : ", ") + word;
  return result.empty() ? "none" : result;
}

void row(std::string const& name, std::string const& value) {
  std::cout << text("  %-18s %s\n", name.c_str(), value.c_str());
}

void print_versions(Configuration const& configuration) {
  std::cout << "Versions\n";
  row("Strata", configuration.version + ", commit " + configuration.commit);
  row("compiler", configuration.compiler + ", build type " + configuration.build_type);
  row("Kokkos", configuration.kokkos);
  row("Kokkos Kernels", configuration.kokkos_kernels);
  for (auto const& library : configuration.libraries) row(library.name, library.version);
}

void print_backends(Configuration const& configuration) {
  std::cout << "\nBackends\n";
  row("enabled", joined(configuration.backends));
  row("default", text("%s, concurrency %d", Exec::name(), Exec().concurrency()));
  row("--compare with", vendor_cholesky().empty() ? "nothing" : std::string(vendor_cholesky()));
}

void print_devices(Devices const& found) {
  auto const& host = found.host;
  std::cout << "\nDevices\n";
  row("host", text("%s, %d cores", host.model.c_str(), host.cores));
  row("  memory", text("%s, %s available", in_bytes(static_cast<double>(host.memory_bytes)).c_str(),
                       in_bytes(static_cast<double>(host.memory_available_bytes)).c_str()));
  row("  matrix units", joined(host.matrix_units));
  for (auto const& gpu : found.accelerators) {
    row(text("%s %d", gpu.backend.c_str(), gpu.id), gpu.name + ", " + gpu.architecture);
    row("  memory", in_bytes(static_cast<double>(gpu.memory_bytes)));
  }
}

Json json_of(std::vector<Accelerator> const& accelerators) {
  Json list = Json::array();
  for (auto const& gpu : accelerators)
    list.push_back({{"id", gpu.id},
                    {"backend", gpu.backend},
                    {"name", gpu.name},
                    {"architecture", gpu.architecture},
                    {"memory_bytes", gpu.memory_bytes}});
  return list;
}

}  // namespace

Json configuration_json() {
  auto const built = configuration();
  auto const found = devices();
  Json libraries = Json::object();
  for (auto const& library : built.libraries) libraries[library.name] = library.version;
  return {{"strata", built.version},
          {"commit", built.commit},
          {"compiler", built.compiler},
          {"build_type", built.build_type},
          {"kokkos", built.kokkos},
          {"kokkos_kernels", built.kokkos_kernels},
          {"libraries", libraries},
          {"backends", built.backends},
          {"default_backend", Exec::name()},
          {"concurrency", Exec().concurrency()},
          {"host",
           {{"model", found.host.model},
            {"cores", found.host.cores},
            {"memory_bytes", found.host.memory_bytes},
            {"memory_available_bytes", found.host.memory_available_bytes},
            {"matrix_units", found.host.matrix_units}}},
          {"accelerators", json_of(found.accelerators)}};
}

Exit info(bool as_json) {
  if (as_json) {
    Json json{{"schema", "strata.info/1"}};
    json.update(configuration_json());
    std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    print_versions(configuration());
    print_backends(configuration());
    print_devices(devices());
  }
  return Exit::Solved;
}

}  // namespace strata::apps
