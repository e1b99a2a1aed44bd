// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_ROW_BLOCK_HPP
#define STRATA_SPARSE_DETAIL_ROW_BLOCK_HPP

#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/formats/Strata_EllKernels.hpp>
#include <sparse/formats/detail/Strata_Extents.hpp>

#include <string>
#include <type_traits>

// How the rows of a matrix are dealt out to a device's threads or a host's vectors, and read.
namespace strata::sparse::detail {

using strata::runs_on_host;

/// An entry in the type that is calculated with. In fp8 there are only exact entries, no NaN
/// (`DistributedMatrix`): on a device sign, exponent and mantissa go where fp32 has them, and an
/// exact product rebases the exponent. It needs fp32's subnormals.
template <class Scalar, class Value>
KOKKOS_FORCEINLINE_FUNCTION Scalar widened(Value value) {
  if constexpr (std::is_same_v<Value, fp8_e4m3>) {
    KOKKOS_IF_ON_DEVICE((std::int32_t const bits = Kokkos::bit_cast<std::int8_t>(value);
                         auto const moved = static_cast<std::uint32_t>(bits << 20) & 0x87f00000u;
                         return static_cast<Scalar>(Kokkos::bit_cast<float>(moved) * 0x1p120f);))
    KOKKOS_IF_ON_HOST((return static_cast<Scalar>(value);))
  } else {
    return static_cast<Scalar>(value);
  }
}

/// The rows that one work item takes. On a device it is one row, and neighbouring threads take
/// neighbouring rows. On a host they are the rows of one slice, so that its inner loops are
/// contiguous.
template <class Exec>
inline constexpr int item_rows = runs_on_host<Exec> ? 32 : 1;

/// Consecutive rows of one slice. Items are counted from the slice in which the range begins, so
/// that neighbouring threads take a slice; those before the range are empty. A device's thread has
/// `Ahead` entries on their way before it needs the first.
template <int Rows, int Ahead = 9>
struct RowBlock {
  static constexpr int slice_rows = 32;
  std::int64_t row;
  int count;

  KOKKOS_FUNCTION explicit RowBlock(std::int64_t only_row) : row(only_row), count(1) {}
  KOKKOS_FUNCTION RowBlock(RowRange range, std::int64_t item) {
    std::int64_t const begin = range.begin / slice_rows * slice_rows + item * Rows,
                       end = begin + Rows < range.end ? begin + Rows : range.end;
    row = begin > range.begin ? begin : range.begin;
    count = static_cast<int>(end - row);
  }
  /// Rows of a block that is not empty. A device's compiler knows the number, so that sums stay in
  /// registers.
  KOKKOS_FUNCTION int size() const {
    if constexpr (Rows == 1)
      return 1;
    else
      return count;
  }
  KOKKOS_FUNCTION static std::int64_t items(RowRange range) {
    if (range.size() <= 0) return 0;
    return (range.end - range.begin / slice_rows * slice_rows + Rows - 1) / Rows;
  }

  /// kernel.add(r, distance, value, x[row + r + distance]) for each entry of each row + r, at that
  /// distance from the diagonal, a row's entries in order. Where the kernel is one for lower
  /// entries, entries above the diagonal may be left out. On a host, where all rows share a slot's
  /// distance, kernel.add_chosen takes the entries of the leading kernel.rows_of(distance, count)
  /// rows. Else, for a cleared x in fp32, kernel.add_factor takes them, whose loop is one over
  /// vectors. In fp64 two lanes gain less than the copies cost.
  template <class Value, class Index, class Space, class Scalar, class Kernel>
  KOKKOS_FUNCTION void for_each_entry(EllMatrix<Value, Index, Space> const& A, Scalar const* x,
                                      Kernel& kernel) const {
    auto const own = A.row(row);
    auto const first = static_cast<Index>(row);
    Index const* KOKKOS_RESTRICT columns = A.columns() + own.first;
    for_each_slot(
        {own.width, own.width}, A.values() + own.first, own.stride, x + row,
        [&](int k, int r) { return columns[k * own.stride + r] - first - r; }, kernel);
  }
  template <class Value, class Space, class Scalar, class Kernel>
  KOKKOS_FUNCTION void for_each_entry(SlicedEllMatrix<Value, Space> const& A, Scalar const* x,
                                      Kernel& kernel) const {
    EllSlice const slice = A.slice(row / slice_rows);
    std::int64_t const lane = row % slice_rows;
    auto const whole = static_cast<int>(slice.width);
    Slots const slots{Kernel::is_lower ? slice.lower : whole, whole};
    Value const* const values = A.values() + slice.values + lane;
    auto const first = static_cast<std::int32_t>(row);
    switch (static_cast<Columns>(slice.kind)) {
      case Columns::Shared: {
        SharedDistances const distances{A.numbers() + slice.columns};
        return for_each_slot(slots, values, slice_rows, x + row, distances, kernel);
      }
      case Columns::Narrow: {
        std::uint16_t const* KOKKOS_RESTRICT narrow = A.narrow() + slice.columns + lane;
        std::int32_t const base = slice.base - first;
        return for_each_slot(
            slots, values, slice_rows, x + row,
            [&](int k, int r) { return base + narrow[k * slice_rows + r] - r; }, kernel);
      }
      case Columns::Wide: {
        std::int32_t const* KOKKOS_RESTRICT columns = A.numbers() + slice.columns + lane;
        return for_each_slot(
            slots, values, slice_rows, x + row,
            [&](int k, int r) { return columns[k * slice_rows + r] - first - r; }, kernel);
      }
    }
  }

