// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/incomplete/Strata_IncompleteFactor.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/detail/Strata_Extents.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/incomplete/detail/Strata_TriangularSweeps.hpp>
#include <sparse/matrix/Strata_DistributedMatrix.hpp>
#include <sparse/matrix/Strata_MatrixProperties.hpp>

#include <variant>

namespace strata::sparse {
namespace {

template <class Exec, class Value>
struct Sweeps {
  detail::TriangularSweep<Exec, Value> forward, backward;

  Sweeps() = default;
  Sweeps(Exec const& exec, detail::HostFactor const& factor)
      : forward(exec, factor.L, true), backward(exec, factor.U, false) {}
};

/// Both sweeps, which all that refer to the factors share.
template <class Exec>
using AnySweeps = std::variant<Sweeps<Exec, fp32>, Sweeps<Exec, fp64>>;

template <class Exec, class Rows, class Vec>
void gather(Exec const& exec, Rows const& new_row, Vec const& r, Vec const& y) {
  Kokkos::parallel_for(
      "strata::sparse::IncompleteFactor::gather",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(y.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) = r(new_row(i)); });
}

template <class Exec, class Rows, class Vec>
void scatter(Exec const& exec, Rows const& new_row, Vec const& y, Vec const& z) {
  Kokkos::parallel_for(
      "strata::sparse::IncompleteFactor::scatter",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(y.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { z(new_row(i)) = y(i); });
}

template <class Exec, class Vec>
void copy_rows(Exec const& exec, Vec const& r, Vec const& z, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::IncompleteFactor::copy", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { z(i) = r(i); });
}

void require_options(IncompleteKind kind, int fill, Precision precision,
                     DiagonalKind const& diagonal, std::int64_t rows) {
  constexpr int most_fill = 20;
  STRATA_REQUIRE(ValueError, fill >= 0 && fill <= most_fill, "incomplete factor: fill ", fill,
                 " must be 0 to ", most_fill);
  STRATA_REQUIRE(ValueError, precision == Precision::fp32 || precision == Precision::fp64,
                 "incomplete factors are stored in fp64 or fp32, not in ", traits(precision).name);
  bool const is_positive = diagonal.first < 0;
  STRATA_REQUIRE(ValueError, kind == IncompleteKind::Lu || is_positive,
                 "incomplete Cholesky needs a positive diagonal; the first entry that is not is ",
                 diagonal.first + 1, " of ", rows);
}

}  // namespace

template <class Exec, class Scalar>
struct IncompleteFactor<Exec, Scalar>::Impl {
  using Vec = Vector<Scalar, MemorySpace>;

  std::int64_t rows = 0;
  IncompleteReport report;
  std::shared_ptr<AnySweeps<Exec> const> sweeps;
  Vector<LaneOf<Scalar>, MemorySpace> inverse;  // of D
  Vec work;                                     // in the caller's order; empty: vectors have that
  Vector<std::int32_t, MemorySpace> new_row;
  bool owns_factors = true;

  void solve(Exec const& exec, Vec const& x) const {
    std::visit(
        [&](auto const& both) {
          both.forward.solve(exec, decltype(inverse)(), x);
          both.backward.solve(exec, inverse, x);
        },
        *sweeps);
  }
};

template <class Exec, class Scalar>
IncompleteFactor<Exec, Scalar>::IncompleteFactor(Exec const& exec, DistributedMatrix<Exec> const& A,
                                                 IncompleteKind kind, int fill, Precision precision)
    : IncompleteFactor(exec, A, nullptr, kind, fill, precision) {}
template <class Exec, class Scalar>
IncompleteFactor<Exec, Scalar>::IncompleteFactor(Exec const& exec, DistributedMatrix<Exec> const& A,
                                                 detail::HostCsr const& block, IncompleteKind kind,
                                                 int fill, Precision precision)
    : IncompleteFactor(exec, A, &block, kind, fill, precision) {}

template <class Exec, class Scalar>
IncompleteFactor<Exec, Scalar>::IncompleteFactor(Exec const& exec, DistributedMatrix<Exec> const& A,
                                                 detail::HostCsr const* block, IncompleteKind kind,
                                                 int fill, Precision precision)
    : impl_("IncompleteFactor") {
  Region const region(exec, "strata::sparse::IncompleteFactor::set_up");
  auto const& comm = A.comm();
  auto const diagonal = kind_of_diagonal(exec, A);
  auto const own = std::make_shared<Impl>();
  double numbers[2] = {};
  double shift = 0;
  comm.agree([&] {
    require_options(kind, fill, precision, diagonal, A.global_rows());
    auto const made = block ? detail::HostCsr() : detail::own_block(exec, A);
    auto const& rows = block ? *block : made;
    auto const factor = kind == IncompleteKind::Cholesky ? detail::incomplete_cholesky(rows, fill)
                                                         : detail::incomplete_lu(rows, fill);
    own->rows = A.rows();
    if (precision == Precision::fp64)
      own->sweeps = std::make_shared<AnySweeps<Exec> const>(Sweeps<Exec, fp64>(exec, factor));
    else
      own->sweeps = std::make_shared<AnySweeps<Exec> const>(Sweeps<Exec, fp32>(exec, factor));
    std::vector<Scalar> const inverse(factor.inverse.begin(), factor.inverse.end());
    own->inverse = detail::to_device(exec, "strata::sparse::IncompleteFactor::inverse", inverse);
    if (!A.order().is_natural) {
      own->new_row = A.order().new_row;
      own->work = strata::allocate<typename Impl::Vec>(
          exec, "strata::sparse::IncompleteFactor::work", A.rows());
    }
    numbers[0] = static_cast<double>(factor.L.entries() + factor.U.entries() + A.rows());
    numbers[1] = static_cast<double>(factor.replaced);
    shift = factor.shift;
  });
  comm.sum(numbers);
  own->report = {fill, static_cast<std::int64_t>(numbers[0]), comm.max(shift),
                 static_cast<std::int64_t>(numbers[1])};
  impl_ = Pimpl<Impl const, std::shared_ptr<Impl const>>("IncompleteFactor", own);
}

template <class Exec, class Scalar>
IncompleteFactor<Exec, Scalar>::IncompleteFactor(Exec const& exec,
                                                 IncompleteFactor<Exec, fp64> const& other)
    : impl_("IncompleteFactor") {
  auto const& source = *other.impl_;
  auto const own = std::make_shared<Impl>();
  auto const wide = detail::to_host(exec, source.inverse);
  std::vector<LaneOf<Scalar>> const inverse(wide.begin(), wide.end());
  own->rows = source.rows;
  own->report = source.report;
  own->sweeps = source.sweeps;
  own->inverse = detail::to_device(exec, "strata::sparse::IncompleteFactor::inverse", inverse);
  own->new_row = source.new_row;
  if (source.new_row.extent(0) > 0)
    own->work = strata::allocate<typename Impl::Vec>(exec, "strata::sparse::IncompleteFactor::work",
                                                     source.rows);
  own->owns_factors = false;
  impl_ = Pimpl<Impl const, std::shared_ptr<Impl const>>("IncompleteFactor", own);
}

template <class Exec, class Scalar>
IncompleteReport const& IncompleteFactor<Exec, Scalar>::report() const {
  return impl_->report;
}

template <class Exec, class Scalar>
std::int64_t IncompleteFactor<Exec, Scalar>::bytes() const {
  auto const& own = *impl_;
  auto const vectors = static_cast<std::int64_t>(own.inverse.extent(0) * sizeof(LaneOf<Scalar>) +
                                                 own.work.extent(0) * sizeof(Scalar));
  if (!own.owns_factors) return vectors;
  return vectors +
         std::visit([](auto const& both) { return both.forward.bytes() + both.backward.bytes(); },
                    *own.sweeps);
}

template <class Exec, class Scalar>
void IncompleteFactor<Exec, Scalar>::apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                                           Vector<Scalar, MemorySpace> const& z) const {
  Region const region(exec, "strata::sparse::IncompleteFactor::apply");
  auto const& own = *impl_;
  detail::require_entries("incomplete factor", "r", r, own.rows);
  detail::require_entries("incomplete factor", "z", z, own.rows);
  if (own.work.extent(0) == 0) {
    copy_rows(exec, r, z, own.rows);
    return own.solve(exec, z);
  }
  gather(exec, own.new_row, r, own.work);
  own.solve(exec, own.work);
  scatter(exec, own.new_row, own.work, z);
}

#define STRATA_INSTANTIATE_FACTOR_ABREAST(Space, Number)                         \
  template IncompleteFactor<Space, Abreast<Number>>::IncompleteFactor(           \
      Space const&, IncompleteFactor<Space, fp64> const&);                       \
  template std::int64_t IncompleteFactor<Space, Abreast<Number>>::bytes() const; \
  template void IncompleteFactor<Space, Abreast<Number>>::apply(                 \
      Space const&, Vector<Abreast<Number>, Space::memory_space> const&,         \
      Vector<Abreast<Number>, Space::memory_space> const&) const;
#define STRATA_INSTANTIATE_INCOMPLETE(Space)       \
  template class IncompleteFactor<Space, fp64>;    \
  template class IncompleteFactor<Space, fp32>;    \
  STRATA_INSTANTIATE_FACTOR_ABREAST(Space, double) \
  STRATA_INSTANTIATE_FACTOR_ABREAST(Space, float)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_INCOMPLETE)

}  // namespace strata::sparse
