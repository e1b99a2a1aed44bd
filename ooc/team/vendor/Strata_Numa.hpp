// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_TEAM_VENDOR_NUMA_HPP
#define STRATA_OOC_TEAM_VENDOR_NUMA_HPP

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace strata::ooc::vendor {

/// The numbers of the NUMA nodes that have processors and memory, at least one; {0} in a build
/// without libnuma, or where the kernel tells none.
std::vector<int> const& numa_nodes();

/// The node of a PCI device ("0000:17:00.0"), or the first where the kernel does not say.
int numa_node_of_pci(std::string bus);

/// Let pages that nobody has touched yet be on `node` once they are, as far as the kernel allows.
/// Nothing happens where there is one node, or no such node.
void bind_to_node(void* data, std::size_t bytes, int node);

/// The node of the page at `data`, -1 if it is not known.
int numa_node_of(void const* data);

/// While it lives, the thread runs on the node's processors and prefers its memory; likewise
/// nothing where there is one node, or no such node.
class OnNode {
 public:
  explicit OnNode(int node);
  ~OnNode();
  OnNode(OnNode const&) = delete;
  OnNode& operator=(OnNode const&) = delete;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace strata::ooc::vendor

#endif
