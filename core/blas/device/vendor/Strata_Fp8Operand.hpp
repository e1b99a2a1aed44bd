// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FP8_OPERAND_HPP
#define STRATA_FP8_OPERAND_HPP

#include <core/blas/device/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/device/vendor/Strata_PackOperand.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::vendor {

constexpr std::int64_t fp8_unit = 16;  // bytes: pointers, leading dimensions, columns: multiples

inline bool is_fp8_aligned(void const* data, std::int64_t ld_bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % fp8_unit == 0 && ld_bytes % fp8_unit == 0;
}

/// One FP8 operand as a library's matrix units want it: k x cols, with zeros as padding. It is the
/// caller's own operand, or a packed copy whose bytes are recoded on the way.
template <class ExecutionSpace>
struct Fp8Operand {
  using ConstMatrix = ConstMatrixRef<typename ExecutionSpace::memory_space>;

  Fp8Operand(ConstMatrix const& source, Op op, std::int64_t k, std::int64_t cols,
             Recoding recoding = Recoding::None)
      : source(source), op(op), recoding(recoding), k(k), cols(cols) {
    direct = op == Op::NoTrans && source.rows == k && source.cols == cols &&
             recoding == Recoding::None && is_fp8_aligned(source.data, source.ld);
    ld = direct ? source.ld : k;
  }
  std::size_t bytes() const {
    if (direct) return 0;
    return static_cast<std::size_t>(round_up(k * cols, DeviceBuffer<ExecutionSpace>::alignment));
  }
  /// The operand's data, `room` being where a copy goes; advances `room`.
  void const* pack(ExecutionSpace const& exec, char*& room) const {
    if (direct) return source.data;
    auto* const packed = reinterpret_cast<std::uint8_t*>(room);
    pack_bytes(exec, op, source, packed, k, cols, recoding);
    room += bytes();
    return packed;
  }

  ConstMatrix source;
  Op op;
  Recoding recoding;
  std::int64_t k, cols, ld;
  bool direct;
};

}  // namespace strata::vendor

#endif
