// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/team/vendor/Strata_Numa.hpp>
#ifdef STRATA_ENABLE_TPL_NUMA
#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fstream>

namespace strata::ooc::vendor {

namespace {

bool is_one_of_several(int node) {
  auto const& nodes = numa_nodes();
  return nodes.size() > 1 && std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

int numa_node_of_pci(std::string bus) {
  std::transform(bus.begin(), bus.end(), bus.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  int node = -1;
  std::ifstream("/sys/bus/pci/devices/" + bus + "/numa_node") >> node;
  auto const& nodes = numa_nodes();
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end() ? node : nodes.front();
}

#ifdef STRATA_ENABLE_TPL_NUMA

std::vector<int> const& numa_nodes() {
  static std::vector<int> const nodes = [] {
    std::vector<int> found;
    if (numa_available() >= 0) {
      bitmask* const processors = numa_allocate_cpumask();
      for (int node = 0; node <= numa_max_node(); ++node)
        // a GPU's memory may be a node as well: without processors
        if (numa_bitmask_isbitset(numa_all_nodes_ptr, static_cast<unsigned>(node)) &&
            numa_node_to_cpus(node, processors) == 0 && numa_bitmask_weight(processors) > 0)
          found.push_back(node);
      numa_free_cpumask(processors);
    }
    return found.empty() ? std::vector<int>{0} : found;
  }();
  return nodes;
}

void bind_to_node(void* data, std::size_t bytes, int node) {
  if (!is_one_of_several(node)) return;
  auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto const begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  auto const end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  if (begin < end) numa_tonode_memory(reinterpret_cast<void*>(begin), end - begin, node);
}

int numa_node_of(void const* data) {
  auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* address = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data) / page * page);
  int status = -1;
  if (numa_available() < 0 || move_pages(0, 1, &address, nullptr, &status, 0) != 0) return -1;
  return status < 0 ? -1 : status;
}

struct OnNode::Saved {
  cpu_set_t processors;
};

OnNode::OnNode(int node) {
  if (!is_one_of_several(node)) return;
  auto saved = std::make_unique<Saved>();
  if (sched_getaffinity(0, sizeof saved->processors, &saved->processors) != 0) return;
  if (numa_run_on_node(node) != 0) return;  // a set of processors that excludes the node
  numa_set_preferred(node);
  saved_ = std::move(saved);
}

OnNode::~OnNode() {
  if (!saved_) return;
  numa_set_localalloc();
  (void)sched_setaffinity(0, sizeof saved_->processors, &saved_->processors);
}

#else

std::vector<int> const& numa_nodes() {
  static std::vector<int> const nodes = {0};
  return nodes;
}
void bind_to_node(void* /*data*/, std::size_t /*bytes*/, int /*node*/) {}
int numa_node_of(void const* /*data*/) { return -1; }
struct OnNode::Saved {};
OnNode::OnNode(int node) { (void)is_one_of_several(node); }
OnNode::~OnNode() = default;

#endif

}  // namespace strata::ooc::vendor
