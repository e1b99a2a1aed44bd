// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/matrix/Strata_Colouring.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/problems/Strata_Random.hpp>
#include <sparse/formats/Strata_EllAssembly.hpp>

namespace strata::sparse {
namespace {

/// Call step(j) for each neighbour j of row i; stops when it returns false.
template <class Matrix, class Step>
KOKKOS_INLINE_FUNCTION void for_each_neighbour(Matrix const& graph, std::int64_t i,
                                               Step const& step) {
  auto const row = graph.row(i);
  for (int k = 0; k < row.width; ++k) {
    std::int64_t const j = graph.columns()[row.first + k * row.stride];
    if (j != i && j < graph.rows() && !step(j)) return;
  }
}

struct Priority {
  bool random;
  std::uint64_t seed;

  /// Whether row a is coloured before row b.
  KOKKOS_FUNCTION bool precedes(std::int64_t a, std::int64_t b) const {
    if (!random) return a < b;
    auto const of_a = random_bits(seed, static_cast<std::uint64_t>(a));
    auto const of_b = random_bits(seed, static_cast<std::uint64_t>(b));
    return of_a != of_b ? of_a > of_b : a < b;
  }
};

template <class Matrix>
struct ColourRows {
  Matrix graph;
  Priority priority;
  bool levels;
  std::int32_t const* waiting;
  std::int32_t* colour;

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    std::int64_t const i = waiting[item];
    bool ready = true;
    std::int32_t level = 0;
    for_each_neighbour(graph, i, [&](std::int64_t j) {
      if (!priority.precedes(j, i)) return true;
      std::int32_t const theirs = Kokkos::atomic_load(colour + j);
      ready = theirs >= 0;
      level = theirs >= level ? theirs + 1 : level;
      return ready;
    });
    if (ready) Kokkos::atomic_store(colour + i, levels ? level : smallest_free(i));
  }

 private:
  // 64 colours at a time: the first that no neighbour of higher priority has.
  KOKKOS_FUNCTION std::int32_t smallest_free(std::int64_t i) const {
    for (std::int32_t base = 0;; base += 64) {
      std::uint64_t used = 0;
      for_each_neighbour(graph, i, [&](std::int64_t j) {
        std::int32_t const theirs =
            priority.precedes(j, i) ? Kokkos::atomic_load(colour + j) - base : -1;
        if (theirs >= 0 && theirs < 64) used |= std::uint64_t(1) << theirs;
        return true;
      });
      if (~used != 0) return base + Kokkos::countr_zero(~used);
    }
  }
};

// The rows of `from` that have no colour yet, in order; returns their number.
template <class Exec, class Rows>
std::int64_t keep_waiting(Exec const& exec, std::int64_t count, Rows const& from,
                          Rows const& colour, Rows const& to) {
  std::int64_t left = 0;
  Kokkos::parallel_scan(
      "strata::sparse::colour_rows::compact", detail::RowPolicy<Exec>(exec, 0, count),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t& position, bool final) {
        if (colour(from(k)) >= 0) return;
        if (final) to(position) = from(k);
        ++position;
      },
      left);
  exec.fence("strata::sparse::colour_rows::round");
  return left;
}

template <class Exec, class Rows>
void number_rows(Exec const& exec, Rows const& rows, Rows const& colour) {
  Kokkos::parallel_for(
      "strata::sparse::colour_rows::start",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        rows(i) = static_cast<std::int32_t>(i);
        colour(i) = -1;
      });
}

template <class Exec, class Rows>
int largest(Exec const& exec, Rows const& colour) {
  std::int32_t result = -1;
  Kokkos::parallel_reduce(
      "strata::sparse::colour_rows::count",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(colour.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i, std::int32_t& most) {
        most = colour(i) > most ? colour(i) : most;
      },
      Kokkos::Max<std::int32_t>(result));
  exec.fence("strata::sparse::colour_rows::counted");
  return colour.extent(0) == 0 ? -1 : result;
}

template <class Exec, class Matrix>
std::int64_t count_one_sided(Exec const& exec, Matrix const& A) {
  std::int64_t count = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::has_symmetric_pattern", detail::RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& sum) {
        for_each_neighbour(A, i, [&](std::int64_t j) {
          bool back = false;
          for_each_neighbour(A, j, [&](std::int64_t k) { return !(back = k == i); });
          sum += !back;
          return true;
        });
      },
      count);
  exec.fence("strata::sparse::has_symmetric_pattern::counted");
  return count;
}

/// The rows of A' in compressed form, made by counting.
template <class Space>
struct Transposed {
  Vector<std::int64_t, Space> end;  ///< end of each row; rows follow each other
  Vector<std::int32_t, Space> columns;
};

template <class Exec, class Matrix>
void count_columns(Exec const& exec, Matrix const& A,
                   Vector<std::int64_t, typename Exec::memory_space> const& count) {
  Kokkos::parallel_for(
      "strata::sparse::symmetric_pattern::count", detail::RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) {
        for_each_neighbour(A, i, [&](std::int64_t j) {
          Kokkos::atomic_inc(&count(j));
          return true;
        });
      });
}

