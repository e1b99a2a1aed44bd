// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "Strata_Fuzz.hpp"
#include <core/io/detail/Strata_NpyStream.hpp>

namespace {

using namespace strata;
using namespace strata::fuzz;

void round_trip(NpyMatrix const& A, NpyOrder order) {
  strata::MemorySink sink;
  detail::write_npy(sink, A.values, {.order = order, .rank = A.header.rank});
  strata::MemorySource source("again", sink.bytes.data(), sink.bytes.size());
  auto const B = detail::read_npy(source, limits);
  check(B.header.rank == A.header.rank && B.header.fortran_order == (order == NpyOrder::Fortran),
        "rank and order read back");
  check(same(A.values, B.values), "an array reads back to the same bits");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  NpyMatrix A;
  strata::MemorySource source("fuzz", reinterpret_cast<char const*>(data), size);
  if (!accepted([&] { A = detail::read_npy(source, limits); })) return 0;
  check(A.values.size() * 4 <= size, "the elements come from the file");
  round_trip(A, NpyOrder::C);
  round_trip(A, NpyOrder::Fortran);
  return 0;
}
