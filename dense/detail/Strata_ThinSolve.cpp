// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/detail/Strata_ThinSolve.hpp>

#include <core/blas/Strata_Pack.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_BatchedSum.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>
#include <utility>

namespace strata::dense::detail {

namespace {

constexpr int team_size = 128;

using strata::Pack, strata::load_pack;

/// sum += a(:, 0 .. count) b for `size` rows that are whole packs, 8 loads under way at a time.
template <class S, class T>
KOKKOS_FORCEINLINE_FUNCTION void multiply_packs(T const* a, std::int64_t ld, int count, S const* b,
                                                S (&sum)[Pack<T>::size]) {
  constexpr int batch = 8;
  int j = 0;
  for (; j + batch <= count; j += batch) {
    Pack<T> pack[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k) pack[k] = load_pack(a + (j + k) * ld);
#pragma unroll
    for (int k = 0; k < batch; ++k)
#pragma unroll
      for (int i = 0; i < Pack<T>::size; ++i) sum[i] += static_cast<S>(pack[k].x[i]) * b[j + k];
  }
  for (; j < count; ++j)
    for (int i = 0; i < Pack<T>::size; ++i) sum[i] += static_cast<S>(a[i + j * ld]) * b[j];
}

/// a . b for a pack of a and the numbers beside it.
template <class S, class T>
KOKKOS_FORCEINLINE_FUNCTION S dot_pack(Pack<T> const& a, S const* b) {
  S sum = 0;
#pragma unroll
  for (int i = 0; i < Pack<T>::size; i += Pack<S>::size) {
    Pack<S> const pack = load_pack(b + i);
    constexpr int common = Pack<S>::size < Pack<T>::size ? Pack<S>::size : Pack<T>::size;
#pragma unroll
    for (int k = 0; k < common; ++k) sum += static_cast<S>(a.x[i + k]) * pack.x[k];
  }
  return sum;
}

/// The sum over packs lane, lane + 32, ... of `count` contiguous numbers of a times those of b; both
/// start where a whole load can.
template <class S, class T>
KOKKOS_FORCEINLINE_FUNCTION S dot_packs(T const* a, int lane, int count, S const* b) {
  constexpr int size = Pack<T>::size, lanes = 32, batch = 4;
  static_assert(size >= Pack<S>::size, "the vector's numbers are the wider ones");
  int const packs = count / size;
  S sum = 0;
  int p = lane;
  for (; p + (batch - 1) * lanes < packs; p += batch * lanes) {
    Pack<T> pack[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k) pack[k] = load_pack(a + (p + k * lanes) * size);
#pragma unroll
    for (int k = 0; k < batch; ++k) sum += dot_pack(pack[k], b + (p + k * lanes) * size);
  }
  for (; p < packs; p += lanes) sum += dot_pack(load_pack(a + p * size), b + p * size);
  int const rest = packs * size + lane;
  return rest < count ? sum + static_cast<S>(a[rest]) * b[rest] : sum;
}

/// `with_type` on a device, for the types that are not wider than S.
template <class S, class Function>
KOKKOS_INLINE_FUNCTION void with_device_type(Precision precision, Function const& f) {
  switch (precision) {
    case Precision::fp64:
      if constexpr (std::is_same_v<S, double>) f(fp64());
      return;
    case Precision::fp32:
      return f(fp32());
    case Precision::fp16:
      return f(fp16());
    case Precision::bf16:
      return f(bf16());
    case Precision::fp8_e4m3:
      return f(fp8_e4m3());
    case Precision::fp8_e5m2:
      return f(fp8_e5m2());
    case Precision::fp8_e4m3fnuz:
      return f(fp8_e4m3fnuz());
    case Precision::fp8_e5m2fnuz:
      return f(fp8_e5m2fnuz());
  }
}

/// The strips of one leaf, cut into items of `width` columns or rows.
struct Table {
  FactorStrip const* strips;
  std::int64_t count, items, width;

