// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "Strata_Fuzz.hpp"
#include <core/io/detail/Strata_MatrixMarketStream.hpp>

namespace {

using namespace strata;
using namespace strata::fuzz;

MatrixMarketMatrix reread(strata::MemorySink const& sink) {
  strata::MemorySource source("again", sink.bytes.data(), sink.bytes.size());
  return detail::read_matrix_market(source, limits);
}

void round_trip(CoordinateMatrix const& A) {
  strata::MemorySink sink;
  detail::write_matrix_market(sink, A);
  auto const B = std::get<CoordinateMatrix>(reread(sink));
  check(A.rows == B.rows && A.cols == B.cols && A.symmetric == B.symmetric && A.row == B.row &&
            A.col == B.col,
        "a list of entries reads back to the same positions");
  check(same(A.value, B.value), "a list of entries reads back to the same bits");
}

void round_trip(HostMatrix const& A, Symmetry symmetry) {
  strata::MemorySink sink;
  detail::write_matrix_market(sink, A, symmetry);
  auto const B = reread(sink);
  check(std::get<ArrayMatrix>(B).symmetric == (symmetry == Symmetry::Symmetric),
        "the symmetry reads back");
  check(same(A, to_dense(B)), "a dense matrix reads back to the same bits");
}

void dense_round_trips(MatrixMarketMatrix const& matrix) {
  ReadOptions const small{.max_bytes = 1 << 14};
  HostMatrix A;
  if (accepted([&] { A = to_dense(matrix, small); })) round_trip(A, Symmetry::General);
  if (accepted([&] { A = to_dense_symmetric(matrix, small); })) {
    check(!find_asymmetry(A), "a symmetric matrix is symmetric to the bit");
    // the signs of zeros in the upper triangle are not written
    for (std::size_t j = 0; j < A.extent(1); ++j)
      for (std::size_t i = 0; i < j; ++i) A(i, j) = A(j, i);
    round_trip(A, Symmetry::Symmetric);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  MatrixMarketMatrix matrix;
  auto const source = source_of(data, size);
  if (!accepted([&] { matrix = detail::read_matrix_market(*source, limits); })) return 0;
  if (auto const* A = std::get_if<CoordinateMatrix>(&matrix)) round_trip(*A);
  dense_round_trips(matrix);
  return 0;
}
