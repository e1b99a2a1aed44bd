// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A Kokkos tool (KOKKOS_TOOLS_LIBS) that writes each distinct event of a run to $STRATA_LABEL_LOG,
// one a line: kind, tab, innermost region, tab, label. It judges nothing; meta/labels.py does.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

// Kokkos' C interface, as its tools declare it for themselves.
struct SpaceHandle {
  char name[64];
};
struct ToolSettings {
  bool requires_global_fencing;
  bool padding[255];
};

std::mutex mutex;
std::set<std::string> events;
thread_local std::vector<std::string> regions;

void log(char const* kind, std::string const& label) {
  std::lock_guard const lock(mutex);
  events.insert(std::string(kind) + '\t' + (regions.empty() ? "" : regions.back()) + '\t' + label);
}

// Kokkos counts instances from 1; 0 in the low 17 bits of a fence's device number means all of
// them.
bool is_global(std::uint32_t device) { return (device & 0x1ffffu) == 0; }

}  // namespace

extern "C" {

// Without this Kokkos would fence around each event, and hide missing fences from the tests.
void kokkosp_request_tool_settings(std::uint32_t, ToolSettings* settings) {
  settings->requires_global_fencing = false;
}

void kokkosp_begin_parallel_for(char const* name, std::uint32_t, std::uint64_t*) {
  log("kernel", name);
}
void kokkosp_begin_parallel_reduce(char const* name, std::uint32_t, std::uint64_t*) {
  log("kernel", name);
}
void kokkosp_begin_parallel_scan(char const* name, std::uint32_t, std::uint64_t*) {
  log("kernel", name);
}
void kokkosp_allocate_data(SpaceHandle, char const* label, void const*, std::uint64_t) {
  log("view", label);
}
void kokkosp_push_profile_region(char const* name) {
  log("region", name);
  regions.emplace_back(name);
}
void kokkosp_pop_profile_region() {
  if (!regions.empty()) regions.pop_back();
}
void kokkosp_begin_fence(char const* name, std::uint32_t device, std::uint64_t*) {
  log(is_global(device) ? "global fence" : "fence", name);
}

void kokkosp_finalize_library() {
  char const* const path = std::getenv("STRATA_LABEL_LOG");
  if (path == nullptr) return;
  std::ofstream file(path);
  for (auto const& event : events) file << event << '\n';
}
}
