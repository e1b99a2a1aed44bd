// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/varied/Strata_SolveEach.hpp>

#include <core/Strata_Errors.hpp>
#include <core/blas/batched/Strata_BatchedBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/detail/Strata_BatchedViews.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace strata::dense {

namespace {

// A system where a kernel finds it.
template <class T>
struct Placed {
  T const* a;
  T* b;
  std::int64_t n, m, lda, ldb;
  bool is_lower;
};

// A batch of systems that are padded to one order and one number of columns.
template <class T>
struct PaddedBatch {
  Placed<T> const* systems;
  std::int64_t const* info;
  T *a, *b;
  std::int64_t count, order, columns;

  KOKKOS_FUNCTION T* matrix(std::int64_t s) const { return a + s * order * order; }
  KOKKOS_FUNCTION T* right(std::int64_t s) const { return b + s * order * columns; }
};

// The lower triangle of [A 0; 0 I], and [B 0; 0 0].
template <class T>
struct LoadPadded {
  PaddedBatch<T> batch;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    for (std::int64_t s = team.league_rank(); s < batch.count; s += team.league_size()) {
      Placed<T> const of = batch.systems[s];
      T *const a = batch.matrix(s), *const b = batch.right(s);
      std::int64_t const p = batch.order;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, p), [&](std::int64_t j) {
        for (std::int64_t i = j; i < p; ++i)
          a[i + j * p] = i >= of.n     ? T(i == j)
                         : of.is_lower ? of.a[i + j * of.lda]
                                       : of.a[j + i * of.lda];
      });
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, batch.columns), [&](std::int64_t c) {
        for (std::int64_t i = 0; i < p; ++i)
          b[i + c * p] = i < of.n && c < of.m ? of.b[i + c * of.ldb] : T(0);
      });
    }
  }
};

// The solutions of the systems that have a factor.
template <class T>
struct StoreSolutions {
  PaddedBatch<T> batch;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    for (std::int64_t s = team.league_rank(); s < batch.count; s += team.league_size()) {
      if (batch.info[s] != 0) continue;
      Placed<T> const of = batch.systems[s];
      T const* const b = batch.right(s);
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, of.m), [&](std::int64_t c) {
        for (std::int64_t i = 0; i < of.n; ++i) of.b[i + c * of.ldb] = b[i + c * batch.order];
      });
    }
  }
};

// The next of eight steps in an octave; nothing is added to orders that are done one by one.
std::int64_t rounded_up(std::int64_t n, std::int64_t largest) {
  if (n > largest) return n;
  auto const octave = std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, n)));
  auto const step = static_cast<std::int64_t>(std::max<std::uint64_t>(1, octave / 8));
  return (n + step - 1) / step * step;
}

template <class System>
void require_fitting(std::vector<System> const& systems) {
  for (std::size_t s = 0; s < systems.size(); ++s) {
    auto const& [uplo, A, B] = systems[s];
    STRATA_REQUIRE(ShapeError, A.is_valid() && B.is_valid() && A.rows == A.cols && B.rows == A.rows,
                   "solve_each: system ", s, ": A is ", A.rows, " x ", A.cols, ", B ", B.rows,
                   " x ", B.cols, " (leading dimensions ", A.ld, " and ", B.ld, ")");
    STRATA_REQUIRE(ValueError,
                   (A.precision == Precision::fp64 || A.precision == Precision::fp32) &&
                       A.precision == B.precision && A.precision == systems.front().A.precision &&
                       A.scale == nullptr && B.scale == nullptr,
                   "solve_each: system ", s, " is of ", traits(A.precision).name, " and ",
                   traits(B.precision).name, ", must be of one type with all others, fp64 or fp32");
  }
}

template <class ExecutionSpace, class T>
class Each {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Systems = std::vector<VariedSystem<Memory>>;
  using Numbers = Kokkos::View<T*, Memory>;

  Each(ExecutionSpace const& exec, Systems const& systems, EachSolved& result)
      : exec_(exec), blas_(exec), systems_(systems), result_(result) {}

