// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "Strata_Fuzz.hpp"
#include <core/io/detail/Strata_CsvStream.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace strata;
  using namespace strata::fuzz;
  Stations s;
  auto const source = source_of(data, size);
  if (!accepted([&] { s = detail::read_stations(*source, limits); })) return 0;
  strata::MemorySink sink;
  detail::write_stations(sink, s);
  strata::MemorySource again("again", sink.bytes.data(), sink.bytes.size());
  auto const t = detail::read_stations(again, limits);
  check(s.geographic == t.geographic, "the kind of coordinates reads back");
  check(same(s.x, t.x) && same(s.y, t.y) && same(s.value, t.value),
        "stations read back to the same bits");
  return 0;
}
