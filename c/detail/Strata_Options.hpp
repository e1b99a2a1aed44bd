// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_OPTIONS_HPP
#define STRATA_C_OPTIONS_HPP

#include <c/strata.h>
#include <core/Strata_MatrixRef.hpp>
#include <dense/Strata_Cholesky.hpp>

#include <cstdint>
#include <cstring>
#include <optional>

namespace strata::c::detail {

/// A caller's options, in the library's terms.
struct Choices {
  std::optional<dense::LayerList> layers;
  dense::CholeskyOptions cholesky;
  dense::RefinementOptions refinement;
};

/// Throws   ValueError for a struct_size that is no strata_options, or a value out of range.
Choices choices(strata_options const* options);

/// *to = from as far as the caller's struct reaches, whose size it keeps.
///
/// Throws   ValueError if its struct_size is not set.
template <class Report>
void give(Report from, Report* to) {
  std::size_t const size = to->struct_size;
  STRATA_REQUIRE(ValueError, size >= sizeof(std::size_t) && size <= sizeof(Report),
                 "the report's struct_size is ", size, ", must be set to its sizeof, ",
                 sizeof(Report));
  from.struct_size = size;
  std::memcpy(to, &from, size);
}

/// Fail early what `give` would fail, before there is anything to report.
template <class Report>
void require_report(Report* to) {
  if (to != nullptr) give(*to, to);
}

/// 'L', 'l', 'U' or 'u'; nothing for others.
std::optional<Uplo> uplo_of(char letter);

/// Throws   WrongArgument with `position` unless `cols` columns of `rows` numbers, `ld` apart, can
///          be addressed. That needs ld >= max(1, rows), and a pointer that is not null where there
///          are elements.
void require_matrix(char const* name, void const* data, std::int64_t rows, std::int64_t cols,
                    std::int64_t ld, std::size_t bytes, int position, int ld_position);

}  // namespace strata::c::detail

#endif