 private:
  /// How many of a row's slots are read, and how many there are.
  struct Slots {
    int width, whole;
  };
  /// One for each slot, whatever the row.
  struct SharedDistances {
    std::int32_t const* KOKKOS_RESTRICT of_slot;
    KOKKOS_FUNCTION std::int32_t operator()(int k, int) const { return of_slot[k]; }
  };

  template <class Value, class Stride, class Scalar, class Distance, class Kernel>
  KOKKOS_FUNCTION void for_each_slot(Slots slots, Value const* KOKKOS_RESTRICT values,
                                     Stride stride, Scalar const* x, Distance const& distance,
                                     Kernel& kernel) const {
    int const width = slots.width;
    [[maybe_unused]] constexpr bool has_factors =
        Kernel::is_cleared && sizeof(Scalar) == sizeof(std::uint32_t);
    if constexpr (Rows == 1) {
      int begin = 0;
      for (; begin + Ahead <= width; begin += Ahead)
        add_slots<false>(begin, width, values, stride, x, distance, kernel);
      if (begin < width) add_slots<true>(begin, width, values, stride, x, distance, kernel);
    } else {
      for (int k = 0; k < width; ++k) {
        prefetch(values, stride, slots, k);
        if constexpr (Kernel::is_lower && std::is_same_v<Distance, SharedDistances>) {
          std::int32_t const at = distance(k, 0);
          for_each_row(kernel.rows_of(at, count), [&](int r) {
            kernel.add_chosen(r, at, widened<Scalar>(values[k * stride + r]), x[r + at]);
          });
        } else if constexpr (has_factors) {
          Scalar factor[Rows];
          std::uint32_t own[Rows];
          for_each_row(count, [&](int r) {
            auto const at = distance(k, r);
            factor[r] = x[r + at];
            own[r] = at == 0 ? ~0U : 0U;
          });
          for_each_row(count, [&](int r) {
            kernel.add_factor(r, own[r], widened<Scalar>(values[k * stride + r]), factor[r]);
          });
        } else {
          for_each_row(count, [&](int r) {
            auto const at = distance(k, r);
            kernel.add(r, at, widened<Scalar>(values[k * stride + r]), x[r + at]);
          });
        }
      }
    }
  }

  // Nearly all blocks are whole: their loop has a length that is known.
  template <class Add>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_row(int rows, Add const& add) {
    if (rows == Rows) {
      for (int r = 0; r < Rows; ++r) add(r);
    } else {
      for (int r = 0; r < rows; ++r) add(r);
    }
  }

  // A host's own prefetchers follow this one stream at less than the rate of its memory. What a
  // slice's sweep skips is not fetched either, as if the next slices were alike.
  template <class Value, class Stride>
  KOKKOS_FUNCTION static void prefetch(Value const* values, Stride stride, Slots slots, int k) {
    constexpr int line = 64, bytes = Rows * int(sizeof(Value)), ahead = 64 * line / bytes;
    int const read = k + ahead, width = slots.width,
              later = width == slots.whole ? read : read / width * slots.whole + read % width;
    [[maybe_unused]] auto const* const first =
        reinterpret_cast<char const*>(values + later * stride);
    for (int byte = 0; byte < bytes; byte += line)
      KOKKOS_IF_ON_HOST((__builtin_prefetch(first + byte);))
  }

