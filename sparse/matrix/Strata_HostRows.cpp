// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/matrix/Strata_HostRows.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/matrix/detail/Strata_RowExchange.hpp>

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace strata::sparse {
namespace {

// The global number of each local column, as numbers: an exchange fills in the halo's.
template <class Exec>
Vector<double, typename Exec::memory_space> global_columns(Exec const& exec,
                                                           DistributedMatrix<Exec> const& A) {
  auto const global = A.comm().agree(
      [&] { return A.template allocate<double>(exec, "strata::sparse::rows_of::global"); });
  auto const old_row = A.order().old_row;
  std::int64_t const first = A.first_row();
  Kokkos::parallel_for(
      "strata::sparse::rows_of::number", detail::RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) { global(i) = static_cast<double>(first + old_row(i)); });
  A.fill_halo(exec, global);
  return global;
}

// length(i + 1): the entries of row i of the caller's order.
template <class Exec, class Matrix, class Rows>
void count_entries(Exec const& exec, Matrix const& A, Rows const& old_row,
                   Vector<std::int64_t, typename Exec::memory_space> const& length) {
  Kokkos::parallel_for(
      "strata::sparse::rows_of::count", detail::RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) {
        std::int64_t count = 0;
        EllRows<Matrix>{A}(i, [&](std::int64_t, double) { ++count; });
        length(old_row(i) + 1) = count;
      });
}

template <class Exec, class Matrix, class Rows>
void fill_entries(Exec const& exec, Matrix const& A, Rows const& old_row,
                  Vector<double, typename Exec::memory_space> const& global,
                  DeviceRows<Exec> const& rows) {
  Kokkos::parallel_for(
      "strata::sparse::rows_of::fill", detail::RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) {
        std::int64_t at = rows.begin(old_row(i));
        EllRows<Matrix>{A}(i, [&](std::int64_t j, double a) {
          rows.column(at) = static_cast<std::int64_t>(global(j));
          rows.value(at++) = a;
        });
      });
}

// They may come from anywhere.
void require_whole(HostRows const& rows) {
  auto const& begin = rows.begin;
  bool const ascends =
      !begin.empty() && begin.front() == 0 && std::is_sorted(begin.begin(), begin.end());
  STRATA_REQUIRE(ShapeError, ascends, "rows: `begin` must start with 0 and not decrease");
  STRATA_REQUIRE(ShapeError,
                 begin.back() == rows.entries() && rows.value.size() == rows.column.size(),
                 "rows: `begin` ends with ", begin.back(), ", there are ", rows.column.size(),
                 " columns and ", rows.value.size(), " values");
}

void sort_rows(HostRows& rows) {
  std::vector<std::pair<std::int64_t, double>> row;
  for (std::size_t i = 0; i + 1 < rows.begin.size(); ++i) {
    auto const first = static_cast<std::size_t>(rows.begin[i]),
               end = static_cast<std::size_t>(rows.begin[i + 1]);
    row.clear();
    for (std::size_t k = first; k < end; ++k) row.emplace_back(rows.column[k], rows.value[k]);
    std::stable_sort(row.begin(), row.end(),
                     [](auto const& a, auto const& b) { return a.first < b.first; });
    for (std::size_t k = first; k < end; ++k)
      rows.column[k] = row[k - first].first, rows.value[k] = row[k - first].second;
  }
}

// Adds how many blocks of `size` the nodes have that begin at rows offset + k size and are whole
// here, and how many entries.
void count_blocks(HostRows const& rows, std::int64_t first, int size, int offset,
                  std::span<double> counts) {
  std::vector<std::int64_t> blocks;
  for (std::int64_t i = (size - (first - offset) % size) % size; i + size <= rows.rows();
       i += size) {
    auto const begin = rows.begin[static_cast<std::size_t>(i)],
               end = rows.begin[static_cast<std::size_t>(i + size)];
    blocks.clear();
    for (auto k = begin; k < end; ++k)
      blocks.push_back((rows.column[static_cast<std::size_t>(k)] + size - offset) / size);
    std::sort(blocks.begin(), blocks.end());
    counts[0] += static_cast<double>(std::unique(blocks.begin(), blocks.end()) - blocks.begin());
    counts[1] += static_cast<double>(end - begin);
  }
}

}  // namespace

HostRows host_rows(CoordinateMatrix const& A) {
  HostRows rows;
  rows.begin.assign(static_cast<std::size_t>(A.rows) + 1, 0);
  auto const for_each_entry = [&](auto const& step) {
    for (std::size_t k = 0; k < A.value.size(); ++k) {
      step(A.row[k], A.col[k], A.value[k]);
      if (A.symmetric && A.row[k] != A.col[k]) step(A.col[k], A.row[k], A.value[k]);
    }
  };
  for_each_entry(
      [&](std::int64_t i, std::int64_t, double) { ++rows.begin[static_cast<std::size_t>(i) + 1]; });
  for (std::size_t i = 1; i < rows.begin.size(); ++i) rows.begin[i] += rows.begin[i - 1];
  rows.column.resize(static_cast<std::size_t>(rows.begin.back()));
  rows.value.resize(rows.column.size());
  auto next = rows.begin;
  for_each_entry([&](std::int64_t i, std::int64_t j, double a) {
    auto const at = static_cast<std::size_t>(next[static_cast<std::size_t>(i)]++);
    rows.column[at] = j;
    rows.value[at] = a;
  });
  return rows;
}

int likely_block_size(Communicator const& comm, std::int64_t n, HostRows const& rows) {
  constexpr double most = 1.25, gain = 1.15;  // of what is stored
  std::int64_t first = 0;
  auto const counts_of_rows = comm.gather(rows.rows());
  for (int rank = 0; rank < comm.rank(); ++rank)
    first += counts_of_rows[static_cast<std::size_t>(rank)];
  for (int size = 6; size > 1; --size) {
    if (n % size != 0 || n <= size) continue;
    double counts[4] = {0, 0, 0, 0};  // blocks and entries, and of blocks a row later
    count_blocks(rows, first, size, 0, std::span(counts, 2));
    count_blocks(rows, first, size, 1, std::span(counts + 2, 2));
    comm.sum(counts);
    double const share = size * size * counts[0] / counts[1];
    if (counts[1] > 0 && share <= most && size * size * counts[2] >= gain * share * counts[3])
      return size;
  }
  return 1;
}

std::vector<std::int64_t> even_partition(std::int64_t rows, int ranks) {
  STRATA_REQUIRE(ShapeError, rows >= 0 && ranks >= 1, "partition: ", rows, " rows on ", ranks,
                 " ranks");
  std::vector<std::int64_t> first;
  for (std::int64_t rank = 0; rank <= ranks; ++rank)
    first.push_back(rows / ranks * rank + std::min<std::int64_t>(rank, rows % ranks));
  return first;
}

HostRows scattered(Communicator const& comm, std::vector<std::int64_t> const& first_row,
                   HostRows const& whole) {
  comm.agree([&] {
    STRATA_REQUIRE(ShapeError, first_row.size() == static_cast<std::size_t>(comm.size()) + 1,
                   "scatter: `first_row` has ", first_row.size(), " entries, must have ",
                   comm.size() + 1);
    if (comm.rank() == 0) require_whole(whole);
    STRATA_REQUIRE(ValueError, comm.rank() != 0 || whole.rows() == first_row.back(),
                   "scatter: ", whole.rows(), " rows, the ranks expect ", first_row.back());
  });
  if (comm.size() == 1) return whole;
  std::vector<std::vector<double>> to(static_cast<std::size_t>(comm.size()));
  if (comm.rank() == 0)
    for (std::size_t rank = 0; rank < to.size(); ++rank)
      for (auto row = first_row[rank]; row < first_row[rank + 1]; ++row)
        detail::pack_row(whole, row, to[rank]);
  HostRows mine;
  detail::unpack_rows(comm.exchange(std::move(to)).front(), mine);
  return mine;
}

