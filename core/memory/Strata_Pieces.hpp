// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PIECES_HPP
#define STRATA_PIECES_HPP

#include <core/memory/Strata_Buffer.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>

namespace strata {

/// Views side by side in one allocation. An allocation costs a host a microsecond and a device
/// many, once to make it and once to free it.
///
/// A function that lays out each View is called twice, see `allocate_pieces`: a first pass counts
/// the bytes, a second one sets the Views.
class Pieces {
 public:
  static constexpr std::size_t alignment =
      128;  ///< alignment of each piece, where the memory has it: a device's cache line

  /// The pass that counts.
  Pieces() = default;
  /// The pass that sets Views in this memory.
  explicit Pieces(std::byte* memory) : memory_(memory), is_counting_(false) {}

  /// view = View(extents...), without values, in memory that is not its own. The pass that counts
  /// leaves it as it is.
  template <class View, class... Extent>
  void lay_out(View& view, Extent... extents) {
    if (!is_counting_)
      view = View(reinterpret_cast<typename View::pointer_type>(memory_ + bytes_),
                  static_cast<std::size_t>(extents)...);
    std::size_t const bytes = View::required_allocation_size(static_cast<std::size_t>(extents)...);
    bytes_ += (bytes + alignment - 1) / alignment * alignment;
  }

  /// Bytes of all pieces so far.
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_ = nullptr;
  bool is_counting_ = true;
  std::size_t bytes_ = 0;
};

/// Memory for all Views that `lay_out_all(pieces)` lays out, which do not outlive it, and have no
/// values yet.
///
/// Result   their bytes. Where there is no memory, the Views are as they were.
/// Throws   MemoryError with the label and the bytes.
template <class ExecutionSpace, class LayOutAll>
Buffer<ExecutionSpace> allocate_pieces(ExecutionSpace const& exec, std::string const& label,
                                       LayOutAll const& lay_out_all) {
  Pieces counted;
  lay_out_all(counted);
  Buffer<ExecutionSpace> const memory(exec, label, counted.bytes());
  Pieces pieces(memory.data());
  lay_out_all(pieces);
  return memory;
}

/// The same in host memory that is pinned for a device, or of another kind.
template <class HostSpace, class LayOutAll>
Kokkos::View<std::byte*, HostSpace> allocate_pieces_on_host(std::string const& label,
                                                            LayOutAll const& lay_out_all) {
  Pieces counted;
  lay_out_all(counted);
  auto const memory = allocate_on_host<Kokkos::View<std::byte*, HostSpace>>(label, counted.bytes());
  Pieces pieces(memory.data());
  lay_out_all(pieces);
  return memory;
}

}  // namespace strata

#endif