  void operator()() {
    std::vector<std::size_t> order(systems_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t s) { return shape(s); });
    for (std::size_t begin = 0; begin < order.size();) {
      auto const [p, m] = shape(order[begin]);
      auto const most = static_cast<std::size_t>(
          p > blas_.largest_order ? 1 : std::max<std::int64_t>(1, room / (p * (p + m) + 1)));
      std::size_t end = begin + 1;
      while (end < order.size() && end - begin < most && shape(order[end]) == shape(order[begin]))
        ++end;
      bool const is_alone = runs_on_host<ExecutionSpace> &&
                            (end - begin < worth_padding || p > largest_worth_padding);
      if (is_alone) end = begin + 1;
      auto const& first = systems_[order[begin]];
      solve(is_alone ? first.A.rows : p, is_alone ? first.B.cols : m,
            {order.begin() + static_cast<std::ptrdiff_t>(begin),
             order.begin() + static_cast<std::ptrdiff_t>(end)});
      begin = end;
    }
  }

 private:
  static constexpr std::int64_t room = std::int64_t{32} << 17;  // numbers of 8 bytes in 32 MiB

  // With fewer systems most lanes of a host's vectors would be empty, and lanes gain less with
  // larger ones than padding costs.
  static constexpr std::size_t worth_padding = 8;
  static constexpr std::int64_t largest_worth_padding = 256;

  // Order and columns of the batch that it belongs to.
  std::pair<std::int64_t, std::int64_t> shape(std::size_t s) const {
    return {rounded_up(systems_[s].A.rows, blas_.largest_order),
            rounded_up(systems_[s].B.cols, std::numeric_limits<std::int64_t>::max())};
  }

  // Which system is where, on the device.
  Kokkos::View<Placed<T>*, Memory> placed(std::vector<std::size_t> const& which) const {
    Kokkos::View<Placed<T>*, Memory> const there = strata::allocate<decltype(there)>(
        exec_, "strata::dense::solve_each::systems", which.size());
    auto const here = Kokkos::create_mirror_view(there);
    for (std::size_t k = 0; k < which.size(); ++k) {
      auto const& [uplo, A, B] = systems_[which[k]];
      here(k) = {A.template as<T>(), B.template as<T>(), A.rows, B.cols, A.ld, B.ld,
                 uplo == Uplo::Lower};
    }
    Kokkos::deep_copy(exec_, there, here);
    exec_.fence("strata::dense::solve_each: the systems are known");
    return there;
  }

  void solve(std::int64_t p, std::int64_t m, std::vector<std::size_t> const& which) {
    auto const count = static_cast<std::int64_t>(which.size());
    auto const systems = placed(which);
    Numbers const a = strata::allocate<Numbers>(exec_, "strata::dense::solve_each::A",
                                                p * p * count),
                  b = strata::allocate<Numbers>(exec_, "strata::dense::solve_each::B",
                                                p * m * count);
    auto const info = strata::allocate_zeros<Kokkos::View<std::int64_t*, Memory>>(
        exec_, "strata::dense::solve_each::info", count);
    auto const logs = strata::allocate_zeros<Kokkos::View<double*, Memory>>(
        exec_, "strata::dense::solve_each::log_determinants", count);
    PaddedBatch<T> const batch{systems.data(), info.data(), a.data(), b.data(), count, p, m};
    std::int64_t const ld = std::max<std::int64_t>(1, p);
    MatrixRef<Memory> const A{a.data(), p, p, ld, precision_of<T>},
        B{b.data(), p, m, ld, precision_of<T>};
    launch_teams("strata::dense::solve_each::load", exec_, count, 0, LoadPadded<T>{batch});
    if (p > 0)
      blas_.posv(Uplo::Lower, A, B, {.count = count, .stride_a = p * p, .stride_b = p * m}, info);
    launch_teams("strata::dense::solve_each::store", exec_, count, 0, StoreSolutions<T>{batch});
    detail::sum_logarithms<ExecutionSpace>(exec_, {{A, false}, count, p * p}, info, logs);
    take(which, info, logs);
  }

  template <class Info, class Logs>
  void take(std::vector<std::size_t> const& which, Info const& info, Logs const& logs) {
    auto const infos = Kokkos::create_mirror_view(info);
    auto const values = Kokkos::create_mirror_view(logs);
    Kokkos::deep_copy(exec_, infos, info);
    Kokkos::deep_copy(exec_, values, logs);
    exec_.fence("strata::dense::solve_each: a batch is solved");
    for (std::size_t k = 0; k < which.size(); ++k) {
      result_.info[which[k]] = infos(k);
      result_.log_determinants[which[k]] = values(k);
    }
  }

  ExecutionSpace exec_;
  BatchedBlas<ExecutionSpace> blas_;
  Systems const& systems_;
  EachSolved& result_;
};

}  // namespace

std::int64_t EachSolved::first_failed() const {
  auto const found = std::ranges::find_if(info, [](std::int64_t i) { return i != 0; });
  return found == info.end() ? -1 : found - info.begin();
}

template <class ExecutionSpace>
EachSolved solve_each(
    ExecutionSpace const& exec,
    std::vector<VariedSystem<typename ExecutionSpace::memory_space>> const& systems) {
  Region const region(exec, "strata::dense::solve_each");
  require_fitting(systems);
  EachSolved result{std::vector<std::int64_t>(systems.size(), 0),
                    std::vector<double>(systems.size(), 0.0)};
  if (systems.empty()) return result;
  if (systems.front().A.precision == Precision::fp64)
    Each<ExecutionSpace, double>(exec, systems, result)();
  else
    Each<ExecutionSpace, float>(exec, systems, result)();
  return result;
}

#define STRATA_INSTANTIATE(Exec) \
  template EachSolved solve_each(Exec const&, std::vector<VariedSystem<Exec::memory_space>> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense
