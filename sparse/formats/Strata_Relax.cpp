// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/formats/detail/Strata_RowBlock.hpp>

namespace strata::sparse {
namespace {

// From zero a sweep uses no x but what it has written, but loads the others.
template <class Matrix, class R, class X>
void require_vectors(Matrix const& A, R const& r, X const& x, std::int64_t end) {
  detail::require_entries("Gauss-Seidel", "r", r, end);
  detail::require_entries("Gauss-Seidel", "x", x, A.cols());
}

using namespace detail;
using strata::runs_on_host;

/// r_i - sum of a_ij x_j for j != i, and a_ii, of the rows of a block.
template <int Rows, class Scalar, Guess Initial>
struct Remainders {
  static constexpr bool is_lower = Initial != Guess::Given;
  static constexpr bool is_cleared = Initial == Guess::Cleared;
  std::int32_t swept;  ///< distance of the first row that is not, from the first of the block
  Scalar sum[Rows], diagonal[Rows];

  // No branch in a loop over rows, nor a sum of nothing where all rows agree; what x holds where it
  // is not wanted may be anything.
  KOKKOS_FUNCTION void add(int r, std::int32_t distance, Scalar value, Scalar x) {
    bool const own = distance == 0, other = Initial == Guess::Zero ? distance < swept - r : !own;
    diagonal[r] = own ? diagonal[r] + value : diagonal[r];
    sum[r] = other ? sum[r] - value * x : sum[r];
  }
  /// `add` of a cleared x, which is 0 in the row itself. `own` has all bits or none: a host's
  /// compiler makes vectors of that, and branches of a choice.
  KOKKOS_FUNCTION void add_factor(int r, std::uint32_t own, Scalar value, Scalar x) {
    diagonal[r] += Kokkos::bit_cast<Scalar>(own & Kokkos::bit_cast<std::uint32_t>(value));
    sum[r] -= value * x;
  }
  /// How many leading rows of a block have their entry at that distance on the diagonal or in a row
  /// that is swept.
  KOKKOS_FUNCTION int rows_of(std::int32_t distance, int count) const {
    if constexpr (Initial == Guess::Cleared) return count;
    int const lower = swept - distance;
    return distance == 0 || lower >= count ? count : lower > 0 ? lower : 0;
  }
  /// `add` for those rows, with no choice in a loop over them.
  KOKKOS_FUNCTION void add_chosen(int r, std::int32_t distance, Scalar value, Scalar x) {
    if (distance == 0)
      diagonal[r] += value;
    else
      sum[r] -= value * x;
  }
};

template <int Rows, int Ahead, class Matrix, class Scalar, Guess Initial>
struct Relax {
  using Bounds = std::conditional_t<Ahead == 9, Crowded<Scalar>, Kokkos::LaunchBounds<64, 1>>;
  Matrix A;
  RowRange range;
  Scalar const* rhs;
  Scalar* x;

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    RowBlock<Rows, Ahead> const block(range, item);
    if (block.count <= 0) return;
    Remainders<Rows, Scalar, Initial> left;
    left.swept = static_cast<std::int32_t>(range.begin - block.row);
    for (int r = 0; r < block.size(); ++r) {
      left.sum[r] = rhs[block.row + r];
      left.diagonal[r] = 0;
    }
    block.for_each_entry(A, static_cast<Scalar const*>(x), left);
    for (int r = 0; r < block.size(); ++r) x[block.row + r] = left.sum[r] / left.diagonal[r];
  }
};

/// All blocks of a sweep by one team of a device, one after the other.
template <class Exec, class Matrix, class Scalar>
struct RelaxInOrder {
  static constexpr int threads = 512;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<threads, 1>>;
  using Member = typename Policy::member_type;
  Matrix A;
  Scalar const* rhs;
  Scalar* x;
  std::int64_t to_clear;  // first entries of x
  FewBlocks blocks;
  bool forward, backward, from_zero;  // forward, where from_zero

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    for (std::int64_t i = team.team_rank(); i < to_clear; i += threads) x[i] = 0;
    if (from_zero)
      for (int b = 0; b < blocks.count; ++b) sweep<half_row, Guess::Zero>(team, blocks[b]);
    else
      for (int b = 0; forward && b < blocks.count; ++b)
        sweep<whole_row, Guess::Given>(team, blocks[b]);
    for (int b = blocks.count; backward && b > 0; --b)
      sweep<whole_row, Guess::Given>(team, blocks[b - 1]);
  }

