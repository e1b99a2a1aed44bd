// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/detail/Strata_FormattedProduct.hpp>

#include <core/blas/basics/Strata_LargestMagnitude.hpp>
#include <core/blas/basics/detail/Strata_Elementwise.hpp>
#include <core/blas/portable/detail/Strata_TrsmByHalves.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <algorithm>

namespace strata::detail {
namespace {

constexpr std::int64_t sum_edge = 4096;   // of the sums that are not made in the result
constexpr std::int64_t syrk_limit = 512;  // a block on the diagonal is formed whole
constexpr std::int64_t unit = 8;          // fp16 numbers that matrix units load at once
constexpr double low_weight = 0x1p-11;    // of L

constexpr std::int64_t padded(std::int64_t n) { return (n + unit - 1) / unit * unit; }

/// Bytes of the copy of an operand's block in either format.
constexpr std::size_t room_bytes(std::int64_t extent, std::int64_t depth) {
  auto const numbers = static_cast<std::size_t>(padded(extent) * padded(depth));
  return (numbers * sizeof(float) + 255) / 256 * 256;
}

// To 11 bits, ties to even, the largest finite numbers down; infinities and NaN stay.
KOKKOS_INLINE_FUNCTION float rounded_to_tf32(float x) {
  auto const bits = Kokkos::bit_cast<std::uint32_t>(x);
  std::uint32_t const magnitude = bits & 0x7fffffffu, infinity = 0x7f800000u, step = 0x2000u;
  std::uint32_t nearest = (magnitude + 0xfffu + ((magnitude >> 13) & 1u)) & ~(step - 1);
  if (nearest >= infinity) nearest = infinity - step;
  return magnitude < infinity ? Kokkos::bit_cast<float>((bits & 0x80000000u) | nearest) : x;
}

/// Blocks of an operand as they lie in it and in their copy.
template <class T>
struct Blocks {
  float const* source;
  std::int64_t rows, cols, ld, stride;
  T* copy;
  std::int64_t copy_rows, copy_cols, copy_ld, copy_stride;  // rows and columns beyond are zeros
};

// f(number, position in the copy) for all numbers of all blocks.
template <class Exec, class T, class Function>
void for_each_number(char const* label, Exec const& exec, Blocks<T> const& b, std::int64_t count,
                     Function const& f) {
  for_each_element(
      label, exec, b.copy_rows, b.copy_cols * count,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t column) {
        std::int64_t const block = column / b.copy_cols, j = column % b.copy_cols;
        bool const inside = i < b.rows && j < b.cols;
        f(inside ? b.source[block * b.stride + i + j * b.ld] : 0.0f,
          b.copy + block * b.copy_stride + i + j * b.copy_ld);
      });
}

template <class Exec>
void round_blocks(Exec const& exec, Blocks<float> const& blocks, std::int64_t count) {
  for_each_number(
      "strata::core::gemm::round_to_tf32", exec, blocks, count,
      KOKKOS_LAMBDA(float x, float* position) { *position = rounded_to_tf32(x); });
}

// From the largest magnitude: s times the operand's scale, and 1 / s.
template <class Exec>
void choose_scale(Exec const& exec, double const* operand_scale, double* numbers) {
  Kokkos::parallel_for(
      "strata::core::gemm::split_scale", Kokkos::RangePolicy<Exec>(exec, 0, 1), KOKKOS_LAMBDA(int) {
        double const s = scale_below(numbers[0], 15, 65504);
        numbers[1] = s * (operand_scale ? *operand_scale : 1.0);
        numbers[2] = 1 / s;
      });
}

// H and L lie `high` and `low` after a number's position in the copy.
template <class Exec>
void split_blocks(Exec const& exec, Blocks<fp16> const& blocks, std::int64_t count,
                  std::int64_t high, std::int64_t low, double const* reciprocal) {
  for_each_number(
      "strata::core::gemm::split", exec, blocks, count, KOKKOS_LAMBDA(float x, fp16* position) {
        auto const y = static_cast<float>(*reciprocal * static_cast<double>(x));
        fp16 const h(y);
        position[high] = h;
        position[low] = fp16((y - static_cast<float>(h)) * 2048.0f);
      });
}

}  // namespace

template <class Exec>
void FormattedProduct<Exec>::reserve(std::int64_t m, std::int64_t n, std::int64_t k) {
  auto const bytes = [&](std::int64_t extent) {  // twice, for the padding of a batch's blocks
    return std::min(room_bytes(most_extent, most_depth),
                    2 * room_bytes(std::min(extent, most_extent), std::min(k, most_depth)));
  };
  operands_.ensure(bytes(m) + bytes(n));
  (void)numbers(false);
}

