// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "Strata_Fuzz.hpp"
#include <core/io/matrix_file/detail/Strata_ColumnsStream.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace strata;
  using namespace strata::fuzz;
  HostMatrix A;
  auto const source = source_of(data, size);
  if (!accepted([&] { A = detail::read_columns(*source, limits); })) return 0;
  if (A.extent(1) > 2000) return 0;  // its lines may be too long to be read back
  for (char const separator : {',', ' '}) {
    if (separator == ',' && A.extent(1) == 1) continue;
    strata::MemorySink sink;
    detail::write_columns(sink, A, separator);
    strata::MemorySource again("again", sink.bytes.data(), sink.bytes.size());
    check(same(A, detail::read_columns(again, limits)), "columns read back to the same bits");
  }
  return 0;
}
