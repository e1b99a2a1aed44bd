// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_HALO_HPP
#define STRATA_SPARSE_HALO_HPP

#include <comm/Strata_HaloPattern.hpp>
#include <comm/Strata_Transport.hpp>
#include <sparse/comm/Strata_Communicator.hpp>
#include <sparse/formats/Strata_EllMatrix.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace strata::sparse {

/// Tell the owners which of their rows this rank needs. Collective.
///
/// `first_row` holds the first global row of each rank and the end; `halo` the global rows needed,
/// ascending.
/// Throws   ValueError on all ranks if a row is outside the matrix or the rank's own.
HaloPattern discover_halo(Communicator const& comm, std::vector<std::int64_t> const& first_row,
                          std::vector<std::int64_t> const& halo);

/// Fills the last entries of a vector, its halo, with values of other ranks.
///
/// Between `start` and `finish` work on rows that neither read nor are the halo may be enqueued on
/// `exec` and runs beside the exchange. It may overwrite what is being sent. One exchange at a
/// time; used by one host thread. Throws ShapeError for an x without room for the halo.
template <class Exec>
class Halo {
 public:
  using MemorySpace = typename Exec::memory_space;  ///< memory of the vectors

  Halo();
  /// `new_row` gives each row of the pattern its row in the vectors. Fences `exec`.
  Halo(Exec const& exec, Communicator const& comm, HaloPattern const& pattern,
       Vector<std::int32_t, MemorySpace> const& new_row, Link<Exec> const& link);

  /// Whether any value comes or goes here.
  bool active() const;

  /// Pack what `exec` has computed so far. Sync: enqueued; on a host the messages are on their way.
  template <class Scalar>
  void start(Exec const& exec, Vector<Scalar, MemorySpace> const& x) const;
  /// Work enqueued on `exec` from now on finds the halo of x filled. Sync: waits for the messages,
  /// not for `exec`; for neither if they are enqueued.
  template <class Scalar>
  void finish(Exec const& exec, Vector<Scalar, MemorySpace> const& x) const;
  /// The same with nothing beside it: on `exec` itself, which must be the instance of the exchanges
  /// before and after, or be fenced between them. Sync: waits for `exec` and for the messages; for
  /// neither if they are enqueued.
  template <class Scalar>
  void fill(Exec const& exec, Vector<Scalar, MemorySpace> const& x) const;

 private:
  struct Exchange;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace strata::sparse

#endif