namespace {

std::int64_t in_lower_triangle(CoordinateMatrix const& A, std::int64_t first_row) {
  std::int64_t count = 0;
  for (std::size_t k = 0; k < A.value.size(); ++k) count += A.row[k] + first_row >= A.col[k];
  return count;
}

// Row, column and value of each entry for the rank that has its row; rows count from that rank's
// first.
std::vector<std::vector<double>> by_owner(std::vector<std::int64_t> const& first_row,
                                          CoordinateMatrix const& share) {
  std::vector<std::vector<double>> to(first_row.size() - 1);
  for (std::size_t k = 0; k < share.value.size(); ++k) {
    auto const owner = std::upper_bound(first_row.begin(), first_row.end(), share.row[k]) - 1;
    auto& message = to[static_cast<std::size_t>(owner - first_row.begin())];
    for (double const number : {static_cast<double>(share.row[k] - *owner),
                                static_cast<double>(share.col[k]), share.value[k]})
      message.push_back(number);
  }
  return to;
}

CoordinateMatrix of_messages(std::vector<std::vector<double>> const& messages, std::int64_t rows,
                             std::int64_t cols) {
  CoordinateMatrix mine;
  mine.rows = rows, mine.cols = cols;
  for (auto const& message : messages)
    for (std::size_t k = 0; k < message.size(); k += 3) {
      mine.row.push_back(static_cast<std::int64_t>(message[k]));
      mine.col.push_back(static_cast<std::int64_t>(message[k + 1]));
      mine.value.push_back(message[k + 2]);
    }
  return mine;
}

// On rank 0.
HostRows read_whole(std::string const& path, ReadOptions const& options) {
  auto const matrix = read_matrix_market(path, options);
  auto const* const A = std::get_if<CoordinateMatrix>(&matrix);
  STRATA_REQUIRE(ValueError, A != nullptr, path, ": an array is no list of entries");
  return host_rows(*A);
}

// The reader of the whole file says what is wrong with it, and in which line. Throws on all ranks.
HostRows refused(Communicator const& comm, std::string const& path, ReadOptions const& options,
                 std::exception_ptr const& found) {
  bool const has_found = comm.max(found ? 1 : 0) > 0;
  return comm.agree([&] {
    if (comm.rank() == 0) read_matrix_market(path, {options.max_bytes, options.max_gz_ratio});
    if (found) std::rethrow_exception(found);
    STRATA_REQUIRE(IoError, has_found, path, ": it changed while it was read");
    return HostRows();
  });
}

bool is_whole(Communicator const& comm, MatrixMarketShare const& share) {
  double counts[] = {static_cast<double>(share.listed), share.has_above ? 1.0 : 0.0,
                     share.has_below ? 1.0 : 0.0};
  comm.sum(counts);
  bool const one_triangle = share.header.symmetric || share.header.skew;
  return counts[0] == static_cast<double>(share.header.entries) &&
         !(one_triangle && counts[1] > 0 && counts[2] > 0);
}

}  // namespace

