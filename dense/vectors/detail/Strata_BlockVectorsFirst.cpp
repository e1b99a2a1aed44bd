// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What a refinement does from its right-hand sides to its first residual, of which a host need see
// nothing between.
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <dense/vectors/detail/Strata_BlockVectorLoops.hpp>
#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <cmath>
#include <utility>

namespace strata::dense::detail {

template <class Exec>
void BlockVectors<Exec>::measure(StridedMatrix<double const> const& G, Scaling const& d, double u,
                                 Block const& B) {
  bool const scaled = d.extent(0) > 0;
  double const lift = std::ldexp(1.0, lift_exponent);
  auto const found_in = found_in_;
  auto const number = ++measured_;
  enqueue<MomentsOfBoth>(
      "strata::dense::refine::measure", static_cast<std::int64_t>(B.extent(1)), OfMeasure,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c, MomentsOfBoth& m) {
        if (G.data != nullptr) {
          double const g = G(i, c), scaled_g = scaled ? d(i) * g : g;
          B(i, c) = scaled_g;
          Finding const finding = !Kokkos::isfinite(g) ? NotFinite
                                  : !Kokkos::isfinite(scaled_g) || (g != 0 && scaled_g == 0)
                                      ? Lost
                                      : Nothing;
          m.refined.see(1, static_cast<double>(finding));
          if (finding != Nothing) Kokkos::atomic_store(found_in.data(), number);
        }
        double const b = B(i, c);
        m.refined.see(0, b);
        double const by = scaled ? u / d(i) : 1;
        m.given.sum[0] += Kokkos::abs(b * by);
        m.given.see(0, b * by);
        m.given.see(1, lift * b * by);
      });
}

template <class Exec>
std::vector<MomentsOfBoth> BlockVectors<Exec>::magnitudes(std::int64_t cols) {
  return collect<MomentsOfBoth>(cols, OfMeasure);
}

template <class Exec>
void BlockVectors<Exec>::start(Block const& B, double norm, Block const& D) {
  auto const rows = rows_, chunks = chunks_;
  auto const cols = static_cast<std::int64_t>(D.extent(1));
  auto const* const measured = kept_data<MomentsOfBoth>(OfMeasure);
  auto* const starts = starts_.data();
  Kokkos::parallel_for(
      "strata::dense::refine::start", Policy(exec_, static_cast<int>(chunks * cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(Team const& team) {
        Chunk const chunk(team.league_rank(), chunks, rows);
        auto const c = chunk.column;
        Moments b;
        for (std::int64_t k = 0; k < chunks; ++k) b.see(0, measured[k + chunks * c].refined.max[0]);
        FirstScale const first(b.max[0], norm);
        bool const idle = first.failed || b.max[0] == 0;
        double const s = idle ? 0 : power_of_two(-first.exponent), unit = first.to_unit;
        if (chunk.number == 0)
          Kokkos::single(Kokkos::PerTeam(team), [&] {
            starts[c] = s;
            starts[cols + c] = idle ? 0 : 1 / unit;
            starts[2 * cols + c] = power_of_two(first.exponent);
          });
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, chunk.first, chunk.last),
                             [&](std::int64_t i) { D(i, c) = s != 0 ? unit * (s * B(i, c)) : 0; });
      });
}

template <class Exec>
std::vector<MomentsOfBoth> BlockVectors<Exec>::residual(Scalars const& s, Block const& B,
                                                        Indices const& index, Block const& W,
                                                        Block const& R, Scaling const& d, double u,
                                                        bool multiplies) {
  return residual(upload(s), B, index, W, R, d, u, multiplies, {});
}

template <class Exec>
std::vector<MomentsOfBoth> BlockVectors<Exec>::residual_first(Block const& B, Indices const& index,
                                                              Block const& W, Block const& R,
                                                              Scaling const& d, double u,
                                                              bool multiplies,
                                                              StridedMatrix<double> const& X) {
  return residual(Factors{starts_}, B, index, W, R, d, u, multiplies, X);
}

