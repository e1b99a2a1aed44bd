// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_WORKSPACE_HPP
#define STRATA_WORKSPACE_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <core/instances/Strata_FenceAtEnd.hpp>
#include <core/instances/Strata_Replay.hpp>
#include <core/memory/Strata_Buffer.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace strata::detail {

/// Memory of one instance for widened operands: a stack of matrices that grows to the largest
/// request.
///
/// An operation states all that it needs with `ensure` and then takes it piece by piece; an
/// operation inside another takes from what is left. Growing, and the end, fence the instance.
template <class Exec>
class Workspace {
 public:
  using Matrix = MatrixRef<typename Exec::memory_space>;

  explicit Workspace(Exec const& exec) : exec_(exec) {}
  ~Workspace() {
    if (buffer_.size() > 0) fence_at_end(exec_, "strata::core::workspace::release");
  }
  Workspace(Workspace const&) = delete;
  Workspace& operator=(Workspace const&) = delete;

  /// Bytes of a rows x cols matrix.
  static std::size_t bytes(Precision precision, std::int64_t rows, std::int64_t cols) {
    auto const count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    return (count * traits(precision).bytes + alignment - 1) / alignment * alignment;
  }

  /// Room for `more` bytes on top of what is taken; only a stack that is empty can grow.
  ///
  /// Throws   MemoryError with the bytes asked for. It is also thrown while the instance's work is
  ///          captured for a replay, when no memory can be had. That happens where the same room
  ///          was refused in the run before and the caller did without.
  void ensure(std::size_t more) {
    if (used_ + more <= buffer_.size()) return;
    STRATA_REQUIRE(MemoryError, used_ == 0, "workspace: ", used_ + more, " bytes needed, ",
                   buffer_.size(), " bytes were asked for at first");
    STRATA_REQUIRE(MemoryError, !is_captured(exec_), "workspace: ", more,
                   " bytes needed, and none can be had while work is captured");
    if (buffer_.size() > 0) exec_.fence("strata::core::workspace::grow");
    buffer_ = {}, unset_ = 0;
    buffer_ = Buffer<Exec>(exec_, "strata::core::workspace", more);
  }

  /// The first bytes of an empty stack whose bits are all 1: as many as somebody left so, since
  /// when nobody took any.
  std::size_t unset() const { return unset_; }
  /// By whoever has the only frame, at its end.
  void leave_unset(std::size_t bytes) { unset_ = bytes; }

  /// The stack from its bottom, for who takes it as a whole.
  std::byte* data() const { return buffer_.data(); }

  /// What was taken since this object was made is given back at its end.
  class Frame {
   public:
    Frame(Workspace& workspace, std::size_t bytes)
        : workspace_(workspace), start_(workspace.used_) {
      workspace.ensure(bytes);
      workspace.unset_ = 0;
    }
    ~Frame() { workspace_.used_ = start_; }
    Frame(Frame const&) = delete;
    Frame& operator=(Frame const&) = delete;

    Matrix take(Precision precision, std::int64_t rows, std::int64_t cols) {
      Matrix const result{workspace_.buffer_.data() + workspace_.used_, rows, cols,
                          rows > 1 ? rows : 1, precision};
      workspace_.used_ += Workspace::bytes(precision, rows, cols);
      return result;
    }

   private:
    Workspace& workspace_;
    std::size_t start_;
  };

 private:
  static constexpr std::size_t alignment = 256;

  Exec exec_;
  Buffer<Exec> buffer_;
  std::size_t used_ = 0, unset_ = 0;
};

}  // namespace strata::detail

#endif
