// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/tree/detail/Strata_SplitCopy.hpp>

#include <core/blas/basics/Strata_Pack.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <dense/tree/Strata_Quantise.hpp>

#include <Kokkos_Core.hpp>

namespace strata::dense::detail {

namespace {

constexpr int at_once = Pack<fp16>::size;          // rows that a thread splits
constexpr int loads = at_once / Pack<fp32>::size;  // of a thread

template <class T>
bool starts_packs(T const* data, std::int64_t step) {
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(Pack<T>) == 0 && step % Pack<T>::size == 0;
}

/// A number as h + l.
struct Halves {
  fp16 high, low;
  KOKKOS_FORCEINLINE_FUNCTION Halves(float x, double to_unit) {
    auto const y = static_cast<float>(to_unit * static_cast<double>(x));
    high = fp16(y);
    low = fp16(y - static_cast<float>(high));
  }
};

/// What numbers are divided by: a scale that is there, or that of a largest magnitude, which is
/// written there.
struct Unit {
  double* scale;
  double const* largest;

  KOKKOS_FORCEINLINE_FUNCTION double reciprocal(bool is_first) const {
    if (largest == nullptr) return 1 / *scale;
    double const found = block_scale(Precision::fp16, *largest);
    if (is_first) *scale = found;
    return 1 / found;
  }
};

/// Where the copies of a number lie: `step` apart, the one of number `low` in L, the others in H.
struct Copies {
  fp16* first;
  std::int64_t ld, step;
  int count, low;
};

// All rows of X, of which eight are a load or two and a store.
template <class ExecutionSpace>
void split_packs(ExecutionSpace const& exec, float const* x, std::int64_t ld, std::int64_t rows,
                 std::int64_t cols, Unit const& unit, Copies const& to) {
  std::int64_t const packs = rows / at_once;
  Kokkos::parallel_for(
      "strata::dense::tree_potrf::split",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, packs * cols),
      KOKKOS_LAMBDA(std::int64_t k) {
        std::int64_t const i = k % packs * at_once, j = k / packs;
        double const to_unit = unit.reciprocal(k == 0);
        Pack<float> in[loads];
        for (int p = 0; p < loads; ++p)
          in[p] = load_pack(x + i + j * ld + std::int64_t{p} * Pack<float>::size);
        Pack<fp16> high, low;
        for (int p = 0; p < loads; ++p)
          for (int q = 0; q < Pack<float>::size; ++q) {
            Halves const halves(in[p].x[q], to_unit);
            high.x[p * Pack<float>::size + q] = halves.high;
            low.x[p * Pack<float>::size + q] = halves.low;
          }
        for (int c = 0; c < to.count; ++c)
          *reinterpret_cast<Pack<fp16>*>(to.first + i + j * to.ld + c * to.step) =
              c == to.low ? low : high;
      });
}

template <class ExecutionSpace>
void split_numbers(ExecutionSpace const& exec, float const* x, std::int64_t ld, std::int64_t rows,
                   std::int64_t cols, Unit const& unit, Copies const& to) {
  Kokkos::parallel_for(
      "strata::dense::tree_potrf::split",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, rows * cols),
      KOKKOS_LAMBDA(std::int64_t k) {
        std::int64_t const i = k % rows, j = k / rows;
        Halves const halves(x[i + j * ld], unit.reciprocal(k == 0));
        for (int c = 0; c < to.count; ++c)
          to.first[i + j * to.ld + c * to.step] = c == to.low ? halves.low : halves.high;
      });
}

}  // namespace

std::size_t split_bytes(std::int64_t rows, std::int64_t cols, SplitParts parts) {
  auto const copy = split_matrix<Kokkos::HostSpace>(nullptr, rows, cols, parts, nullptr);
  return static_cast<std::size_t>(copy.ld * copy.cols) * sizeof(fp16);
}

template <class ExecutionSpace>
void split(ExecutionSpace const& exec,
           ConstMatrixRef<typename ExecutionSpace::memory_space> const& X, SplitParts parts,
           MatrixRef<typename ExecutionSpace::memory_space> const& copy, double const* largest) {
  bool const is_below = parts == SplitParts::Below;
  Copies const to{copy.template as<fp16>(), copy.ld, is_below ? X.rows : copy.ld * X.cols,
                  copies_of(parts), parts == SplitParts::Left ? 0 : 1};
  float const* const x = X.template as<float>();
  bool const has_packs = X.rows % at_once == 0 && starts_packs(x, X.ld) &&
                         starts_packs(to.first, to.ld) && to.step % at_once == 0;
  Unit const unit{const_cast<double*>(copy.scale), largest};
  if (has_packs)
    split_packs(exec, x, X.ld, X.rows, X.cols, unit, to);
  else
    split_numbers(exec, x, X.ld, X.rows, X.cols, unit, to);
}

#define STRATA_INSTANTIATE(Exec)                                                                \
  template void split<Exec>(Exec const&, ConstMatrixRef<Exec::memory_space> const&, SplitParts, \
                            MatrixRef<Exec::memory_space> const&, double const*);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