  // Loads without a branch wait together, and a slot that doesn't exist is read from the first one.
  template <bool Partial, class Value, class Stride, class Scalar, class Distance, class Kernel>
  KOKKOS_FUNCTION void add_slots(int begin, int width, Value const* KOKKOS_RESTRICT values,
                                 Stride stride, Scalar const* x, Distance const& distance,
                                 Kernel& kernel) const {
    std::int32_t distances[Ahead];
    Value entries[Ahead];
    Scalar factors[Ahead];
    auto const exists = [&](int u) { return !Partial || begin + u < width; };
    auto const number = [&](int u) { return exists(u) ? begin + u : begin; };
    for (int u = 0; u < Ahead; ++u) entries[u] = values[number(u) * stride];
    for (int u = 0; u < Ahead; ++u) distances[u] = distance(number(u), 0);
    for (int u = 0; u < Ahead; ++u) factors[u] = x[distances[u]];
    for (int u = 0; u < Ahead; ++u)
      if (exists(u)) kernel.add(0, distances[u], widened<Scalar>(entries[u]), factors[u]);
  }
};

// In a large launch a device runs so many threads at once that the loads of some hide the latency
// of others'. These are as many as keep what is on its way in registers. In a small launch each
// thread has a whole row on its way.
constexpr int crowd = 256;
template <class Scalar>
using Crowded = Kokkos::LaunchBounds<crowd, sizeof(Scalar) == 4 ? 5 : 4>;
constexpr int whole_row = 27, half_row = 14;  // of a 27-point stencil

/// Whether a device's launch of so many items is large.
inline bool is_large(std::int64_t items) { return items >= std::int64_t{1} << 18; }

/// Runs a kernel's items on a device, in teams of neighbours that share what they read.
template <class Exec, class Kernel>
struct InTeams {
  using Policy = Kokkos::TeamPolicy<Exec, typename Kernel::Bounds>;
  using Member = typename Policy::member_type;
  Kernel kernel;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    kernel(std::int64_t(team.league_rank()) * team.team_size() + team.team_rank());
  }
};

template <class Exec, class Kernel>
void launch_items(std::string const& label, Exec const& exec, std::int64_t items,
                  Kernel const& kernel) {
  if (items <= 0) return;
  if constexpr (runs_on_host<Exec>) {
    Kokkos::parallel_for(label, detail::RowPolicy<Exec>(exec, 0, items), kernel);
  } else {
    // Small launches are spread over the device.
    int const threads = is_large(items) ? crowd : 64;
    auto const teams = static_cast<int>((items + threads - 1) / threads);
    using Kernels = InTeams<Exec, Kernel>;
    Kokkos::parallel_for(label, typename Kernels::Policy(exec, teams, threads), Kernels{kernel});
  }
}

template <class Exec, class Kernel>
void launch(std::string const& label, Exec const& exec, RowRange range, Kernel const& kernel) {
  launch_items(label, exec, RowBlock<item_rows<Exec>>::items(range), kernel);
}

// STRATA_INSTANTIATE_SCALARS(Space, Matrix) for each matrix that kernels take; a type's name
// without a comma.
template <class Value>
struct StoredAs {
  template <class Space>
  using Ell = EllMatrix<Value, std::int32_t, typename Space::memory_space>;
  template <class Space>
  using Compressed = SlicedEllMatrix<Value, typename Space::memory_space>;
};
#define STRATA_INSTANTIATE_VALUE(Space, Value)                           \
  STRATA_INSTANTIATE_SCALARS(Space, detail::StoredAs<Value>::Ell<Space>) \
  STRATA_INSTANTIATE_SCALARS(Space, detail::StoredAs<Value>::Compressed<Space>)
#define STRATA_FOR_EACH_STORED_MATRIX(Space) \
  STRATA_INSTANTIATE_VALUE(Space, fp64)      \
  STRATA_INSTANTIATE_VALUE(Space, fp32)      \
  STRATA_INSTANTIATE_VALUE(Space, bf16)      \
  STRATA_INSTANTIATE_VALUE(Space, fp16)      \
  STRATA_INSTANTIATE_SCALARS(Space, detail::StoredAs<fp8_e4m3>::Compressed<Space>)

}  // namespace strata::sparse::detail

#endif