HostRows read_rows(Communicator const& comm, std::string const& path,
                   std::vector<std::int64_t> const& first_row, ReadOptions const& options) {
  bool const by_all = comm.size() > 1 && comm.agree([&] { return has_shares(path); });
  if (!by_all)
    return scattered(comm, first_row, comm.agree([&] {
      return comm.rank() == 0 ? read_whole(path, options) : HostRows();
    }));
  std::optional<MatrixMarketShare> share;
  std::exception_ptr found;
  try {
    share = read_matrix_market_share(path, comm.rank(), comm.size(), options);
    STRATA_REQUIRE(ShapeError, share->header.rows == first_row.back(), path, ": ",
                   share->header.rows, " rows, the ranks expect ", first_row.back());
  } catch (std::exception const&) {
    found = std::current_exception();
  }
  if (comm.max(found ? 1 : 0) > 0 || !is_whole(comm, *share))
    return refused(comm, path, options, found);
  auto const& header = share->header;
  auto const rank = static_cast<std::size_t>(comm.rank());
  auto const first = first_row[rank];
  auto to = comm.agree([&] { return by_owner(first_row, std::exchange(share->entries, {})); });
  auto const messages = comm.exchange(std::move(to));
  std::int64_t before = 0;
  bool is_finite = true;
  auto const mine = comm.agree([&] {
    auto rows = of_messages(messages, first_row[rank + 1] - first, first_row.back());
    before = header.symmetric ? in_lower_triangle(rows, first) : 0;
    is_finite = add_entries_at_one_position(rows);
    return rows;
  });
  if (comm.max(is_finite ? 0 : 1) > 0) return refused(comm, path, options, nullptr);
  double added[] = {
      static_cast<double>(header.symmetric ? before - in_lower_triangle(mine, first) : mine.added)};
  comm.sum(added);
  if (added[0] > 0 && comm.rank() == 0 && options.on_remark)
    options.on_remark(strata::detail::message(
        path, ": ", static_cast<std::int64_t>(added[0]), " of ", header.entries,
        " entries are at positions listed before; their values were added"));
  return comm.agree([&] { return host_rows(mine); });
}

template <class Exec>
DeviceRows<Exec>::DeviceRows(Exec const& exec, HostRows const& rows)
    : begin((require_whole(rows),
             detail::to_device(exec, "strata::sparse::DeviceRows::begin", rows.begin))),
      column(detail::to_device(exec, "strata::sparse::DeviceRows::column", rows.column)),
      value(detail::to_device(exec, "strata::sparse::DeviceRows::value", rows.value)) {}

template <class Exec>
DeviceRows<Exec> DeviceRows<Exec>::beside(Exec const& exec, HostRows const& rows) {
  if constexpr (!runs_on_host<Exec>) return DeviceRows(exec, rows);
  require_whole(rows);
  auto const view = []<class Number>(std::vector<Number> const& numbers) {
    return Vector<Number, Space>(const_cast<Number*>(numbers.data()), numbers.size());
  };
  DeviceRows result;
  result.begin = view(rows.begin);
  result.column = view(rows.column);
  result.value = view(rows.value);
  return result;
}

template <class Exec>
HostRows rows_of(Exec const& exec, DistributedMatrix<Exec> const& A) {
  Region const region(exec, "strata::sparse::rows_of");
  auto const global = global_columns(exec, A);
  auto const& old_row = A.order().old_row;
  HostRows rows;
  A.comm().agree([&] {
    std::visit(
        [&](auto const& stored) {
          DeviceRows<Exec> device;
          std::vector<std::int64_t> length(static_cast<std::size_t>(A.rows() + 1), 0);
          device.begin = detail::to_device(exec, "strata::sparse::rows_of::begin", length);
          count_entries(exec, stored, old_row, device.begin);
          length = detail::to_host(exec, device.begin);
          rows.begin.resize(length.size());
          std::partial_sum(length.begin(), length.end(), rows.begin.begin());
          device.begin = detail::to_device(exec, "strata::sparse::rows_of::begin", rows.begin);
          device.column = strata::allocate<Vector<std::int64_t, typename Exec::memory_space>>(
              exec, "strata::sparse::rows_of::column", rows.begin.back());
          device.value = strata::allocate<Vector<double, typename Exec::memory_space>>(
              exec, "strata::sparse::rows_of::value", rows.begin.back());
          fill_entries(exec, stored, old_row, global, device);
          rows.column = detail::to_host(exec, device.column);
          rows.value = detail::to_host(exec, device.value);
        },
        A.stored());
    sort_rows(rows);
  });
  return rows;
}

#define STRATA_INSTANTIATE_HOST_ROWS(Space) \
  template struct DeviceRows<Space>;        \
  template HostRows rows_of(Space const&, DistributedMatrix<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_HOST_ROWS)

}  // namespace strata::sparse