template <class Exec>
std::int64_t scan_counts(Exec const& exec,
                         Vector<std::int64_t, typename Exec::memory_space> const& count) {
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "strata::sparse::symmetric_pattern::scan",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(count.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& sum, bool final) {
        std::int64_t const here = count(i);
        if (final) count(i) = sum;
        sum += here;
      },
      total);
  exec.fence("strata::sparse::symmetric_pattern::scanned");
  return total;
}

// Each `end` starts at its row's begin and is moved on by every entry.
template <class Exec, class Matrix>
void scatter_rows(Exec const& exec, Matrix const& A,
                  Transposed<typename Exec::memory_space> const& T) {
  Kokkos::parallel_for(
      "strata::sparse::symmetric_pattern::scatter", detail::RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) {
        for_each_neighbour(A, i, [&](std::int64_t j) {
          T.columns(Kokkos::atomic_fetch_add(&T.end(j), std::int64_t(1))) =
              static_cast<std::int32_t>(i);
          return true;
        });
      });
}

template <class Matrix, class Space>
struct UnitedRows {
  Matrix A;
  Transposed<Space> T;

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Emit const& emit) const {
    auto const row = A.row(i);
    for (int k = 0; k < row.width; ++k)
      emit(std::int64_t(A.columns()[row.first + k * row.stride]), 1.0);
    for (std::int64_t k = i > 0 ? T.end(i - 1) : 0; k < T.end(i); ++k)
      emit(std::int64_t(T.columns(k)), 1.0);
  }
};

}  // namespace

template <class Exec, class Value>
bool has_symmetric_pattern(Exec const& exec,
                           EllMatrix<Value, std::int32_t, typename Exec::memory_space> const& A) {
  return count_one_sided(exec, A) == 0;
}

template <class Exec, class Value>
EllMatrix<fp8_e4m3, std::int32_t, typename Exec::memory_space> symmetric_pattern(
    Exec const& exec, EllMatrix<Value, std::int32_t, typename Exec::memory_space> const& A) {
  using Space = typename Exec::memory_space;
  using Matrix = EllMatrix<Value, std::int32_t, Space>;
  Transposed<Space> T;
  T.end = strata::allocate_zeros<Vector<std::int64_t, Space>>(
      exec, "strata::sparse::symmetric_pattern::end", A.rows());
  count_columns(exec, A, T.end);
  T.columns = strata::allocate<Vector<std::int32_t, Space>>(
      exec, "strata::sparse::symmetric_pattern::columns", scan_counts(exec, T.end));
  scatter_rows(exec, A, T);
  return make_ell_matrix<fp8_e4m3, std::int32_t>(exec, A.rows(), A.cols(),
                                                 UnitedRows<Matrix, Space>{A, T});
}

template <class Exec, class Value>
Colouring<typename Exec::memory_space> colour_rows(
    Exec const& exec, EllMatrix<Value, std::int32_t, typename Exec::memory_space> const& graph,
    ColouringMethod method, std::uint64_t seed) {
  using Rows = Vector<std::int32_t, typename Exec::memory_space>;
  using Matrix = EllMatrix<Value, std::int32_t, typename Exec::memory_space>;
  Region const region(exec, "strata::sparse::colour_rows");
  auto const colour =
      strata::allocate<Rows>(exec, "strata::sparse::colour_rows::colour", graph.rows());
  auto waiting = strata::allocate<Rows>(exec, "strata::sparse::colour_rows::waiting", graph.rows());
  auto next = strata::allocate<Rows>(exec, "strata::sparse::colour_rows::next", graph.rows());
  number_rows(exec, waiting, colour);
  Priority const priority{method == ColouringMethod::JonesPlassmannLuby, seed};
  for (std::int64_t left = graph.rows(); left > 0;) {
    Kokkos::parallel_for("strata::sparse::colour_rows", detail::RowPolicy<Exec>(exec, 0, left),
                         ColourRows<Matrix>{graph, priority, method == ColouringMethod::Levels,
                                            waiting.data(), colour.data()});
    left = keep_waiting(exec, left, waiting, colour, next);
    std::swap(waiting, next);
  }
  return {colour, largest(exec, colour) + 1};
}

std::vector<int> alternating_order(int count) {
  std::vector<int> order;
  for (int low = 0, high = count - 1; low <= high; ++low, --high) {
    order.push_back(high);
    if (low < high) order.push_back(low);
  }
  return order;
}

#define STRATA_INSTANTIATE_PATTERN(Space, Value)                                                   \
  template bool has_symmetric_pattern(Space const&,                                                \
                                      EllMatrix<Value, std::int32_t, Space::memory_space> const&); \
  template EllMatrix<fp8_e4m3, std::int32_t, Space::memory_space> symmetric_pattern(               \
      Space const&, EllMatrix<Value, std::int32_t, Space::memory_space> const&);
#define STRATA_INSTANTIATE_COLOUR(Space, Value)                                                  \
  template Colouring<Space::memory_space> colour_rows(                                           \
      Space const&, EllMatrix<Value, std::int32_t, Space::memory_space> const&, ColouringMethod, \
      std::uint64_t);
#define STRATA_INSTANTIATE_COLOURING(Space) \
  STRATA_INSTANTIATE_PATTERN(Space, fp64)   \
  STRATA_INSTANTIATE_COLOUR(Space, fp64)    \
  STRATA_INSTANTIATE_COLOUR(Space, fp8_e4m3)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_COLOURING)

}  // namespace strata::sparse
