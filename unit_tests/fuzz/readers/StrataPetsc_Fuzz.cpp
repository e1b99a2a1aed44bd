// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "Strata_Fuzz.hpp"
#include <core/io/Strata_PetscMatrix.hpp>

#include <cmath>

namespace {

using namespace strata;
using namespace strata::fuzz;

strata::MemorySource from(std::uint8_t const* data, std::size_t size) {
  return strata::MemorySource("fuzz", reinterpret_cast<char const*>(data), size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  accepted([&] {
    auto source = from(data, size);
    auto const A = detail::read_petsc_matrix(source, limits);
    check(A.value.size() * 12 <= size, "the entries come from the file");
    for (std::size_t k = 0; k < A.value.size(); ++k)
      check(A.row[k] >= 0 && A.row[k] < A.rows && A.col[k] >= 0 && A.col[k] < A.cols &&
                std::isfinite(A.value[k]),
            "entries lie in the matrix and are finite");
  });
  accepted([&] {
    auto source = from(data, size);
    auto const x = detail::read_petsc_vector(source, limits);
    check(x.extent(0) * 8 <= size, "the numbers come from the file");
  });
  return 0;
}