 private:
  template <int Ahead, Guess Initial>
  KOKKOS_FUNCTION void sweep(Member const& team, RowRange range) const {
    team.team_barrier();
    Relax<1, Ahead, Matrix, Scalar, Initial> const relax{A, range, rhs, x};
    std::int64_t const items = RowBlock<1>::items(range);
    for (std::int64_t item = team.team_rank(); item < items; item += threads) relax(item);
  }
};

}  // namespace

template <class Exec, class Matrix, class Scalar>
void relax(Exec const& exec, Matrix const& A,
           std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& r,
           Vector<Scalar, typename Exec::memory_space> const& x, RowRange range, Guess guess) {
  require_vectors(A, r, x, range.end);
  constexpr int rows = item_rows<Exec>;
  auto const run = [&]<int Ahead, Guess Initial>() {
    using Kernel = Relax<rows, Ahead, Matrix, Scalar, Initial>;
    launch("strata::sparse::relax", exec, range, Kernel{A, range, r.data(), x.data()});
  };
  bool const is_zero = guess != Guess::Given;
  if constexpr (runs_on_host<Exec>) {
    if (guess == Guess::Cleared) return run.template operator()<9, Guess::Cleared>();
  } else {
    if (!is_large(RowBlock<rows>::items(range)))
      return is_zero ? run.template operator()<half_row, Guess::Zero>()
                     : run.template operator()<whole_row, Guess::Given>();
  }
  is_zero ? run.template operator()<9, Guess::Zero>() : run.template operator()<9, Guess::Given>();
}

template <class Exec, class Matrix, class Scalar>
void relax_in_order(Exec const& exec, Matrix const& A,
                    std::type_identity_t<ConstVector<Scalar, typename Exec::memory_space>> const& r,
                    Vector<Scalar, typename Exec::memory_space> const& x, FewBlocks const& blocks,
                    bool forward, bool backward, Guess guess) {
  bool const is_zero = guess == Guess::Zero, clears = is_zero && !forward;
  if constexpr (runs_on_host<Exec>) {
    if (clears) Kokkos::deep_copy(exec, x, Scalar(0));
    for (int b = 0; forward && b < blocks.count; ++b) relax(exec, A, r, x, blocks[b], guess);
    for (int b = blocks.count; backward && b > 0; --b)
      relax(exec, A, r, x, blocks[b - 1], Guess::Given);
  } else {
    using Kernel = RelaxInOrder<Exec, Matrix, Scalar>;
    static_assert(sizeof(Kernel) < 512, "a larger one would not be passed as an argument");
    require_vectors(A, r, x, A.rows());
    auto const entries = static_cast<std::int64_t>(x.extent(0));
    Kokkos::parallel_for("strata::sparse::relax_in_order",
                         typename Kernel::Policy(exec, 1, Kernel::threads),
                         Kernel{A, r.data(), x.data(), clears ? entries : 0, blocks, forward,
                                backward, is_zero && forward});
  }
}

#define STRATA_INSTANTIATE_RELAX(Space, Matrix, Scalar)                             \
  template void relax(Space const&, Matrix const&,                                  \
                      ConstVector<Scalar, Space::memory_space> const&,              \
                      Vector<Scalar, Space::memory_space> const&, RowRange, Guess); \
  template void relax_in_order(                                                     \
      Space const&, Matrix const&, ConstVector<Scalar, Space::memory_space> const&, \
      Vector<Scalar, Space::memory_space> const&, FewBlocks const&, bool, bool, Guess);
#define STRATA_INSTANTIATE_SCALARS(Space, Matrix) \
  STRATA_INSTANTIATE_RELAX(Space, Matrix, fp64)   \
  STRATA_INSTANTIATE_RELAX(Space, Matrix, fp32)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_FOR_EACH_STORED_MATRIX)

}  // namespace strata::sparse
