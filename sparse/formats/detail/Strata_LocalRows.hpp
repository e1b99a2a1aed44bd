// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_LOCAL_ROWS_HPP
#define STRATA_SPARSE_DETAIL_LOCAL_ROWS_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/formats/Strata_EllAssembly.hpp>
#include <sparse/formats/detail/Strata_LocalCsr.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace strata::sparse::detail {

/// A rank's rows in the caller's order, columns numbered own rows first, then the halo.
template <class Exec>
struct LocalMatrix {
  EllMatrix<double, std::int32_t, typename Exec::memory_space> rows;
  std::vector<std::int64_t> first_row;  ///< first row of each rank, and the end
  std::vector<std::int64_t> halo;       ///< global rows, ascending
};

/// Rows [first, end) of a matrix with global columns (row source with local columns).
template <class Source, class Space>
struct LocalRows {
  Source source;
  std::int64_t first, end;
  Vector<std::int64_t, Space> halo;

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t row, Emit const& emit) const {
    source(row, [&](std::int64_t column, double value) {
      emit(column >= first && column < end ? column - first : end - first + position(column),
           value);
    });
  }

 private:
  // of the first entry of the halo that is not less
  KOKKOS_FUNCTION std::int64_t position(std::int64_t column) const {
    std::int64_t low = 0, high = static_cast<std::int64_t>(halo.extent(0));
    while (low < high) {
      std::int64_t const middle = (low + high) / 2;
      if (halo(middle) < column)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

/// Columns outside [first, end): counts them, and lists them where there is a list.
template <class Source, class Space>
struct ListOutside {
  Source source;
  std::int64_t first, end;
  Vector<std::int64_t, Space> list, count;

  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    source(row, [&](std::int64_t column, double) {
      if (column >= first && column < end) return;
      std::int64_t const at = Kokkos::atomic_fetch_add(&count(0), std::int64_t(1));
      if (list.extent(0) > 0) list(at) = column;
    });
  }
};

template <class Source, class Positions>
struct ListPositions {
  Source source;
  Positions positions;

  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    positions(row) = static_cast<std::int32_t>(source.neighbourly_position(row));
  }
};

/// The global columns that rows [first, end) have outside, ascending, each once. Fences.
template <class Exec, class Source>
std::vector<std::int64_t> columns_outside(Exec const& exec, std::int64_t first, std::int64_t end,
                                          Source const& source) {
  using Space = typename Exec::memory_space;
  using List = Vector<std::int64_t, Space>;
  using Host = Kokkos::View<std::int64_t*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  std::vector<std::int64_t> result(1, 0);
  List list;
  for (int pass = 0; pass < 2; ++pass) {
    auto const count = strata::allocate_zeros<List>(exec, "strata::sparse::localise::count", 1);
    Kokkos::parallel_for("strata::sparse::localise::list",
                         detail::RowPolicy<Exec>(exec, 0, end - first),
                         ListOutside<Source, Space>{source, first, end, list, count});
    if (pass == 0) {
      Kokkos::deep_copy(exec, Host(result.data(), 1), count);
      exec.fence("strata::sparse::localise::counted");
      if (result[0] == 0) return {};
      list = allocate<List>(exec, "strata::sparse::localise::outside", result[0]);
    }
  }
  result.resize(list.extent(0));
  Kokkos::deep_copy(exec, Host(result.data(), result.size()), list);
  exec.fence("strata::sparse::localise::listed");
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// Throws   ValueError unless all of the columns, ascending ones outside a rank's, are among `all`.
inline void require_inside(std::vector<std::int64_t> const& outside, std::int64_t all) {
  if (outside.empty()) return;
  std::int64_t const farthest = outside.front() < 0 ? outside.front() : outside.back();
  STRATA_REQUIRE(ValueError, farthest >= 0 && farthest < all, "distributed matrix of ", all,
                 " rows: column ", farthest, " is out of range, must be 0 to ", all - 1);
}

/// The rows that `source` generates on the one rank there is. Fences.
template <class Exec, class Source>
LocalCsr<Exec> whole_rows(Exec const& exec, std::int64_t rows, Source const& source) {
  STRATA_REQUIRE(ShapeError, rows >= 0, "distributed matrix: ", rows, " rows");
  LocalCsr<Exec> A;
  if (make_local_csr(exec, rows, rows, source, A) > 0)
    require_inside(columns_outside(exec, 0, rows, source), rows);
  return A;
}

/// The rows that `source` generates with global columns, numbered rank by rank. Collective; fences.
template <class Exec, class Source>
LocalMatrix<Exec> localise(Exec const& exec, Communicator const& comm, std::int64_t rows,
                           Source const& source) {
  using Space = typename Exec::memory_space;
  LocalMatrix<Exec> local;
  comm.agree([&] { STRATA_REQUIRE(ShapeError, rows >= 0, "distributed matrix: ", rows, " rows"); });
  auto const counts = comm.gather(rows);
  local.first_row.resize(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), local.first_row.begin() + 1);
  std::int64_t const first = local.first_row[static_cast<std::size_t>(comm.rank())];
  comm.agree([&] {
    local.halo = columns_outside(exec, first, first + rows, source);
    require_inside(local.halo, local.first_row.back());
    auto const halo = static_cast<std::int64_t>(local.halo.size());
    auto const device =
        allocate<Vector<std::int64_t, Space>>(exec, "strata::sparse::localise::halo", halo);
    Kokkos::View<std::int64_t const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
        local.halo.data(), halo);
    Kokkos::deep_copy(exec, device, host);
    local.rows = make_ell_matrix<double, std::int32_t>(
        exec, rows, rows + halo, LocalRows<Source, Space>{source, first, first + rows, device});
  });
  return local;
}

