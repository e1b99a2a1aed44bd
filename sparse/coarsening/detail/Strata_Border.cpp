// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_Border.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/matrix/detail/Strata_RowExchange.hpp>

#include <bit>
#include <span>
#include <type_traits>

namespace strata::sparse::detail {
namespace {

// packed(k) = x of each of the rows, number by number.
template <class Exec, class T>
void pack_rows(Exec const& exec, Vector<std::int32_t, typename Exec::memory_space> const& rows,
               Vector<T, typename Exec::memory_space> const& x, int width,
               Vector<T, typename Exec::memory_space> const& packed) {
  Kokkos::parallel_for(
      "strata::sparse::Border::pack",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(rows.extent(0)) * width),
      KOKKOS_LAMBDA(std::int64_t k) {
        std::int64_t const row = k / width;
        packed(k) = x(rows(row) * std::int64_t(width) + (k - row * width));
      });
}

// As fp64, in which all of them go from rank to rank.
template <class T>
double as_number(T value) {
  if constexpr (std::is_same_v<T, std::uint64_t>)
    return std::bit_cast<double>(value);
  else
    return static_cast<double>(value);
}
template <class T>
T from_number(double number) {
  if constexpr (std::is_same_v<T, std::uint64_t>)
    return std::bit_cast<std::uint64_t>(number);
  else
    return static_cast<T>(number);
}

}  // namespace

template <class Exec>
Border<Exec>::Border(Exec const& exec, Communicator const& comm,
                     std::vector<std::int64_t> const& first_row,
                     std::vector<std::int64_t> const& outside)
    : comm_(comm), first_row_(first_row), outside_(outside) {
  if (is_whole()) return;
  auto const asking = comm.exchange(agree([&] {
    std::vector<std::vector<double>> asked(static_cast<std::size_t>(comm.size()));
    for (auto const row : outside)
      asked[owner_of(first_row, row)].push_back(static_cast<double>(row));
    return asked;
  }));
  agree([&] {
    std::vector<std::int32_t> rows;
    begin_ = {0};
    for (auto const& wanted : asking) {
      for (double const row : wanted)
        rows.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(row) - first()));
      begin_.push_back(static_cast<std::int64_t>(rows.size()));
    }
    sent_ = to_device(exec, "strata::sparse::Border::sent", rows);
  });
}

template <class Exec>
std::int64_t Border<Exec>::sum(std::int64_t mine) const {
  if (is_whole()) return mine;
  std::int64_t total = 0;
  for (auto const part : comm_.gather(mine)) total += part;
  return total;
}

template <class Exec>
double Border<Exec>::sum(double mine) const {
  if (!is_whole()) comm_.sum(std::span(&mine, 1));
  return mine;
}

template <class Exec>
template <class T>
void Border<Exec>::fill(Exec const& exec, Vector<T, Space> const& x, int width) const {
  if (is_whole()) return;
  auto const parts = comm_.exchange(agree([&] {
    auto const packed = strata::allocate<Vector<T, Space>>(exec, "strata::sparse::Border::packed",
                                                           begin_.back() * width);
    pack_rows(exec, sent_, x, width, packed);
    auto const out = to_host(exec, packed);
    std::vector<std::vector<double>> to(static_cast<std::size_t>(comm_.size()));
    for (std::size_t rank = 0; rank < to.size(); ++rank)
      for (auto k = begin_[rank] * width; k < begin_[rank + 1] * width; ++k)
        to[rank].push_back(as_number(out[static_cast<std::size_t>(k)]));
    return to;
  }));
  agree([&] {  // parts come rank by rank, as `outside_` ascends
    std::vector<T> in;
    for (auto const& part : parts)
      for (double const number : part) in.push_back(from_number<T>(number));
    if (in.empty()) return;
    using Host = Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
    auto const count = static_cast<std::int64_t>(in.size());
    auto const own = static_cast<std::int64_t>(x.extent(0)) - count;
    Vector<T, Space> const behind(x.data() + own, in.size());
    Kokkos::deep_copy(exec, behind, Host(in.data(), in.size()));
    exec.fence("strata::sparse::Border::filled");  // `in` ends here
  });
}

#define STRATA_INSTANTIATE_BORDER(Space)                                                           \
  template class Border<Space>;                                                                    \
  template void Border<Space>::fill(Space const&, Vector<double, Space::memory_space> const&, int) \
      const;                                                                                       \
  template void Border<Space>::fill(Space const&,                                                  \
                                    Vector<std::int32_t, Space::memory_space> const&, int) const;  \
  template void Border<Space>::fill(Space const&,                                                  \
                                    Vector<std::uint64_t, Space::memory_space> const&, int) const;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_BORDER)

}  // namespace strata::sparse::detail
