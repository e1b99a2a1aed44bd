// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/recursion/Strata_TreePotrf.hpp>

#include <core/instances/Strata_FenceAtEnd.hpp>
#include <core/instances/Strata_Replay.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <dense/recursion/detail/Strata_IntegerPotrf.hpp>
#include <dense/recursion/detail/Strata_PanelPotrf.hpp>

#include <utility>
#include <vector>

namespace strata::dense {

template <class ExecutionSpace>
void tree_potrf(LeafBlas<ExecutionSpace>& blas, BlockTree<LayerList, ExecutionSpace> const& tree,
                Kokkos::View<std::int64_t, typename ExecutionSpace::memory_space> const& info,
                std::function<void(double)> const& on_progress) {
  detail::tree_potrf(blas, tree, info, on_progress, {});
}

// What was captured is for the addresses of all of the tree's blocks and of the status.
template <class ExecutionSpace>
struct RepeatedPotrf<ExecutionSpace>::State {
  using Addresses = std::vector<void const*>;

  State(ExecutionSpace const& exec, Tree const& factored) : tree(factored), blas(exec) {}
  ~State() {
    strata::detail::fence_at_end(blas.exec(), "strata::dense::RepeatedPotrf: free the scratch");
  }

  Addresses now(InfoView const& info) const {
    Addresses found{info.data()};
    for (auto const& node : tree.nodes())
      found.insert(found.end(),
                   {node.working.data, node.stored.data, node.inverse.data, node.low_inverse.data});
    return found;
  }

  Tree const& tree;
  LeafBlas<ExecutionSpace> blas;
  strata::Replay<ExecutionSpace> replay;
  Addresses addresses;
};

template <class ExecutionSpace>
RepeatedPotrf<ExecutionSpace>::RepeatedPotrf(ExecutionSpace const& exec, Tree const& tree)
    : state_("RepeatedPotrf", std::make_unique<State>(exec, tree)) {}
template <class ExecutionSpace>
RepeatedPotrf<ExecutionSpace>::~RepeatedPotrf() = default;
template <class ExecutionSpace>
RepeatedPotrf<ExecutionSpace>::RepeatedPotrf(RepeatedPotrf&&) noexcept = default;
template <class ExecutionSpace>
RepeatedPotrf<ExecutionSpace>& RepeatedPotrf<ExecutionSpace>::operator=(RepeatedPotrf&&) noexcept =
    default;

template <class ExecutionSpace>
void RepeatedPotrf<ExecutionSpace>::operator()(InfoView const& info) {
  State& s = *state_;
  if (s.tree.order() == 0) return;
  auto const& root = s.tree.root();
  bool const is_one_call = root.is_leaf() && root.inverse.data == nullptr;
  if (is_one_call ||                           // of the vendor's: nothing to replay
      detail::moduli_of_products(s.tree) > 0)  // whose algorithms are chosen by time
    return tree_potrf(s.blas, s.tree, info);
  auto addresses = s.now(info);
  if (addresses != s.addresses) {
    s.blas.exec().fence("strata::dense::RepeatedPotrf: capture anew");
    s.replay = {};
    s.addresses = std::move(addresses);
  }
  s.replay.run(s.blas.exec(), [&] { tree_potrf(s.blas, s.tree, info); });
}

#define STRATA_INSTANTIATE(Exec)                                                        \
  template void tree_potrf<Exec>(LeafBlas<Exec>&, BlockTree<LayerList, Exec> const&,    \
                                 Kokkos::View<std::int64_t, Exec::memory_space> const&, \
                                 std::function<void(double)> const&);                   \
  template class RepeatedPotrf<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