/// The order that `source` has for rows that lie close together; empty if it has none, and on a
/// host, whose slices share more distances without. Collective.
template <class Exec, class Source>
Vector<std::int32_t, typename Exec::memory_space> neighbourly_positions(Exec const& exec,
                                                                        Communicator const& comm,
                                                                        std::int64_t rows,
                                                                        Source const& source) {
  using Positions = Vector<std::int32_t, typename Exec::memory_space>;
  Positions positions;
  if constexpr (requires { source.neighbourly_position(rows); } && !strata::runs_on_host<Exec>) {
    comm.agree([&] {
      positions = allocate<Positions>(exec, "strata::sparse::neighbourly_positions", rows);
      Kokkos::parallel_for("strata::sparse::neighbourly_positions",
                           detail::RowPolicy<Exec>(exec, 0, rows),
                           ListPositions<Source, Positions>{source, positions});
    });
  }
  return positions;
}

/// The values of a source's rows, each in its column's place; counts entries that have none, or for
/// which a long row in another order would take too many steps.
template <class Source, class MemorySpace>
struct RefillSlices {
  Source source;
  SlicedEllMatrix<double, MemorySpace> like;
  Kokkos::View<double*, MemorySpace> values;

  KOKKOS_FUNCTION void operator()(std::int64_t i, RowStatistics& total) const {
    auto const row = like.row(i);
    auto const clear = [&](int from, int to) {
      for (int k = from; k < to; ++k) values(row.first + k * row.stride) = 0;
    };
    int done = 0, last = -1;  // slots that have a value; the last entry's slot
    std::int64_t length = 0, outside = 0;
    std::int64_t steps = least_steps + steps_of_slot * std::int64_t{row.width};  // that are left
    if (i < like.rows())
      source(i, [&](std::int64_t column, double value) {
        ++length;
        int const found = find(i, row.width, last, column, steps);
        if (found == row.width) {
          ++outside;
          return;
        }
        last = found;
        double& place = values(row.first + last * row.stride);
        if (last < done) {
          place += value;
          return;
        }
        clear(done, last);
        place = value;
        done = last + 1;
      });
    clear(done, row.width);
    total += {length, 0, outside};
  }

 private:
  static constexpr std::int64_t least_steps = 4096, steps_of_slot = 32;

  // The slot of a column, found at once for those beside `last`; `width`: there is none, or no step
  // is left.
  KOKKOS_FUNCTION int find(std::int64_t i, int width, int last, std::int64_t column,
                           std::int64_t& steps) const {
    for (int d = 1; (last + d < width || d <= last + 1) && steps > 0; ++d, --steps) {
      if (last + d < width && like.column(i, last + d) == column) return last + d;
      if (d <= last + 1 && like.column(i, last + 1 - d) == column) return last + 1 - d;
    }
    return width;
  }
};

/// The matrix whose rows `source` generates, in the pattern of `like`, if that has a place for each
/// entry and as many of them. Fences. Throws MemoryError.
template <class Exec, class Source>
std::optional<SlicedEllMatrix<double, typename Exec::memory_space>> refilled_slices(
    Exec const& exec, SlicedEllMatrix<double, typename Exec::memory_space> const& like,
    Source const& source) {
  using Space = typename Exec::memory_space;
  constexpr std::int64_t slice = SlicedEllMatrix<double, Space>::slice_rows;
  auto const values = strata::allocate<Kokkos::View<double*, Space>>(
      exec, "strata::sparse::SlicedEllMatrix::values", like.stored());
  RowStatistics found;
  Kokkos::parallel_reduce("strata::sparse::refilled_slices",
                          RowPolicy<Exec>(exec, 0, (like.rows() + slice - 1) / slice * slice),
                          RefillSlices<Source, Space>{source, like, values},
                          Kokkos::Sum<RowStatistics>(found));
  exec.fence("strata::sparse::refilled_slices");
  if (found.outside > 0 || found.entries != like.entries()) return std::nullopt;
  return like.with_values(values);
}

}  // namespace strata::sparse::detail

#endif
