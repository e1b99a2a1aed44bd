// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_KEPT_ITERATE_HPP
#define STRATA_SPARSE_DETAIL_KEPT_ITERATE_HPP

#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/krylov/detail/Strata_OuterIteration.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace strata::sparse::detail {

/// An iterate of a cycle that is kept, since residuals of short recurrences may rise again.
template <class Exec>
class KeptIterate {
 public:
  using Wide = Vector<double, typename Exec::memory_space>;

  /// None so far: `norm` is that of the residual that the cycle began with. `room`: for an iterate.
  KeptIterate(Wide const& room, std::int64_t rows, double norm)
      : x_(room), rows_(rows), norm_(norm) {}

  double norm() const { return norm_; }
  /// Keep x, whose residual has that norm. Where the solve estimates errors, what x moved since the
  /// last tells it; of the first nobody knows. Collective.
  void keep(Exec const& exec, OuterIteration<Exec>& outer, Wide const& x, double norm) {
    if (outer.estimates()) {
      auto const sizes = outer.sizes();
      if (sizes_.largest > 0) {
        scale(exec, 1.0, x, outer.step(), rows_);
        add(exec, -1.0, x_, outer.step(), rows_);
        outer.saw(sizes_, sizes);
      }
      sizes_ = sizes;
    }
    scale(exec, 1.0, x, x_, rows_);
    norm_ = norm;
  }
  /// x becomes the one that was kept, if that is better than what the cycle began with, and than x,
  /// of that norm.
  void restore(Exec const& exec, OuterIteration<Exec> const& outer, Wide const& x,
               double norm) const {
    bool const has_kept = norm_ < outer.norm();
    if (has_kept && !(norm <= norm_)) scale(exec, 1.0, x_, x, rows_);
  }

 private:
  Wide x_;
  std::int64_t rows_;
  double norm_;
  typename OuterIteration<Exec>::Sizes sizes_;
};

/// What methods of short recurrences do after each iteration of a cycle.
template <class Exec>
class RecurrenceWatch {
 public:
  using Wide = Vector<double, typename Exec::memory_space>;

  /// `room`: for an iterate. `window`: iterations that must make the residual smaller by
  /// `stall_factor`; 0: none must.
  RecurrenceWatch(Exec const& exec, OuterIteration<Exec>& outer, Wide const& x, Wide const& room,
                  std::int64_t rows, std::int64_t window, double stall_factor)
      : exec_(exec),
        outer_(outer),
        x_(x),
        kept_(room, rows, outer.norm()),
        window_(window),
        stall_factor_(stall_factor),
        least_(outer.norm()),
        before_(outer.norm()) {}

  /// x's residual has that norm, and is in the method's r: whether the cycle is over. Collective.
  bool ends(double norm) {
    constexpr double much_less = 0.1, halved = 0.5;
    outer_.count(norm);
    bool const is_met = norm <= outer_.target() && outer_.meets(norm);
    if (is_met || norm <= much_less * kept_.norm()) kept_.keep(exec_, outer_, x_, norm);
    least_ = std::min(least_, norm);
    if (is_met) return true;
    if (++iterations_ % window_ != 0) return false;
    if (outer_.is_below_rounding() || (outer_.is_extra() && least_ > halved * before_)) return true;
    bool const has_stalled = stall_factor_ > 0 && least_ > stall_factor_ * before_;
    if (has_stalled) status_ = KrylovStatus::Stalled;
    before_ = least_;
    return has_stalled;
  }
  /// The cycle is over with a residual of that norm: why before its time, if so.
  std::optional<KrylovStatus> leave(double norm) {
    kept_.restore(exec_, outer_, x_, norm);
    return status_;
  }

 private:
  Exec const& exec_;
  OuterIteration<Exec>& outer_;
  Wide x_;
  KeptIterate<Exec> kept_;
  std::int64_t window_, iterations_ = 0;
  double stall_factor_, least_, before_;
  std::optional<KrylovStatus> status_;
};

}  // namespace strata::sparse::detail

#endif
