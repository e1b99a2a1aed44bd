// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/Strata_HostMatrix.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata {

namespace {

constexpr std::int64_t tile = 32;

// Call visit(i, j) for every i > j, tile by tile, until it returns true.
template <class Visit>
bool any_below_diagonal(std::int64_t n, Visit const& visit) {
  for (std::int64_t jj = 0; jj < n; jj += tile)
    for (std::int64_t ii = jj; ii < n; ii += tile)
      for (std::int64_t j = jj; j < std::min(n, jj + tile); ++j)
        for (std::int64_t i = std::max(ii, j + 1); i < std::min(n, ii + tile); ++i)
          if (visit(i, j)) return true;
  return false;
}

}  // namespace

std::size_t dense_bytes(std::string const& what, std::int64_t rows, std::int64_t cols,
                        std::size_t max_bytes) {
  STRATA_REQUIRE(ShapeError, rows >= 0 && cols >= 0, what, ": ", rows, " x ", cols);
  auto const m = static_cast<std::size_t>(rows), n = static_cast<std::size_t>(cols);
  STRATA_REQUIRE(MemoryError, m == 0 || n <= max_bytes / sizeof(double) / m, what, ": a dense ",
                 rows, " x ", cols, " matrix of fp64 needs ", 8.0 * double(rows) * double(cols),
                 " bytes; the limit is ", max_bytes);
  return m * n * sizeof(double);
}

HostMatrix allocate_host_matrix(std::string const& label, std::int64_t rows, std::int64_t cols,
                                std::size_t max_bytes) {
  STRATA_REQUIRE(Error, Kokkos::is_initialized() && !Kokkos::is_finalized(), label,
                 ": Kokkos is not initialized");
  auto const bytes = dense_bytes(label, rows, cols, max_bytes);
  try {
    return prefer_large_pages(HostMatrix(Kokkos::view_alloc(Kokkos::WithoutInitializing, label),
                                         static_cast<std::size_t>(rows),
                                         static_cast<std::size_t>(cols)));
  } catch (std::exception const&) {
    throw MemoryError(detail::message(label, ": no memory for ", rows, " x ", cols, " in fp64, ",
                                      bytes, " bytes"));
  }
}

std::optional<Asymmetry> find_asymmetry(ConstHostMatrix const& A, double tolerance) {
  STRATA_REQUIRE(ShapeError, A.extent(0) == A.extent(1),
                 "a symmetric matrix is square, this one is ", A.extent(0), " x ", A.extent(1));
  std::optional<Asymmetry> found;
  any_below_diagonal(static_cast<std::int64_t>(A.extent(0)), [&](std::int64_t i, std::int64_t j) {
    double const lower = A(i, j), upper = A(j, i);
    if (lower == upper) return false;
    double const scale = std::max({std::abs(lower), std::abs(upper),
                                   std::sqrt(std::abs(A(i, i))) * std::sqrt(std::abs(A(j, j)))});
    if (std::abs(lower - upper) <= tolerance * scale) return false;
    found = Asymmetry{i, j, lower, upper};
    return true;
  });
  return found;
}

void symmetrize(HostMatrix const& A) {
  auto const pair = find_asymmetry(A, 16 * std::numeric_limits<double>::epsilon());
  if (pair) {
    std::ostringstream text;
    text.precision(17);
    text << "the matrix is not symmetric: A(" << pair->row + 1 << ", " << pair->col + 1
         << ") = " << pair->lower << " but A(" << pair->col + 1 << ", " << pair->row + 1
         << ") = " << pair->upper;
    if (pair->upper == 0)
      text << " (one triangle is enough in Matrix Market files that say symmetric)";
    throw ValueError(text.str());
  }
  any_below_diagonal(static_cast<std::int64_t>(A.extent(0)), [&](std::int64_t i, std::int64_t j) {
    if (A(j, i) != A(i, j)) A(j, i) = A(i, j);
    return false;
  });
}

}  // namespace strata
