// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_RESPONSE_SUMS_HPP
#define STRATA_RESPONSE_SUMS_HPP

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <geostat/vecchia/detail/Strata_VecchiaKernel.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::geostat::detail {

/// What is summed over the responses, by columns of their numbers.
struct ResponseTerm {
  enum class Kind : std::uint8_t {
    Column,      ///< a
    Product,     ///< a b
    Triple,      ///< a b b
    Derivative,  ///< a b c - a d - b e
  };
  Kind kind;
  int a, b = 0, c = 0, d = 0, e = 0;
};

/// Sums of stretches of 4096 responses, one after the other: the same bits on any number of
/// threads.
template <class Space>
struct ResponseSums {
  static constexpr std::int64_t stretch = 4096;

  ResponseRows<Space> rows;
  Kokkos::View<ResponseTerm*, Space> terms;
  Kokkos::View<double**, Kokkos::LayoutLeft, Space> sums;  // terms x stretches

  KOKKOS_FUNCTION void operator()(std::int64_t number) const {
    auto const count = static_cast<std::int64_t>(terms.extent(0));
    std::int64_t const k = number % count, part = number / count;
    std::int64_t const begin = part * stretch,
                       end =
                           Kokkos::min(begin + stretch, static_cast<std::int64_t>(rows.extent(0)));
    ResponseTerm const t = terms(k);
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += of(t, i);
    sums(k, part) = sum;
  }

 private:
  KOKKOS_FUNCTION double of(ResponseTerm const& t, std::int64_t i) const {
    double const a = rows(i, t.a);
    switch (t.kind) {
      case ResponseTerm::Kind::Column:
        return a;
      case ResponseTerm::Kind::Product:
        return a * rows(i, t.b);
      case ResponseTerm::Kind::Triple:
        return a * rows(i, t.b) * rows(i, t.b);
      default:
        return a * rows(i, t.b) * rows(i, t.c) - a * rows(i, t.d) - rows(i, t.b) * rows(i, t.e);
    }
  }
};

/// The sums of these terms. Fences `exec`.
template <class Exec>
std::vector<double> sums_of(Exec const& exec, ResponseRows<typename Exec::memory_space> const& rows,
                            std::vector<ResponseTerm> const& terms) {
  using Space = typename Exec::memory_space;
  using Sums = ResponseSums<Space>;
  using Table = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
  using HostTable = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  auto const n = static_cast<std::int64_t>(rows.extent(0)),
             parts = (n + Sums::stretch - 1) / Sums::stretch,
             count = static_cast<std::int64_t>(terms.size());
  auto const on_device = copy_of<Space>(exec, terms, "strata::geostat::vecchia::terms");
  auto const sums = allocate<Table>(exec, "strata::geostat::vecchia::sums", count, parts);
  Kokkos::parallel_for("strata::geostat::vecchia::sums",
                       Kokkos::RangePolicy<Exec>(exec, 0, count * parts),
                       Sums{rows, on_device, sums});
  auto const host =
      allocate_on_host<HostTable>("strata::geostat::vecchia::host_sums", count, parts);
  Kokkos::deep_copy(exec, host, sums);
  exec.fence("strata::geostat::vecchia::summed");
  std::vector<double> result;
  for (std::int64_t k = 0; k < count; ++k) {
    long double sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += host(k, part);
    result.push_back(static_cast<double>(sum));
  }
  return result;
}

}  // namespace strata::geostat::detail

#endif