  KOKKOS_INLINE_FUNCTION FactorStrip const& strip_of(std::int64_t item) const {
    std::int64_t s = 0;
    while (s + 1 < count && strips[s + 1].first_item <= item) ++s;
    return strips[s];
  }
};

template <class S>
KOKKOS_INLINE_FUNCTION S scale_of(FactorStrip const& strip) {
  return strip.scale ? static_cast<S>(*strip.scale) : S(1);
}

// partial(:, item) = the item's columns of the leaf's block row, times x
template <class S, class Exec>
void multiply_rows(Exec const& exec, Table const& table, std::int64_t rows, std::int64_t ldp,
                   S const* x, S* partial) {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<team_size, 6>>;
  Kokkos::parallel_for(
      "strata::dense::ThinSolve::rows", Policy(exec, static_cast<int>(table.items), team_size),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        std::int64_t const item = team.league_rank();
        FactorStrip const strip = table.strip_of(item);
        std::int64_t const begin = (item - strip.first_item) * table.width;
        int const count =
            static_cast<int>(begin + table.width < strip.count ? table.width : strip.count - begin);
        S const* const b = x + strip.begin + begin;
        S const scale = scale_of<S>(strip);
        with_device_type<S>(strip.precision, [&]<class T>(T) {
          constexpr int size = Pack<T>::size;
          for (std::int64_t row = team.team_rank() * size; row < rows;
               row += std::int64_t{team_size} * size) {
            T const* const a = static_cast<T const*>(strip.data) + row + begin * strip.ld;
            S* const target = partial + row + item * ldp;
            if (row + size <= rows) {
              S sum[size] = {};
              multiply_packs<S>(a, strip.ld, count, b, sum);
              for (int i = 0; i < size; ++i) target[i] = scale * sum[i];
            } else {
              for (int i = 0; row + i < rows; ++i)
                target[i] = scale * strata::batched_sum<S>(count, [&](int j) {
                              return static_cast<S>(a[i + j * strip.ld]) * b[j];
                            });
            }
          }
        });
      });
}

// y = b - the sum of the items' partial sums
template <class S, class Exec>
void subtract_items(Exec const& exec, std::int64_t rows, std::int64_t ldp, std::int64_t items,
                    S const* partial, S const* b, S* y) {
  constexpr int lines = 32, groups = 16;
  using Policy = Kokkos::TeamPolicy<Exec>;
  Policy policy(exec, static_cast<int>((rows + lines - 1) / lines), lines * groups);
  policy.set_scratch_size(
      0, Kokkos::PerTeam(static_cast<int>(static_cast<std::size_t>(lines * groups) * sizeof(S))));
  Kokkos::parallel_for(
      "strata::dense::ThinSolve::subtract", policy,
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        auto* const sums = static_cast<S*>(
            team.team_scratch(0).get_shmem(static_cast<std::size_t>(lines * groups) * sizeof(S)));
        int const line = team.team_rank() % lines, group = team.team_rank() / lines;
        std::int64_t const row = static_cast<std::int64_t>(team.league_rank()) * lines + line;
        int const count = row < rows ? static_cast<int>((items - group + groups - 1) / groups) : 0;
        S sum = strata::batched_sum<S>(
            count, [&](int k) { return partial[row + (group + k * groups) * ldp]; });
        sums[team.team_rank()] = sum;
        team.team_barrier();
        if (group > 0 || row >= rows) return;
        for (int g = 1; g < groups; ++g) sum += sums[g * lines + line];
        y[row] = b[row] - sum;
      });
}

/// A team of `columns` groups of 32 lanes, and the sums over each group's lanes.
constexpr int columns = 4, lanes = 32;

