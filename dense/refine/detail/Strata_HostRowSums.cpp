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

/// Eight numbers, in vectors of so many bytes.
template <int bytes>
struct Eight {
  typedef double Vector __attribute__((vector_size(bytes)));
  typedef std::int64_t Bits __attribute__((vector_size(bytes)));
  static constexpr int width = bytes / 8, count = static_cast<int>(lanes) / width;
  Vector part[count] = {};

  STRATA_INLINE void load(double const* x) { std::memcpy(part, x, sizeof(part)); }
  STRATA_INLINE void store(double* x) const { std::memcpy(x, part, sizeof(part)); }
  STRATA_INLINE void load_magnitudes(double const* x) {
    Bits bits[count];
    std::memcpy(bits, x, sizeof(bits));
    for (auto& vector : bits) vector &= 0x7fffffffffffffff;  // the sign is 0
    std::memcpy(part, bits, sizeof(bits));
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
  Eight<bytes> sum, scaled_sum, value, row, d;
  std::int64_t i = 0;
  for (; i + lanes <= c.rows; i += lanes) {
    value.load_magnitudes(c.a + i);
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
  }
  double parts[lanes], scaled_parts[lanes];
  sum.store(parts);
  scaled_sum.store(scaled_parts);
  for (; i < c.rows; ++i) {
    double const x = std::abs(c.a[i]);
    parts[0] += x;
    of_rows[i] += x;
    if constexpr (is_scaled) {
      scaled_parts[0] += x * c.d[i];
      scaled_of_rows[i] += x * c.d_j;
    }
  }
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    sums[0] += parts[lane];
    if constexpr (is_scaled) sums[1] += scaled_parts[lane];
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
