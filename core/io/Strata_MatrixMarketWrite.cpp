// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/detail/Strata_MatrixMarketStream.hpp>

#include <cmath>
#include <cstdint>
#include <functional>

namespace strata {

namespace detail {

namespace {

void require_writable(ConstHostMatrix const& A, Symmetry symmetry) {
  if (symmetry == Symmetry::Symmetric) {
    auto const pair = find_asymmetry(A);
    STRATA_REQUIRE(ValueError, !pair, "write_matrix_market: A(", pair->row + 1, ", ", pair->col + 1,
                   ") = ", pair->lower, " but A(", pair->col + 1, ", ", pair->row + 1,
                   ") = ", pair->upper, ", not symmetric");
  }
  if (A.size() == 0) return;
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i)
      STRATA_REQUIRE(ValueError, std::isfinite(A(i, j)), "write_matrix_market: A(", i + 1, ", ",
                     j + 1, ") = ", A(i, j), " is not finite");
}

void require_writable(CoordinateMatrix const& A) {
  auto const count = A.value.size();
  STRATA_REQUIRE(ShapeError, A.row.size() == count && A.col.size() == count,
                 "write_matrix_market: ", A.row.size(), " rows, ", A.col.size(), " columns and ",
                 count, " values");
  STRATA_REQUIRE(ShapeError, A.rows >= 0 && A.cols >= 0 && (!A.symmetric || A.rows == A.cols),
                 "write_matrix_market: a ", A.rows, " x ", A.cols, " matrix",
                 A.symmetric ? ", which is to be symmetric" : "");
  for (std::size_t k = 0; k < count; ++k) {
    bool const inside = A.row[k] >= 0 && A.row[k] < A.rows && A.col[k] >= 0 && A.col[k] < A.cols;
    STRATA_REQUIRE(ValueError, inside && (!A.symmetric || A.row[k] >= A.col[k]),
                   "write_matrix_market: entry ", k, " is at (", A.row[k], ", ", A.col[k],
                   "), outside the ", A.symmetric ? "lower triangle" : "matrix", " of ", A.rows,
                   " x ", A.cols);
    STRATA_REQUIRE(ValueError, std::isfinite(A.value[k]), "write_matrix_market: entry ", k, " = ",
                   A.value[k], " is not finite");
  }
  auto const pair = find_duplicate(A);
  STRATA_REQUIRE(ValueError, !pair, "write_matrix_market: entries ", pair->first, " and ",
                 pair->second, " are both at (", A.row[pair->first], ", ", A.col[pair->first], ")");
}

std::string_view symmetry_name(bool symmetric) { return symmetric ? " symmetric\n" : " general\n"; }

template <class Write>
void to_file(std::string const& path, Compression compression, Write const& write) {
  AtomicFile file(path);
  if (compression == Compression::None) return write(file);
  DeflateSink gzip(file);
  write(gzip);
}

void write_array(ByteSink& sink, ConstHostMatrix const& A, Symmetry symmetry,
                 std::function<void(double)> const& on_progress = {}) {
  bool const symmetric = symmetry == Symmetry::Symmetric;
  auto const rows = static_cast<std::int64_t>(A.extent(0)),
             cols = static_cast<std::int64_t>(A.extent(1));
  TextWriter text(sink);
  text << "%%MatrixMarket matrix array real" << symmetry_name(symmetric) << rows << ' ' << cols
       << '\n';
  auto const all = symmetric ? rows * (rows + 1) / 2 : rows * cols;
  WrittenPart part(static_cast<std::uint64_t>(all), on_progress);
  for (std::int64_t j = 0; rows > 0 && j < cols; ++j)
    for (std::int64_t i = symmetric ? j : 0; i < rows; ++i) {
      text << A(i, j) << '\n';
      part.add(1);
    }
  text.finish();
}

void write_coordinates(ByteSink& sink, CoordinateMatrix const& A) {
  TextWriter text(sink);
  text << "%%MatrixMarket matrix coordinate real" << symmetry_name(A.symmetric) << A.rows << ' '
       << A.cols << ' ' << static_cast<std::int64_t>(A.value.size()) << '\n';
  for (std::size_t k = 0; k < A.value.size(); ++k)
    text << A.row[k] + 1 << ' ' << A.col[k] + 1 << ' ' << A.value[k] << '\n';
  text.finish();
}

}  // namespace

void write_matrix_market(ByteSink& sink, ConstHostMatrix const& A, Symmetry symmetry) {
  require_writable(A, symmetry);
  write_array(sink, A, symmetry);
}

void write_matrix_market(ByteSink& sink, CoordinateMatrix const& A) {
  require_writable(A);
  write_coordinates(sink, A);
}

}  // namespace detail

void write_matrix_market(std::string const& path, ConstHostMatrix const& A,
                         MatrixMarketWriteOptions const& options) {
  detail::require_writable(A, options.symmetry);
  detail::to_file(path, options.compression, [&](ByteSink& sink) {
    detail::write_array(sink, A, options.symmetry, options.on_progress);
  });
}

void write_matrix_market(std::string const& path, CoordinateMatrix const& A,
                         Compression compression) {
  detail::require_writable(A);
  detail::to_file(path, compression, [&](ByteSink& sink) { detail::write_coordinates(sink, A); });
}

}  // namespace strata