template <class S, class Team>
KOKKOS_INLINE_FUNCTION S sum_lanes(Team const& team, S part) {
  auto* const parts = static_cast<S*>(
      team.team_scratch(0).get_shmem(static_cast<std::size_t>(columns * lanes) * sizeof(S)));
  parts[team.team_rank()] = part;
  team.team_barrier();
  if (team.team_rank() % lanes > 0) return 0;
  return strata::batched_sum<S, 16>(lanes, [&](int k) { return parts[team.team_rank() + k]; });
}

// Eight teams of a multiprocessor hide the latency of each other's loads.
template <class Exec>
using ColumnPolicy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<columns * lanes, 8>>;

template <class S, class Exec>
ColumnPolicy<Exec> column_policy(Exec const& exec, std::int64_t league) {
  ColumnPolicy<Exec> policy(exec, static_cast<int>(league), columns * lanes);
  policy.set_scratch_size(
      0, Kokkos::PerTeam(static_cast<int>(static_cast<std::size_t>(columns * lanes) * sizeof(S))));
  return policy;
}

// x = inverse^T y for the upper triangular `inverse` = L^-T, which is 0 below its diagonal
template <class S, class Exec, class Matrix>
void solve_down(Exec const& exec, Matrix const& inverse, S const* y, S* x) {
  S const* const a = inverse.template as<S>();
  std::int64_t const n = inverse.rows, ld = inverse.ld;
  Kokkos::parallel_for(
      "strata::dense::ThinSolve::down", column_policy<S>(exec, (n + columns - 1) / columns),
      KOKKOS_LAMBDA(typename ColumnPolicy<Exec>::member_type const& team) {
        int const lane = team.team_rank() % lanes;
        std::int64_t const j =
            static_cast<std::int64_t>(team.league_rank()) * columns + team.team_rank() / lanes;
        S const part = j < n ? dot_packs<S>(a + j * ld, lane, static_cast<int>(j) + 1, y) : S(0);
        S const sum = sum_lanes(team, part);
        if (lane == 0 && j < n) x[j] = sum;
      });
}

// partial(j, item) = the item's rows of the leaf's block column j, times x
template <class S, class Exec>
void multiply_columns(Exec const& exec, Table const& table, std::int64_t cols, std::int64_t ldp,
                      S const* x, S* partial) {
  std::int64_t const groups = (cols + columns - 1) / columns;
  Kokkos::parallel_for(
      "strata::dense::ThinSolve::columns", column_policy<S>(exec, groups * table.items),
      KOKKOS_LAMBDA(typename ColumnPolicy<Exec>::member_type const& team) {
        int const lane = team.team_rank() % lanes;
        std::int64_t const item = team.league_rank() / groups;
        std::int64_t const j = (team.league_rank() % groups) * columns + team.team_rank() / lanes;
        FactorStrip const strip = table.strip_of(item);
        std::int64_t const begin = (item - strip.first_item) * table.width;
        int const count =
            static_cast<int>(begin + table.width < strip.count ? table.width : strip.count - begin);
        S part = 0;
        if (j < cols)
          with_device_type<S>(strip.precision, [&]<class T>(T) {
            part = dot_packs<S>(static_cast<T const*>(strip.data) + begin + j * strip.ld, lane,
                                count, x + strip.begin + begin);
          });
        S const sum = sum_lanes(team, part);
        if (lane == 0 && j < cols) partial[j + item * ldp] = scale_of<S>(strip) * sum;
      });
}

