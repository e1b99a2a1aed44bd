// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_MATRIX_OPTIONS_HPP
#define STRATA_SPARSE_MATRIX_OPTIONS_HPP

#include <comm/Strata_Transport.hpp>
#include <core/Strata_EnumNames.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace strata::sparse {

/// Which rows may be swept at once.
enum class ColouringMethod {
  JonesPlassmannLuby,  ///< smallest free colour, rows in random order: few rounds
  Greedy,  ///< smallest free colour in row order: the eight parities of a 27-point stencil
  Levels,  ///< the wavefronts of the row order: a sweep is the sequential one's, to the bit
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(ColouringMethod) {
  return enum_names<ColouringMethod>("colouring", {{ColouringMethod::JonesPlassmannLuby, "jpl"},
                                                   {ColouringMethod::Greedy, "greedy"},
                                                   {ColouringMethod::Levels, "lexicographic"}});
}
using strata::name_of;

/// The order of a sweep: the blocks' order, the opposite one, or the one and then the other.
enum class Sweep {
  Forward,    ///< the order of the blocks
  Backward,   ///< the opposite order
  Symmetric,  ///< forward, then backward
};

/// How the columns of a slice of rows are stored, from the fewest bytes to the most.
enum class Columns : std::uint8_t {
  Shared,  ///< distances from the diagonal that all rows of the slice share
  Narrow,  ///< 16 bits for each entry, counted from the slice's first column
  Wide,    ///< 32 bits for each entry
};

/// The order of a rank's rows in memory.
enum class RowOrder {
  Natural,  ///< the caller's, which costs nothing; on several ranks Sweep
  Sweep,    ///< the order of colours, for Gauss-Seidel; rows that need no other rank come first
};

/// How a DistributedMatrix orders its rows, stores its columns and sends its halo.
struct MatrixOptions {
  RowOrder order = RowOrder::Natural;  ///< order of the rows
  /// How rows are ordered for sweeps.
  ColouringMethod colouring = ColouringMethod::JonesPlassmannLuby;
  std::uint64_t seed = 0;         ///< seed of random orders
  std::vector<int> colour_order;  ///< empty: alternating_order; ascending for Levels
  /// How many colours' rows may be swept while the halo is under way; none: chosen. Hosts take all,
  /// as a launch costs nothing there. Devices take as many colours of a large matrix as take longer
  /// than the halo: two, or one where a device enqueues the messages. 0 keeps a hierarchy's
  /// restrictions from starting before the halo is there, too.
  std::optional<int> free_colours;
  Columns columns = Columns::Shared;           ///< the most compact form of columns that is tried
  Transport transport = Transport::Automatic;  ///< how the halo travels
  /// Called on each rank after each step of the assembly with the part that is done, 0 to 1, as if
  /// the steps took what they take for a 27-point stencil.
  std::function<void(double)> on_progress = {};
};

}  // namespace strata::sparse

#endif
