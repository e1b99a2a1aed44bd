// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/refine/detail/Strata_HostRowSums.hpp>

#include <core/Strata_Backends.hpp>
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

/// Numbers in vectors of so many bytes.
template <int bytes>
struct Vectors {
  typedef double Vector __attribute__((vector_size(bytes)));
  typedef std::int64_t Bits __attribute__((vector_size(bytes)));
  static constexpr int width = bytes / 8, count = static_cast<int>(lanes) / width;  // of eight

  // Into a reference: compilers warn of vectors that are returned where the processor at hand may
  // have none so wide.
  STRATA_INLINE static void load(double const* x, Vector& vector) {
    std::memcpy(&vector, x, sizeof(vector));
  }
  STRATA_INLINE static void store(Vector const& vector, double* x) {
    std::memcpy(x, &vector, sizeof(vector));
  }
  /// |x|, or 0 where there is a mask that is 0.
  STRATA_INLINE static void load_magnitude(double const* x, std::int64_t const* mask,
                                           Vector& vector) {
    Bits bits;
    std::memcpy(&bits, x, sizeof(bits));
    bits &= 0x7fffffffffffffff;  // the sign is 0
    if (mask != nullptr) {
      Bits kept;
      std::memcpy(&kept, mask, sizeof(kept));
      bits &= kept;
    }
    std::memcpy(&vector, &bits, sizeof(bits));
  }
};

/// Eight partial sums.
template <int bytes>
struct Eight {
  using V = Vectors<bytes>;
  typename V::Vector part[V::count];

  STRATA_INLINE Eight() {  // no initialiser: nvcc 13.0 ends at one with an internal error
    for (int v = 0; v < V::count; ++v) part[v] = typename V::Vector{};
  }
  STRATA_INLINE double sum() const {
    double x[lanes];
    for (int v = 0; v < V::count; ++v) V::store(part[v], x + v * V::width);
    for (std::int64_t half = lanes / 2; half > 0; half /= 2)
      for (std::int64_t lane = 0; lane < half; ++lane) x[lane] += x[lane + half];
    return x[0];
  }
};

// Vector by vector of rows, so that what a row needs stays in few registers.
template <int bytes, bool is_scaled, int columns>
STRATA_INLINE void add_columns(ColumnsPart const& part, double* of_rows, double* scaled_of_rows,
                               double* sums) {
  using V = Vectors<bytes>;
  using Vector = typename V::Vector;
  Eight<bytes> plain[columns], scaled[columns];
  auto const add_eight = [&](std::int64_t first, std::int64_t const* mask) STRATA_INLINE_LAMBDA {
    STRATA_UNROLL_HOST(4)
    for (int v = 0; v < V::count; ++v) {
      std::int64_t const i = first + v * V::width;
      Vector row, scaled_row, d;
      V::load(of_rows + i, row);
      if constexpr (is_scaled) {
        V::load(scaled_of_rows + i, scaled_row);
        V::load(part.d + i, d);
      }
      STRATA_UNROLL_HOST(4)
      for (int c = 0; c < columns; ++c) {
        Vector value;
        V::load_magnitude(part.a + i + c * part.ld, mask != nullptr ? mask + v * V::width : nullptr,
                          value);
        plain[c].part[v] += value;
        row += value;
        if constexpr (is_scaled) {
          scaled[c].part[v] += value * d;
          scaled_row += value * part.d_j[c];
        }
      }
      V::store(row, of_rows + i);
      if constexpr (is_scaled) V::store(scaled_row, scaled_of_rows + i);
    }
  };
  std::int64_t i = 0;
  for (; i + lanes <= part.rows; i += lanes) add_eight(i, nullptr);
  if (i > 0 && i < part.rows) {
    add_eight(part.rows - lanes, last_of_eight + (part.rows - i));
    i = part.rows;
  }
  for (int c = 0; c < columns; ++c) {
    double const* const a = part.a + c * part.ld;
    double total = sums[2 * c] + plain[c].sum(), scaled_total = 0;
    if constexpr (is_scaled) scaled_total = sums[2 * c + 1] + scaled[c].sum();
    for (std::int64_t k = i; k < part.rows; ++k) {
      double const x = std::abs(a[k]);
      total += x;
      of_rows[k] += x;
      if constexpr (is_scaled) {
        scaled_total += x * part.d[k];
        scaled_of_rows[k] += x * part.d_j[c];
      }
    }
    sums[2 * c] = total;
    if constexpr (is_scaled) sums[2 * c + 1] = scaled_total;
  }
}

// So many columns at a time that all sums stay in registers: sixteen, or 32 of 64 bytes.
template <int bytes, bool is_scaled>
STRATA_INLINE void add_in_turns(ColumnsPart part, double* of_rows, double* scaled_of_rows,
                                double* sums) {
  constexpr int together = bytes >= 64 ? 4 : bytes >= 32 ? 2 : 1;
  auto const add = [&]<int columns>() STRATA_INLINE_LAMBDA {
    add_columns<bytes, is_scaled, columns>(part, of_rows, scaled_of_rows, sums);
    part.a += columns * part.ld;
    if constexpr (is_scaled) part.d_j += columns;
    part.columns -= columns;
    sums += 2 * columns;
  };
  while (part.columns >= together) add.template operator()<together>();
  while (part.columns > 0) add.template operator()<1>();
}

template <int bytes>
STRATA_INLINE void add(ColumnsPart const& part, double* of_rows, double* scaled_of_rows,
                       double* sums) {
  if (part.d != nullptr)
    add_in_turns<bytes, true>(part, of_rows, scaled_of_rows, sums);
  else
    add_in_turns<bytes, false>(part, of_rows, scaled_of_rows, sums);
}

void add_16(ColumnsPart const& part, double* of_rows, double* scaled_of_rows, double* sums) {
  add<16>(part, of_rows, scaled_of_rows, sums);
}
STRATA_VECTORS_OF_32 void add_32(ColumnsPart const& part, double* of_rows, double* scaled_of_rows,
                                 double* sums) {
  add<32>(part, of_rows, scaled_of_rows, sums);
}
STRATA_VECTORS_OF_64 void add_64(ColumnsPart const& part, double* of_rows, double* scaled_of_rows,
                                 double* sums) {
  add<64>(part, of_rows, scaled_of_rows, sums);
}

}  // namespace

AddColumnsPart* add_columns_part(int most_bytes) {
  return of_vectors(host_vector_bytes(most_bytes), add_16, add_32, add_64);
}

}  // namespace strata::dense::detail