template <class Exec>
std::vector<MomentsOfBoth> BlockVectors<Exec>::residual(Factors const& factor, Block const& B,
                                                        Indices const& index, Block const& W,
                                                        Block const& R, Scaling const& d, double u,
                                                        bool multiplies,
                                                        StridedMatrix<double> const& X) {
  auto const cols = static_cast<std::int64_t>(R.extent(1));
  auto const found_in = found_in_;
  auto const number = measured_;
  if (d.extent(0) > 0)
    return reduce<MomentsOfBoth>(
        "strata::dense::refine::residual", cols,
        KOKKOS_LAMBDA(std::int64_t i, std::int64_t c, MomentsOfBoth& m) {
          double const product = multiplies ? d(i) * R(i, c) : R(i, c);
          double const w = W(i, c), r = factor(c) * B(i, index(c)) - product;
          R(i, c) = r;
          m.refined.see(0, r);
          m.refined.see(1, w);
          m.refined.sum[1] += Kokkos::abs(w);
          double const given_r = r * (u / d(i)), given_w = w * d(i) / u;
          m.given.sum[0] += Kokkos::abs(given_r);
          m.given.sum[1] += Kokkos::abs(given_w);
          m.given.see(0, given_r);
          m.given.see(1, given_w);
          if (X.data != nullptr && found_in() != number)
            X(i, c) = d(i) * (factor(2 * cols + c) * w);
        });
  auto const found = reduce(
      "strata::dense::refine::residual", cols,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c, Moments& m) {
        double const w = W(i, c), r = factor(c) * B(i, index(c)) - R(i, c);
        R(i, c) = r;
        m.sum[0] += Kokkos::abs(r);
        m.sum[1] += Kokkos::abs(w);
        m.see(0, r);
        m.see(1, w);
        if (X.data != nullptr && found_in() != number) X(i, c) = factor(2 * cols + c) * w;
      });
  std::vector<MomentsOfBoth> result;
  for (Moments const& m : found) result.push_back({m, m});
  return result;
}

template <class Exec>
void BlockVectors<Exec>::correct(Scalars const& s, Block const& D, Scalars const& t,
                                 Scaling const& d, Block const& W, bool multiplies) {
  Scalars both(s);
  both.insert(both.end(), t.begin(), t.end());
  correct(upload(both), false, D, d, W, multiplies);
}

template <class Exec>
void BlockVectors<Exec>::correct_first(Block const& D, Scaling const& d, Block const& W,
                                       bool multiplies) {
  auto const cols = D.extent(1);
  correct({Kokkos::subview(starts_, std::pair(cols, 3 * cols))}, true, D, d, W, multiplies);
}

template <class Exec>
void BlockVectors<Exec>::correct(Factors const& factor, bool from_zero, Block const& D,
                                 Scaling const& d, Block const& W, bool multiplies) {
  auto const cols = static_cast<std::int64_t>(W.extent(1));
  bool const scaled = d.extent(0) > 0;
  for_each(
      "strata::dense::refine::correct", cols, KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        double const by = scaled ? d(i) : 1;
        double w = from_zero ? 0 : W(i, c);
        if (factor(c) != 0) {
          w += factor(c) * D(i, c);
          double const out = factor(cols + c), x = by * (out * w);
          w = Kokkos::isfinite(x) ? x / by / out : w;
        }
        W(i, c) = w;
        if (multiplies) D(i, c) = by * w;
      });
}

#define STRATA_INSTANTIATE(Exec)                                                                \
  template void BlockVectors<Exec>::measure(StridedMatrix<double const> const&, Scaling const&, \
                                            double, Block const&);                              \
  template std::vector<MomentsOfBoth> BlockVectors<Exec>::magnitudes(std::int64_t);             \
  template void BlockVectors<Exec>::start(Block const&, double, Block const&);                  \
  template void BlockVectors<Exec>::correct_first(Block const&, Scaling const&, Block const&,   \
                                                  bool);                                        \
  template void BlockVectors<Exec>::correct(Scalars const&, Block const&, Scalars const&,       \
                                            Scaling const&, Block const&, bool);                \
  template std::vector<MomentsOfBoth> BlockVectors<Exec>::residual_first(                       \
      Block const&, Indices const&, Block const&, Block const&, Scaling const&, double, bool,   \
      StridedMatrix<double> const&);                                                            \
  template std::vector<MomentsOfBoth> BlockVectors<Exec>::residual(                             \
      Scalars const&, Block const&, Indices const&, Block const&, Block const&, Scaling const&, \
      double, bool);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