template <class Exec>
double* FormattedProduct<Exec>::numbers(bool is_right) {
  if (numbers_.data() == nullptr)
    numbers_ = allocate_zeros<decltype(numbers_)>(exec_, "strata::core::gemm::split");
  return numbers_.data() + (is_right ? 3 : 0);
}

template <class Exec>
void FormattedProduct<Exec>::gemm(LeafBlas<Exec>& blas, Op op_a, Op op_b, double alpha,
                                  ConstMatrix const& A, ConstMatrix const& B, double beta,
                                  Matrix const& C, Batch const& batch) {
  if (C.precision == Precision::fp32) return add(blas, op_a, op_b, alpha, A, B, beta, C, batch);
  bool const normal_a = op_a == Op::NoTrans, normal_b = op_b == Op::NoTrans;
  std::int64_t const mb = std::min(C.rows, sum_edge), nb = std::min(C.cols, sum_edge);
  Frame frame(result_, Workspace<Exec>::bytes(Precision::fp32, mb, nb));
  Matrix const room = frame.take(Precision::fp32, mb, nb);
  for (std::int64_t item = 0; item < batch.count; ++item) {
    ConstMatrix const Ai = A.shifted(item * batch.stride_a), Bi = B.shifted(item * batch.stride_b);
    Matrix const Ci = C.shifted(item * batch.stride_c);
    for (std::int64_t j = 0; j < C.cols; j += nb) {
      for (std::int64_t i = 0; i < C.rows; i += mb) {
        std::int64_t const m = std::min(mb, C.rows - i), n = std::min(nb, C.cols - j);
        ConstMatrix const left = normal_a ? Ai.block(i, 0, m, A.cols) : Ai.block(0, i, A.rows, m);
        ConstMatrix const right = normal_b ? Bi.block(0, j, B.rows, n) : Bi.block(j, 0, n, B.cols);
        Matrix const sum = room.block(0, 0, m, n);
        add(blas, op_a, op_b, 1, left.without_scale(), right.without_scale(), 0, sum, {});
        combine(exec_, Part::Full, {alpha, A.scale, B.scale}, sum, beta, Ci.block(i, j, m, n));
      }
    }
  }
}

// Multiplies into fp32, by blocks of the operands. The blocks of B are copied once.
template <class Exec>
void FormattedProduct<Exec>::add(LeafBlas<Exec>& blas, Op op_a, Op op_b, double alpha,
                                 ConstMatrix const& A, ConstMatrix const& B, double beta,
                                 Matrix const& C, Batch const& batch) {
  bool const normal_a = op_a == Op::NoTrans, normal_b = op_b == Op::NoTrans;
  std::int64_t const k = normal_a ? A.cols : A.rows;
  std::int64_t const mb = std::min(C.rows, most_extent), nb = std::min(C.cols, most_extent),
                     kb = std::min(k, most_depth);
  std::size_t const bytes_a = room_bytes(mb, kb), bytes_b = room_bytes(nb, kb);
  auto const fitting =
      static_cast<std::int64_t>(room_bytes(most_extent, most_depth) / std::max(bytes_a, bytes_b));
  std::int64_t const together = std::clamp<std::int64_t>(fitting, 1, batch.count);
  auto const copies = static_cast<std::size_t>(together);
  operands_.ensure(copies * (bytes_a + bytes_b));
  std::byte *const room_a = operands_.data(), *const room_b = room_a + copies * bytes_a;

  for (std::int64_t item = 0; item < batch.count; item += together) {
    std::int64_t const count = std::min(together, batch.count - item);
    ConstMatrix const Ai = A.shifted(item * batch.stride_a), Bi = B.shifted(item * batch.stride_b);
    Matrix const Ci = C.shifted(item * batch.stride_c);
    for (std::int64_t j = 0; j < C.cols; j += nb) {
      std::int64_t const n = std::min(nb, C.cols - j);
      for (std::int64_t p = 0; p < k; p += kb) {
        std::int64_t const depth = std::min(kb, k - p);
        ConstMatrix const right = normal_b ? Bi.block(p, j, depth, n) : Bi.block(j, p, n, depth);
        Operand const b = prepare(right, true, !normal_b, count, batch.stride_b, room_b);
        for (std::int64_t i = 0; i < C.rows; i += mb) {
          std::int64_t const m = std::min(mb, C.rows - i);
          ConstMatrix const left = normal_a ? Ai.block(i, p, m, depth) : Ai.block(p, i, depth, m);
          Operand const a = prepare(left, false, normal_a, count, batch.stride_a, room_a);
          Matrix const sum = Ci.block(i, j, m, n);
          Batch const blocks{count, a.stride, b.stride, batch.stride_c};
          double const old = p == 0 ? beta : 1;
          if (A.precision == Precision::fp16_split) {
            blas.gemm(op_a, op_b, alpha, a.first, b.second, old, sum, blocks);  // H_A H_B
            blas.gemm(op_a, op_b, low_weight * alpha, a.all, b.all, 1, sum, blocks);
          } else {
            blas.gemm(op_a, op_b, alpha, a.all, b.all, old, sum, blocks);
          }
        }
      }
    }
  }
}

