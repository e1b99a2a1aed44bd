// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/refine/detail/Strata_HostRowSums.hpp>

#include <core/kokkos_ext/Strata_HostVectors.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace strata::dense::detail {

namespace {

constexpr std::int64_t lanes = 8;
// From element k on, a mask of the last k numbers of eight.
constexpr std::int64_t last_of_eight[2 * lanes] = {0,  0,  0,  0,  0,  0,  0,  0,
                                                   -1, -1, -1, -1, -1, -1, -1, -1};

/// Eight numbers, in vectors of so many bytes.
template <int bytes>
struct Eight {
  typedef double Vector __attribute__((vector_size(bytes)));
  typedef std::int64_t Bits __attribute__((vector_size(bytes)));
  static constexpr int width = bytes / 8, count = static_cast<int>(lanes) / width;
  Vector part[count];

  STRATA_INLINE Eight() {  // no initialiser: nvcc 13.0 ends at one with an internal error
    for (int v = 0; v < count; ++v) part[v] = Vector{};
  }
  STRATA_INLINE void load(double const* x) { std::memcpy(part, x, sizeof(part)); }
  STRATA_INLINE void store(double* x) const { std::memcpy(x, part, sizeof(part)); }
  /// |x|, or 0 where the mask is 0.
  STRATA_INLINE void load_magnitudes(double const* x, std::int64_t const* mask) {
    Bits bits[count], kept[count];
    std::memcpy(bits, x, sizeof(bits));
    std::memcpy(kept, mask, sizeof(kept));
    for (int v = 0; v < count; ++v) bits[v] &= kept[v] & 0x7fffffffffffffff;  // the sign is 0
    std::memcpy(part, bits, sizeof(bits));
  }
  STRATA_INLINE double sum() const {
    double x[lanes];
    store(x);
    for (std::int64_t half = lanes / 2; half > 0; half /= 2)
      for (std::int64_t lane = 0; lane < half; ++lane) x[lane] += x[lane + half];
    return x[0];
  }
  STRATA_INLINE void add(Eight const& other) {
    for (int v = 0; v < count; ++v) part[v] += other.part[v];
  }
  STRATA_INLINE void add_product(Eight const& x, Eight const& y) {
    for (int v = 0; v < count; ++v) part[v] += x.part[v] * y.part[v];
  }
  STRATA_INLINE void add_multiple(Eight const& x, double factor) {
    for (int v = 0; v < count; ++v) part[v] += x.part[v] * factor;
  }
};

template <int bytes, bool is_scaled>
STRATA_INLINE void add_part(ColumnPart const& c, double* of_rows, double* scaled_of_rows,
                            double* sums) {
  Eight<bytes> sum, scaled_sum;
  auto const add_eight = [&](std::int64_t i, std::int64_t const* mask) STRATA_INLINE_LAMBDA {
    Eight<bytes> value, row, d;
    value.load_magnitudes(c.a + i, mask);
    sum.add(value);
    row.load(of_rows + i);
    row.add(value);
    row.store(of_rows + i);
    if constexpr (is_scaled) {
      d.load(c.d + i);
      scaled_sum.add_product(value, d);
      row.load(scaled_of_rows + i);
      row.add_multiple(value, c.d_j);
      row.store(scaled_of_rows + i);
    }
  };
  std::int64_t i = 0;
  for (; i + lanes <= c.rows; i += lanes) add_eight(i, last_of_eight + lanes);
  if (i > 0 && i < c.rows) {
    add_eight(c.rows - lanes, last_of_eight + (c.rows - i));
    i = c.rows;
  }
  sums[0] += sum.sum();
  if constexpr (is_scaled) sums[1] += scaled_sum.sum();
  for (; i < c.rows; ++i) {
    double const x = std::abs(c.a[i]);
    sums[0] += x;
    of_rows[i] += x;
    if constexpr (is_scaled) {
      sums[1] += x * c.d[i];
      scaled_of_rows[i] += x * c.d_j;
    }
  }
}

template <int bytes>
STRATA_INLINE void add(ColumnPart const& part, double* of_rows, double* scaled_of_rows,
                       double* sums) {
  if (part.d != nullptr)
    add_part<bytes, true>(part, of_rows, scaled_of_rows, sums);
  else
    add_part<bytes, false>(part, of_rows, scaled_of_rows, sums);
}

void add_16(ColumnPart const& part, double* of_rows, double* scaled_of_rows, double* sums) {
  add<16>(part, of_rows, scaled_of_rows, sums);
}
STRATA_VECTORS_OF_32 void add_32(ColumnPart const& part, double* of_rows, double* scaled_of_rows,
                                 double* sums) {
  add<32>(part, of_rows, scaled_of_rows, sums);
}
STRATA_VECTORS_OF_64 void add_64(ColumnPart const& part, double* of_rows, double* scaled_of_rows,
                                 double* sums) {
  add<64>(part, of_rows, scaled_of_rows, sums);
}

}  // namespace

AddColumnPart* add_column_part(int most_bytes) {
  return of_vectors(host_vector_bytes(most_bytes), add_16, add_32, add_64);
}

}  // namespace strata::dense::detail
