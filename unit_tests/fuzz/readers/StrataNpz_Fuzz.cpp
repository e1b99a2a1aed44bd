// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "Strata_Fuzz.hpp"
#include <core/io/Strata_Npz.hpp>
#include <core/io/detail/Strata_ZipArchive.hpp>

#include <algorithm>
#include <cmath>

namespace {

using namespace strata;
using namespace strata::fuzz;

void check_sound(CoordinateMatrix const& A) {
  check(A.row.size() == A.value.size() && A.col.size() == A.value.size(), "as many of each");
  for (std::size_t k = 0; k < A.value.size(); ++k)
    check(A.row[k] >= 0 && A.row[k] < A.rows && A.col[k] >= 0 && A.col[k] < A.cols &&
              std::isfinite(A.value[k]),
          "entries lie in the matrix and are finite");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const bytes = detail::placed_bytes("fuzz", reinterpret_cast<char const*>(data), size);
  accepted([&] {
    detail::ZipArchive const archive(bytes);
    auto const header = detail::read_npz_header(archive, limits);
    if (!header.is_sparse) {
      auto const A = detail::read_npz(archive, limits);
      check(static_cast<std::int64_t>(A.values.extent(0)) == header.rows, "the header's rows");
      return;
    }
    auto const A = detail::read_sparse_npz(archive, limits);
    check(A.rows == header.rows && A.cols == header.cols, "the header's extents");
    check_sound(A);
  });
  return 0;
}