template <class Exec>
auto FormattedProduct<Exec>::prepare(ConstMatrix const& A, bool is_right, bool depth_in_columns,
                                     std::int64_t count, std::int64_t stride, std::byte* room)
    -> Operand {
  if (A.precision == Precision::fp16_split)
    return split(A, is_right, depth_in_columns, count, stride, room);
  std::int64_t const ld = padded(A.rows);
  Matrix const copy{room, A.rows, A.cols, ld, Precision::fp32, A.scale};
  round_blocks(exec_,
               {A.template as<float>(), A.rows, A.cols, A.ld, stride, copy.template as<float>(),
                A.rows, A.cols, ld, ld * A.cols},
               count);
  return {{}, {}, copy, ld * A.cols};
}

// The depth is padded with zeros to whole loads.
template <class Exec>
auto FormattedProduct<Exec>::split(ConstMatrix const& A, bool is_right, bool depth_in_columns,
                                   std::int64_t count, std::int64_t stride, std::byte* room)
    -> Operand {
  double* const numbers = this->numbers(is_right);
  Kokkos::View<double, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const
      largest(numbers);
  Kokkos::deep_copy(exec_, largest, 0.0);
  largest_magnitude<float>("strata::core::gemm::largest", exec_, A, count, stride, numbers);
  choose_scale(exec_, A.scale, numbers);

  std::int64_t const depth = padded(depth_in_columns ? A.cols : A.rows);
  std::int64_t const rows = depth_in_columns ? A.rows : depth,
                     cols = depth_in_columns ? depth : A.cols;
  std::int64_t const ld = depth_in_columns ? padded(rows) : 2 * depth;
  std::int64_t const second = depth_in_columns ? ld * depth : depth;  // position of the second part
  Matrix const part{room, rows, cols, ld, Precision::fp16, numbers + 1};
  Operand operand{part, part.shifted(second), part, ld * (depth_in_columns ? 2 * cols : cols)};
  (depth_in_columns ? operand.all.cols : operand.all.rows) = 2 * depth;
  split_blocks(exec_,
               {A.template as<float>(), A.rows, A.cols, A.ld, stride, part.template as<fp16>(),
                rows, cols, ld, operand.stride},
               count, is_right ? second : 0, is_right ? 0 : second, numbers + 2);
  return operand;
}

template <class Exec>
void FormattedProduct<Exec>::syrk(LeafBlas<Exec>& blas, Uplo uplo, Op op, double alpha,
                                  ConstMatrix const& A, double beta, Matrix const& C) {
  std::int64_t const n = C.rows;
  if (n <= syrk_limit) {
    Frame frame(result_, Workspace<Exec>::bytes(Precision::fp32, n, n));
    Matrix const whole = frame.take(Precision::fp32, n, n);
    blas.gemm(op, transposed(op), 1, A.without_scale(), A.without_scale(), 0, whole);
    return combine(exec_, part_of(uplo), {alpha, A.scale, A.scale}, whole, beta, C);
  }
  std::int64_t const n1 = half_of(n, syrk_limit), n2 = n - n1;
  bool const normal = op == Op::NoTrans, lower = uplo == Uplo::Lower;
  ConstMatrix const A1 = normal ? A.block(0, 0, n1, A.cols) : A.block(0, 0, A.rows, n1);
  ConstMatrix const A2 = normal ? A.block(n1, 0, n2, A.cols) : A.block(0, n1, A.rows, n2);
  Matrix const off_diagonal = lower ? C.block(n1, 0, n2, n1) : C.block(0, n1, n1, n2);
  syrk(blas, uplo, op, alpha, A1, beta, C.block(0, 0, n1, n1));
  blas.gemm(op, transposed(op), alpha, lower ? A2 : A1, lower ? A1 : A2, beta, off_diagonal);
  syrk(blas, uplo, op, alpha, A2, beta, C.block(n1, n1, n2, n2));
}

#define STRATA_INSTANTIATE(Space) template class FormattedProduct<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::detail
