// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FUZZ_HPP
#define STRATA_FUZZ_HPP

#include <core/Strata_Errors.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <core/io/files/Strata_ByteSink.hpp>
#include <core/io/files/Strata_ByteSource.hpp>

#include <Kokkos_Core.hpp>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace strata::fuzz {

// What a file may cost: its results, beside its own bytes, must fit this.
inline ReadOptions const limits{.max_bytes = 8 << 20, .max_gz_ratio = 200};

/// Start Kokkos once, silently.
inline void initialize() {
  Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
  std::atexit([] { Kokkos::finalize(); });
}

/// The bytes as a reader would get them from a file.
inline std::unique_ptr<strata::ByteSource> source_of(std::uint8_t const* data, std::size_t size) {
  auto const bytes = reinterpret_cast<char const*>(data);
  auto source = std::make_unique<strata::MemorySource>("fuzz", bytes, size);
  if (!strata::is_gzip(bytes, size)) return source;
  return std::make_unique<strata::InflateSource>(std::move(source), limits.max_gz_ratio);
}

/// A property that does not hold is a crash.
inline void check(bool holds, char const* property) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", property);
  std::abort();
}

inline bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

inline bool same(std::vector<double> const& a, std::vector<double> const& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!same(a[k], b[k])) return false;
  return true;
}

inline bool same(ConstHostMatrix const& A, ConstHostMatrix const& B) {
  if (A.extent(0) != B.extent(0) || A.extent(1) != B.extent(1)) return false;
  for (std::size_t k = 0; k < A.size(); ++k)
    if (!same(A.data()[k], B.data()[k])) return false;
  return true;
}

/// A refused file must be refused by an Error with one line of text; anything else escapes and is a
/// crash.
template <class Action>
bool accepted(Action const& action) {
  try {
    action();
    return true;
  } catch (Error const& error) {
    std::string const text = error.what();
    check(!text.empty() && text.size() < 400 && text.find('\n') == std::string::npos,
          "one clear line");
    return false;
  }
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  strata::fuzz::initialize();
  return 0;
}

#endif
