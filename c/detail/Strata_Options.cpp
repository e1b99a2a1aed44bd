// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c/detail/Strata_Options.hpp>

#include <c/detail/Strata_Call.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::c::detail {

namespace {

dense::Refine refine_of(int refinement) {
  switch (refinement) {
    case STRATA_REFINE_AUTOMATIC:
      return dense::Refine::Automatic;
    case STRATA_REFINE_NONE:
      return dense::Refine::None;
    case STRATA_REFINE_CLASSICAL:
      return dense::Refine::Classical;
    case STRATA_REFINE_CG:
      return dense::Refine::Cg;
    case STRATA_REFINE_GMRES:
      return dense::Refine::Gmres;
  }
  throw ValueError(
      strata::detail::message("options: refinement is ", refinement, ", must be 0 to 4"));
}

int as_int(std::int64_t value, char const* name) {
  STRATA_REQUIRE(ValueError, value >= 0 && value <= std::numeric_limits<int>::max(),
                 "options: ", name, " is ", value, ", must be in [0, 2147483647]");
  return static_cast<int>(value);
}

}  // namespace

Choices choices(strata_options const* options) {
  Choices result;
  if (options == nullptr) return result;
  strata_options o{};
  std::size_t const size = options->struct_size;
  STRATA_REQUIRE(ValueError, size >= sizeof(std::size_t) && size <= sizeof o,
                 "options: struct_size is ", size, ", must be set to sizeof(strata_options), ",
                 sizeof o);
  std::memcpy(&o, options, size);
  if (o.layers != nullptr) result.layers = dense::LayerList::parse(o.layers);
  STRATA_REQUIRE(ValueError, o.leaf_size >= 0, "options: leaf_size is ", o.leaf_size,
                 ", must be >= 1, or 0 for automatic");
  STRATA_REQUIRE(ValueError, o.shift >= 0 && o.shift <= 1, "options: shift is ", o.shift,
                 ", must be in [0, 1]");
  STRATA_REQUIRE(ValueError, o.tolerance >= 0 && std::isfinite(o.tolerance),
                 "options: tolerance is ", o.tolerance, ", must be finite and >= 0");
  result.cholesky.leaf_size = o.leaf_size;
  result.cholesky.shift = o.shift;
  result.cholesky.equilibrate = o.no_equilibration == 0;
  result.cholesky.ladder = o.no_ladder == 0;
  result.cholesky.jitter = o.jitter != 0;
  result.refinement.refine = refine_of(o.refinement);
  result.refinement.tolerance = o.tolerance;
  result.refinement.max_iterations = as_int(o.max_iterations, "max_iterations");
  if (o.restart != 0) result.refinement.restart = as_int(o.restart, "restart");
  return result;
}

std::optional<Uplo> uplo_of(char letter) {
  if (letter == 'L' || letter == 'l') return Uplo::Lower;
  if (letter == 'U' || letter == 'u') return Uplo::Upper;
  return std::nullopt;
}

void require_matrix(char const* name, void const* data, std::int64_t rows, std::int64_t cols,
                    std::int64_t ld, std::size_t bytes, int position, int ld_position) {
  require_argument(ld >= std::max<std::int64_t>(1, rows), ld_position, "the leading dimension of ",
                   name, " is ", ld, ", must be at least max(1, ", rows, ")");
  std::int64_t const most =
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(bytes);
  require_argument(cols == 0 || ld <= most / cols, ld_position, name, " of ", cols, " columns ", ld,
                   " numbers apart is larger than memory can be addressed");
  require_argument(data != nullptr || rows == 0 || cols == 0, position, name, " is a null pointer");
}

}  // namespace strata::c::detail
