// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/integers/Strata_IntegerBlas.hpp>

#include <core/integers/detail/Strata_IntegerProbe.hpp>
#include <core/integers/detail/Strata_Moduli.hpp>
#include <core/integers/detail/Strata_ResidueKernels.hpp>
#include <core/integers/vendor/Strata_VendorInt8.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <core/memory/detail/Strata_Workspace.hpp>

#include <map>
#include <mutex>

namespace strata {
namespace {

void require_moduli(int moduli) {
  STRATA_REQUIRE(ValueError, moduli >= least_moduli && moduli <= most_moduli,
                 "integer products: there are ", moduli, " moduli, must be ", least_moduli, " to ",
                 most_moduli);
}

}  // namespace

double largest_integer_sum(int moduli) {
  require_moduli(moduli);
  return detail::largest_squares(detail::moduli_table(moduli));
}

template <class Exec>
struct IntegerBlas<Exec>::Impl {
  Impl(Exec const& space, bool asks_library)
      : exec(space), library(space), room(space), asks(asks_library && !runs_on_host<Exec>) {}

  // A product of extents that are padded already.
  bool by_library(Planes const& A, Planes const& B, Sums const& C, bool accumulate) {
    return asks && library({A.data, B.data, C.data, padded(C.rows), padded(C.cols), padded(A.depth),
                            A.ld, B.ld, C.ld, A.plane, B.plane, C.plane, C.moduli, accumulate});
  }
  void product(Planes const& A, Planes const& B, Sums const& C, bool accumulate) {
    if (!by_library(A, B, C, accumulate)) detail::multiply_residues(exec, A, B, C, accumulate);
  }
  // Of the device, on which it is found out once.
  bool is_exact() {
    static std::mutex finding_out;
    static std::map<int, bool>& known = *new std::map<int, bool>;  // static destructors may need it
    std::lock_guard const lock(finding_out);
    auto const [entry, is_new] = known.try_emplace(library.device(), true);
    if (is_new)
      entry->second = detail::is_exact_on_device(
          exec, [this](auto const&... arguments) { product(arguments...); });
    return entry->second;
  }

  Exec exec;
  vendor::Int8Gemm<Exec> library;
  detail::Workspace<Exec> room;  // of rows' sizes
  bool asks, has_probed = false;
};

template <class Exec>
IntegerBlas<Exec>::IntegerBlas(Exec const& exec, bool library)
    : impl_(std::make_unique<Impl>(exec, library)) {}
template <class Exec>
IntegerBlas<Exec>::~IntegerBlas() = default;
template <class Exec>
IntegerBlas<Exec>::IntegerBlas(IntegerBlas&&) noexcept = default;
template <class Exec>
IntegerBlas<Exec>& IntegerBlas<Exec>::operator=(IntegerBlas&&) noexcept = default;

template <class Exec>
void IntegerBlas<Exec>::bound_units(ConstMatrix const& H, int moduli, RowUnit* units) {
  require_moduli(moduli);
  detail::bound_units(impl_->exec, detail::Strided::of(H, Op::NoTrans), moduli, units);
}

template <class Exec>
void IntegerBlas<Exec>::bound_units(double const* diagonal, std::int64_t n, int moduli,
                                    RowUnit* units) {
  require_moduli(moduli);
  detail::bound_units(impl_->exec, {diagonal, n, 1, 1, 0}, moduli, units);
}

template <class Exec>
void IntegerBlas<Exec>::measure_units(ConstMatrix const& A, Op op, int moduli, RowUnit* units) {
  require_moduli(moduli);
  auto const rows = detail::Strided::of(A, op);
  if (rows.rows == 0) return;
  impl_->room.ensure(static_cast<std::size_t>(rows.rows) * sizeof(detail::RowSize));
  detail::measure_units(impl_->exec, rows, moduli,
                        reinterpret_cast<detail::RowSize*>(impl_->room.data()), units);
}

template <class Exec>
void IntegerBlas<Exec>::residues(ConstMatrix const& A, Op op, RowUnit const* units,
                                 Planes const& planes, RowCheck const& check) {
  require_moduli(planes.moduli);
  auto const rows = detail::Strided::of(A, op);
  STRATA_REQUIRE(ShapeError, rows.rows == planes.rows && rows.cols == planes.depth,
                 "residues: A is ", rows.rows, " x ", rows.cols, ", the planes ", planes.rows,
                 " x ", planes.depth);
  if (rows.rows == 0 || rows.cols == 0) return;
  detail::residues(impl_->exec, rows, units, planes, check);
}

template <class Exec>
void IntegerBlas<Exec>::multiply(Planes const& A, Planes const& B, Sums& C, bool accumulate) {
  STRATA_REQUIRE(ShapeError,
                 A.rows == C.rows && B.rows == C.cols && A.depth == B.depth &&
                     A.moduli >= C.moduli && B.moduli >= C.moduli && A.depth <= most_depth,
                 "integer product: A is ", A.rows, " x ", A.depth, " of ", A.moduli,
                 " moduli, B is ", B.rows, " x ", B.depth, " of ", B.moduli, ", C ", C.rows, " x ",
                 C.cols, " of ", C.moduli, "; at most ", most_depth, " terms at a time");
  require_moduli(C.moduli);
  if (C.rows == 0 || C.cols == 0) return;
  if (impl_->asks && !impl_->has_probed) {
    impl_->has_probed = true;
    impl_->asks = impl_->is_exact();
  }
  if (accumulate && C.depth + A.depth > most_depth) {
    detail::reduce_sums(impl_->exec, C);
    C.depth = 0;
  }
  impl_->product(A, B, C, accumulate);
  C.depth = (accumulate ? C.depth : 0) + A.depth;
}

template <class Exec>
void IntegerBlas<Exec>::combine(Sums const& X, RowUnit const* rows, RowUnit const* cols,
                                SumScaling const& scaling, Matrix const& C) {
  require_moduli(X.moduli);
  STRATA_REQUIRE(ShapeError, X.rows == C.rows && X.cols == C.cols, "combine: the sums are ", X.rows,
                 " x ", X.cols, ", C ", C.rows, " x ", C.cols);
  if (C.rows == 0 || C.cols == 0) return;
  detail::combine_sums(impl_->exec, X, rows, cols, scaling, C);
}

template <class Exec>
bool IntegerBlas<Exec>::is_exact() {
  return impl_->is_exact();
}

#define STRATA_INSTANTIATE(Space) template class IntegerBlas<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata
