// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/Strata_AlgebraicMultigrid.hpp>

#include <core/instances/Strata_Replay.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/multigrid/Strata_TransferHierarchy.hpp>
#include <sparse/multigrid/detail/Strata_DirectSolver.hpp>
#include <sparse/multigrid/detail/Strata_PolynomialSmoother.hpp>
#include <sparse/scaling/detail/Strata_DiagonalScales.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace strata::sparse {
namespace {

template <class Exec>
using WideVector = Vector<double, typename Exec::memory_space>;

// e_i = half the sum of |d_i a_ij d_j| over the halo's columns, with a_ii's sign
template <class Exec, class Matrix>
void find_excess(Exec const& exec, Matrix const& A, WideVector<Exec> const& d,
                 WideVector<Exec> const& diagonal, WideVector<Exec> const& e) {
  Kokkos::parallel_for(
      "strata::sparse::AlgebraicMultigrid::excess", detail::RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) {
        auto const row = A.row(i);
        double sum = 0;
        for (int k = 0; k < row.width; ++k) {
          std::int64_t const at = row.first + k * row.stride, j = A.column(i, k);
          if (j >= A.rows()) sum += Kokkos::abs(d(i) * static_cast<double>(A.values()[at]) * d(j));
        }
        e(i) = diagonal(i) < 0 ? -0.5 * sum : 0.5 * sum;
      });
}

template <class Exec, class From, class To>
void convert(Exec const& exec, From const& from, To const& to, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::AlgebraicMultigrid::convert", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        to(i) = static_cast<typename To::non_const_value_type>(from(i));
      });
}

// y = b + a x, element by element
template <class Exec, class Factors, class Vec>
void add_scaled(Exec const& exec, Factors const& a, Vec const& x, Vec const& b, Vec const& y,
                std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::AlgebraicMultigrid::right_side", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) = b(i) + a(i) * x(i); });
}

template <class View, class Exec>
View zeros(Exec const& exec, std::string const& name, std::int64_t n) {
  auto const x = strata::allocate<View>(exec, "strata::sparse::AlgebraicMultigrid::" + name, n);
  using Value = typename View::value_type;
  Kokkos::deep_copy(exec, x, Value(LaneOf<Value>(0)));
  return x;
}

}  // namespace

template <class Exec, class Scalar>
struct AlgebraicMultigrid<Exec, Scalar>::Impl {
  using Wide = Vector<double, MemorySpace>;
  using Vec = Vector<Scalar, MemorySpace>;
  using Factors = Vector<LaneOf<Scalar>, MemorySpace>;  // of rows
  struct Level {
    DistributedMatrix<Exec> A;  // d_i a_ij d_j, and `excess` on the diagonal
    Transfer<Exec> P, R;
    Factors excess;  // of Gauss-Seidel; empty: one rank
    Vec r, x, residual;
    detail::PolynomialSmoother<Exec, Scalar> polynomial;  // none: Gauss-Seidel
  };

  Impl(Exec const& exec, TransferHierarchy<Exec> const& hierarchy, Precision precision);
  Impl(Exec const& exec, AlgebraicMultigrid<Exec, fp64> const& other);

  void add_level(Exec const& exec, typename TransferHierarchy<Exec>::Level const& source,
                 Wide const& d, Precision precision);
  void add_transfers(Exec const& exec, TransferHierarchy<Exec> const& hierarchy,
                     std::vector<Wide> const& d, std::vector<Wide> const& inverse,
                     Precision precision);
  std::int64_t bytes() const;
  void cycle(Exec const& exec, std::size_t l, Vec const& r, Vec const& x) const;
  // Before the coarse correction, from zero, or after it.
  void smooth(Exec const& exec, Level const& level, Vec const& r, Vec const& x, Guess guess) const;
  bool sweeps() const { return smoother_ == Smoother::GaussSeidel; }
  // r, or r + excess x in this level's `residual`
  Vec right_side(Exec const& exec, Level const& level, Vec const& r, Vec const& x) const;

  Communicator comm_;
  std::vector<Level> levels_;
  Factors scale_;  // of the finest level
  CoarseSolve coarse_ = CoarseSolve::Sweep;
  Smoother smoother_ = Smoother::GaussSeidel;
  int steps_ = 1;
  double least_part_ = 0.125;
  Vector<std::int32_t, MemorySpace> caller_row_;  // of each row; empty: the finest matrix' order
  detail::DirectSolver<Exec, Scalar> direct_;
  bool owns_matrices_ = true;

  // The last vectors that `apply` was given, for which its work is the same again.
  struct Repeated {
    Scalar const* r = nullptr;
    Scalar* z = nullptr;
    std::optional<strata::Replay<Exec>> replay;
  };
  mutable Repeated repeated_;
  void enqueue(Exec const& exec, Vec const& r, Vec const& z) const;
};

template <class Exec, class Scalar>
AlgebraicMultigrid<Exec, Scalar>::Impl::Impl(Exec const& exec,
                                             TransferHierarchy<Exec> const& hierarchy,
                                             Precision precision)
    : comm_(hierarchy.levels.front().A.comm()),
      coarse_(hierarchy.coarse),
      smoother_(hierarchy.smoother),
      steps_(hierarchy.steps),
      least_part_(hierarchy.least_part) {
  Region const region(exec, "strata::sparse::AlgebraicMultigrid::set_up");
  std::vector<Wide> d, inverse;
  std::int64_t above = 0;  // halo of the transfer from this level to the finer one
  bool takes_natural = hierarchy.takes_natural;
  for (auto source : hierarchy.levels) {
    bool const direct =
        coarse_ == CoarseSolve::Direct && levels_.size() + 1 == hierarchy.levels.size();
    if (!direct && sweeps() && source.A.order().is_natural) {  // a level alone
      source.A = source.A.coloured(exec);
      takes_natural = true;
    }
    auto const own = diagonal(exec, source.A);
    if (!direct) detail::require_diagonal(exec, source.A, own);
    if (takes_natural && levels_.empty()) caller_row_ = source.A.order().old_row;
    std::int64_t const room = source.A.rows() + std::max({source.A.halo(), source.R.halo(), above});
    comm_.agree([&] {
      d.push_back(zeros<Wide>(exec, "d", room));
      inverse.push_back(zeros<Wide>(exec, "inverse", room));
    });
    detail::find_power_scales(exec, own, source.A.rows(), d.back(), inverse.back());
    comm_.agree([&] {
      Level level;
      level.r = zeros<Vec>(exec, "r", source.A.rows());
      level.x = zeros<Vec>(exec, "x", levels_.empty() && !takes_natural ? 0 : room);
      level.residual = zeros<Vec>(exec, "residual", room);
      levels_.push_back(level);
    });
    if (direct)
      direct_ = detail::DirectSolver<Exec, Scalar>(exec, source.A, d.back());
    else
      add_level(exec, source, d.back(), precision);
    above = source.P.halo();
  }
  add_transfers(exec, hierarchy, d, inverse, precision);
  std::int64_t const rows = hierarchy.levels.front().A.rows();
  comm_.agree([&] { scale_ = zeros<Factors>(exec, "scale", rows); });
  convert(exec, d.front(), scale_, rows);
  exec.fence("strata::sparse::AlgebraicMultigrid::set_up");
}

template <class Exec, class Scalar>
AlgebraicMultigrid<Exec, Scalar>::Impl::Impl(Exec const& exec,
                                             AlgebraicMultigrid<Exec, fp64> const& other)
    : comm_(other.impl_->comm_),
      coarse_(other.impl_->coarse_),
      smoother_(other.impl_->smoother_),
      steps_(other.impl_->steps_),
      caller_row_(other.impl_->caller_row_),
      owns_matrices_(false) {
  auto const& source = *other.impl_;
  auto const like = [&]<class Like = Vec>(std::string const& name, auto const& vector, Like = {}) {
    return zeros<Like>(exec, name, static_cast<std::int64_t>(vector.extent(0)));
  };
  comm_.agree([&] {
    for (auto const& level : source.levels_)
      levels_.push_back({level.A, level.P, level.R, like("excess", level.excess, Factors()),
                         like("r", level.r), like("x", level.x), like("residual", level.residual),
                         detail::PolynomialSmoother<Exec, Scalar>(exec, level.polynomial)});
    scale_ = like("scale", source.scale_, Factors());
    if (coarse_ == CoarseSolve::Direct)
      direct_ = detail::DirectSolver<Exec, Scalar>(exec, source.direct_);
  });
  for (std::size_t l = 0; l < levels_.size(); ++l)
    convert(exec, source.levels_[l].excess, levels_[l].excess,
            static_cast<std::int64_t>(levels_[l].excess.extent(0)));
  convert(exec, source.scale_, scale_, static_cast<std::int64_t>(scale_.extent(0)));
  exec.fence("strata::sparse::AlgebraicMultigrid::set_up");
}

template <class Exec, class Scalar>
void AlgebraicMultigrid<Exec, Scalar>::Impl::add_level(
    Exec const& exec, typename TransferHierarchy<Exec>::Level const& source, Wide const& d,
    Precision precision) {
  auto const& A = source.A;
  auto& level = levels_.back();
  if (!sweeps()) {
    Wide const none = A.comm().agree([&] { return zeros<Wide>(exec, "none", A.rows()); });
    A.fill_halo(exec, d);
    auto const scaled = A.modified(exec, d, none);
    level.A = scaled.stored_in(exec, precision);
    level.polynomial = detail::PolynomialSmoother<Exec, Scalar>(
        exec, scaled, level.A, smoother_, steps_, source.largest, least_part_);
    return;
  }
  Wide const excess = A.comm().agree([&] { return zeros<Wide>(exec, "excess", A.rows()); });
  A.fill_halo(exec, d);
  if (A.comm().size() > 1) {
    auto const a = diagonal(exec, A);
    std::visit([&](auto const& stored) { find_excess(exec, stored, d, a, excess); }, A.stored());
    A.comm().agree([&] { level.excess = zeros<Factors>(exec, "excess", A.rows()); });
    convert(exec, excess, level.excess, A.rows());
  }
  level.A = A.modified(exec, d, excess).stored_in(exec, precision);
}

template <class Exec, class Scalar>
void AlgebraicMultigrid<Exec, Scalar>::Impl::add_transfers(Exec const& exec,
                                                           TransferHierarchy<Exec> const& hierarchy,
                                                           std::vector<Wide> const& d,
                                                           std::vector<Wide> const& inverse,
                                                           Precision precision) {
  for (std::size_t l = 0; l + 1 < hierarchy.levels.size(); ++l) {
    auto const& source = hierarchy.levels[l];
    levels_[l].P = source.P.scaled(exec, inverse[l], inverse[l + 1], precision);
    levels_[l].R = source.R.scaled(exec, d[l + 1], d[l], precision);
  }
}

template <class Exec, class Scalar>
std::int64_t AlgebraicMultigrid<Exec, Scalar>::Impl::bytes() const {
  std::size_t numbers = 0, factors = scale_.extent(0);
  std::int64_t sum = 0;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    auto const& level = levels_[l];
    numbers += level.r.extent(0) + level.x.extent(0) + level.residual.extent(0);
    factors += level.excess.extent(0);
    bool const last = l + 1 == levels_.size();
    sum += level.polynomial.bytes();
    if (!owns_matrices_) continue;
    if (!last) sum += level.P.bytes() + level.R.bytes();
    if (!last || coarse_ == CoarseSolve::Sweep) sum += level.A.bytes();
  }
  return sum +
         static_cast<std::int64_t>(numbers * sizeof(Scalar) + factors * sizeof(LaneOf<Scalar>));
}

template <class Exec, class Scalar>
auto AlgebraicMultigrid<Exec, Scalar>::Impl::right_side(Exec const& exec, Level const& level,
                                                        Vec const& r, Vec const& x) const -> Vec {
  if (level.excess.extent(0) == 0) return r;
  add_scaled(exec, level.excess, x, r, level.residual, level.A.rows());
  return level.residual;
}

template <class Exec, class Scalar>
void AlgebraicMultigrid<Exec, Scalar>::Impl::cycle(Exec const& exec, std::size_t l, Vec const& r,
                                                   Vec const& x) const {
  Region const region(exec, "strata::sparse::AlgebraicMultigrid::level ", l);
  auto const& level = levels_[l];
  bool const last = l + 1 == levels_.size();
  if (last && coarse_ == CoarseSolve::Direct) return direct_.apply(exec, r, x);
  smooth(exec, level, r, x, Guess::Zero);
  if (!last) {
    auto const& coarse = levels_[l + 1];
    auto const& b = sweeps() ? right_side(exec, level, r, x) : r;
    level.A.residual(exec, b, x, level.residual);  // r_c = R (r - A x)
    level.R.multiply(exec, level.residual, coarse.r);
    cycle(exec, l + 1, coarse.r, coarse.x);
    level.P.add_product(exec, coarse.x, x);  // x += P x_c
  }
  smooth(exec, level, r, x, Guess::Given);
}

template <class Exec, class Scalar>
void AlgebraicMultigrid<Exec, Scalar>::Impl::smooth(Exec const& exec, Level const& level,
                                                    Vec const& r, Vec const& x, Guess guess) const {
  if (!sweeps()) return level.polynomial.apply(exec, level.A, r, x, level.residual, guess);
  if constexpr (!is_abreast<Scalar>) {
    bool const is_first = guess == Guess::Zero;
    level.A.gauss_seidel(exec, is_first ? r : right_side(exec, level, r, x), x,
                         is_first ? Sweep::Forward : Sweep::Backward, guess);
  }
}

template <class Exec, class Scalar>
AlgebraicMultigrid<Exec, Scalar>::AlgebraicMultigrid(Exec const& exec,
                                                     TransferHierarchy<Exec> const& hierarchy,
                                                     Precision precision)
    : impl_("AlgebraicMultigrid", std::make_shared<Impl const>(exec, hierarchy, precision)) {}

template <class Exec, class Scalar>
AlgebraicMultigrid<Exec, Scalar>::AlgebraicMultigrid(Exec const& exec,
                                                     AlgebraicMultigrid<Exec, fp64> const& other)
    : impl_("AlgebraicMultigrid", std::make_shared<Impl const>(exec, other)) {}

template <class Exec, class Scalar>
std::int64_t AlgebraicMultigrid<Exec, Scalar>::bytes() const {
  return impl_->bytes();
}

template <class Exec, class Scalar>
void AlgebraicMultigrid<Exec, Scalar>::apply(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                                             Vector<Scalar, MemorySpace> const& z) const {
  Region const region(exec, "strata::sparse::AlgebraicMultigrid::apply");
  auto const& own = *impl_;
  auto const rows = static_cast<std::int64_t>(own.scale_.extent(0));
  detail::require_entries("preconditioner", "r", r, rows);
  detail::require_entries("preconditioner", "z", z, rows);
  if (own.comm_.size() > 1 || !strata::Replay<Exec>::is_possible() || is_captured(exec))
    return own.enqueue(exec, r, z);
  auto& repeated = own.repeated_;
  if (!repeated.replay || repeated.r != r.data() || repeated.z != z.data()) {
    repeated.r = r.data(), repeated.z = z.data();
    repeated.replay.emplace();
  }
  repeated.replay->run(exec, [&] { own.enqueue(exec, r, z); });
}

template <class Exec, class Scalar>
void AlgebraicMultigrid<Exec, Scalar>::Impl::enqueue(Exec const& exec, Vec const& r,
                                                     Vec const& z) const {
  auto const& finest = levels_.front();
  if (caller_row_.extent(0) > 0) {
    detail::gather_scaled(exec, caller_row_, scale_, r, finest.r);
    cycle(exec, 0, finest.r, finest.x);
    return detail::scatter_scaled(exec, caller_row_, scale_, finest.x, z);
  }
  auto const rows = static_cast<std::int64_t>(scale_.extent(0));
  detail::scale_by(exec, scale_, r, finest.r, rows);
  cycle(exec, 0, finest.r, z);
  detail::scale_by(exec, scale_, z, z, rows);
}

#define STRATA_INSTANTIATE_CYCLE_ABREAST(Space, Number)                            \
  template AlgebraicMultigrid<Space, Abreast<Number>>::AlgebraicMultigrid(         \
      Space const&, AlgebraicMultigrid<Space, fp64> const&);                       \
  template std::int64_t AlgebraicMultigrid<Space, Abreast<Number>>::bytes() const; \
  template void AlgebraicMultigrid<Space, Abreast<Number>>::apply(                 \
      Space const&, Vector<Abreast<Number>, Space::memory_space> const&,           \
      Vector<Abreast<Number>, Space::memory_space> const&) const;
#define STRATA_INSTANTIATE_V_CYCLE(Space)         \
  template class AlgebraicMultigrid<Space, fp64>; \
  template class AlgebraicMultigrid<Space, fp32>; \
  STRATA_INSTANTIATE_CYCLE_ABREAST(Space, double) \
  STRATA_INSTANTIATE_CYCLE_ABREAST(Space, float)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_V_CYCLE)

}  // namespace strata::sparse