// x = inverse (b - the sum of the items' partial sums), for the same `inverse`
template <class S, class Exec, class Matrix>
void solve_up(Exec const& exec, Matrix const& inverse, std::int64_t ldp, std::int64_t items,
              S const* partial, S const* b, S* x) {
  constexpr int lines = 32, groups = 32;
  S const* const a = inverse.template as<S>();
  std::int64_t const n = inverse.rows, ld = inverse.ld;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<lines * groups, 1>>;
  Policy policy(exec, static_cast<int>((n + lines - 1) / lines), lines * groups);
  auto const numbers = static_cast<std::size_t>(n + std::int64_t{lines} * groups);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(numbers * sizeof(S))));
  Kokkos::parallel_for(
      "strata::dense::ThinSolve::up", policy,
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        auto* const y = static_cast<S*>(team.team_scratch(0).get_shmem(numbers * sizeof(S)));
        S* const sums = y + n;
        int const line = team.team_rank() % lines, group = team.team_rank() / lines;
        std::int64_t const first = static_cast<std::int64_t>(team.league_rank()) * lines,
                           row = first + line;
        for (std::int64_t k = first + team.team_rank(); k < n; k += std::int64_t{lines} * groups)
          y[k] = b[k] - strata::batched_sum<S>(static_cast<int>(items),
                                               [&](int item) { return partial[k + item * ldp]; });
        team.team_barrier();
        std::int64_t const begin = first + group;
        int const count =
            row < n && begin < n ? static_cast<int>((n - begin + groups - 1) / groups) : 0;
        S sum = strata::batched_sum<S>(count, [&](int k) {
          return a[row + (begin + std::int64_t{k} * groups) * ld] *
                 y[begin + std::int64_t{k} * groups];
        });
        sums[team.team_rank()] = sum;
        team.team_barrier();
        if (group > 0 || row >= n) return;
        x[row] = strata::batched_sum<S, 16>(groups, [&](int g) { return sums[g * lines + line]; });
      });
}

template <class Matrix>
bool is_aligned(Matrix const& A) {
  auto const bytes = static_cast<std::int64_t>(traits(A.precision).bytes);
  return reinterpret_cast<std::uintptr_t>(A.data) % 16 == 0 && A.ld * bytes % 16 == 0;
}

}  // namespace

template <class ExecutionSpace>
bool ThinSolve<ExecutionSpace>::takes(Tree const& tree) {
  constexpr std::int64_t most = 2048;  // numbers of a leaf, which a team's scratch holds
  if (strata::runs_on_host<ExecutionSpace> || tree.order() == 0 || tree.root().is_leaf() ||
      tree.leaf_size() % 16 != 0 || tree.leaf_size() > most)
    return false;
  return std::all_of(tree.nodes().begin(), tree.nodes().end(), [&](Node const& node) {
    bool const is_narrow =
        traits(node.stored.precision).bytes <= traits(accumulator(tree.layers().leaf())).bytes;
    if (!node.is_leaf()) return is_narrow && is_aligned(node.stored);
    return node.inverse.data != nullptr && is_aligned(node.inverse) &&
           node.inverse.precision == accumulator(tree.layers().leaf());
  });
}

template <class ExecutionSpace>
ThinSolve<ExecutionSpace>::ThinSolve(ExecutionSpace const& exec, Tree const& tree)
    : exec_(exec),
      precision_(accumulator(tree.layers().leaf())),
      n_(tree.order()),
      leaf_size_(tree.leaf_size()) {
  std::vector<FactorStrip> all;
  for (Node const& leaf : tree.nodes()) {
    if (!leaf.is_leaf()) continue;
    std::vector<FactorStrip> before, after;
    for (Node const* node = &tree.root(); !node->is_leaf();) {
      std::int64_t const middle = node->begin + node->first_size;
      bool const in_left = leaf.begin < middle;
      for (auto const& [begin, stored] : tree.strips(*node)) {
        std::int64_t const col = node->begin + begin;
        bool const holds = leaf.begin >= col && leaf.begin < col + stored.cols;
        Matrix const part =
            in_left ? (holds ? stored.block(0, leaf.begin - col, stored.rows, leaf.size) : Matrix{})
                    : stored.block(leaf.begin - middle, 0, leaf.size, stored.cols);
        if (in_left && holds)
          after.push_back(
              {part.data, part.scale, part.ld, middle, part.rows, 0, storage(part.precision)});
        else if (!in_left)
          before.push_back(
              {part.data, part.scale, part.ld, col, part.cols, 0, storage(part.precision)});
      }
      node = in_left ? &tree.left(*node) : &tree.right(*node);
    }
    leaves_.push_back(
        {&leaf, list(all, std::move(before), 16, 768), list(all, std::move(after), 2048, 8)});
  }
  Kokkos::View<FactorStrip*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const host(
      all.data(), all.size());
  strips_ = strata::allocate<Strips>(exec, "strata::dense::ThinSolve::strips", all.size());
  Kokkos::deep_copy(exec, strips_, host);
  auto const numbers = static_cast<std::size_t>(padded() + leaf_size_ * (1 + items_));
  memory_ = strata::allocate<Kokkos::View<std::byte*, memory_space>>(
      exec, "strata::dense::ThinSolve::sums", numbers * traits(precision_).bytes);
  exec.fence("strata::dense::ThinSolve: strips");
}

// The strips into the table, in about `most_items` items of at least `least` columns or rows.
template <class ExecutionSpace>
auto ThinSolve<ExecutionSpace>::list(std::vector<FactorStrip>& all, std::vector<FactorStrip> strips,
                                     std::int64_t least, std::int64_t most_items) -> Side {
  std::int64_t total = 0;
  for (FactorStrip const& strip : strips) total += strip.count;
  Side side;
  side.first = static_cast<std::int64_t>(all.size());
  side.count = static_cast<std::int64_t>(strips.size());
  side.width = std::max(least, (total / most_items + 15) / 16 * 16);
  for (FactorStrip& strip : strips) {
    strip.first_item = side.items;
    side.items += (strip.count + side.width - 1) / side.width;
    all.push_back(strip);
  }
  items_ = std::max(items_, side.items);
  return side;
}

template <class ExecutionSpace>
void ThinSolve<ExecutionSpace>::operator()(Matrix const& b) {
  with_arithmetic_type(precision_, [&]<class T>(std::type_identity<T>) {
    T* const between = reinterpret_cast<T*>(memory_.data());
    forward<T>(b.template as<T>(), between);
    backward<T>(between, b.template as<T>());
  });
}

// x_i = L_ii^-1 (b_i - sum over j < i of L_ij x_j)
template <class ExecutionSpace>
template <class T>
void ThinSolve<ExecutionSpace>::forward(T const* b, T* x) const {
  T *const y = reinterpret_cast<T*>(memory_.data()) + padded(), *const partial = y + leaf_size_;
  for (Leaf const& leaf : leaves_) {
    std::int64_t const begin = leaf.node->begin, size = leaf.node->size;
    Side const& side = leaf.before;
    Table const table{strips_.data() + side.first, side.count, side.items, side.width};
    if (side.items > 0) multiply_rows<T>(exec_, table, size, leaf_size_, x, partial);
    subtract_items<T>(exec_, size, leaf_size_, side.items, partial, b + begin, y);
    solve_down<T>(exec_, leaf.node->inverse, y, x + begin);
  }
}

// x_i = L_ii^-T (b_i - sum over j > i of L_ji^T x_j)
template <class ExecutionSpace>
template <class T>
void ThinSolve<ExecutionSpace>::backward(T const* b, T* x) const {
  T* const partial = reinterpret_cast<T*>(memory_.data()) + padded() + leaf_size_;
  for (auto leaf = leaves_.rbegin(); leaf != leaves_.rend(); ++leaf) {
    std::int64_t const begin = leaf->node->begin, size = leaf->node->size;
    Side const& side = leaf->after;
    Table const table{strips_.data() + side.first, side.count, side.items, side.width};
    if (side.items > 0) multiply_columns<T>(exec_, table, size, leaf_size_, x, partial);
    solve_up<T>(exec_, leaf->node->inverse, leaf_size_, side.items, partial, b + begin, x + begin);
  }
}

#define STRATA_INSTANTIATE(Exec) template class ThinSolve<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
