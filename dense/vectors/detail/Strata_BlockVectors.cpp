// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/vectors/detail/Strata_BlockVectors.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/memory/Strata_Pieces.hpp>
#include <dense/vectors/detail/Strata_BlockVectorLoops.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::dense::detail {

/// `direction` for the rows of a column, whose coefficients each team works out.
template <class Exec>
struct DirectionOf {
  using Kernels = BlockVectors<Exec>;

  typename Kernels::Factors s, t;
  PartialSums products;
  typename Kernels::Block Z, P, V;
  typename Kernels::Scaling d;

  struct Rows {
    DirectionOf const& of;
    std::int64_t c;
    double s, beta;

    KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t i) const {
      double p = s != 0 ? s * of.Z(i, c) : 0;
      if (beta != 0) p += beta * of.P(i, c);
      of.P(i, c) = p;
      if (of.d.extent(0) > 0) of.V(i, c) = of.d(i) * p;
    }
  };
  KOKKOS_FORCEINLINE_FUNCTION Rows operator()(std::int64_t c) const {
    return {*this, c, s(c), t(c) != 0 ? s(c) * products.sum(1, c) / t(c) : 0};
  }
};

/// The same of `advance`.
template <class Exec>
struct AdvanceOf {
  using Kernels = BlockVectors<Exec>;

  typename Kernels::Factors s;
  PartialSums products, curvature;
  typename Kernels::Block P, Q, D, R;

  struct Rows {
    AdvanceOf const& of;
    std::int64_t c;
    double step;

    KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t i, Moments& m) const {
      double r = of.R(i, c);
      if (step != 0) {
        of.D(i, c) += step * of.P(i, c);
        of.R(i, c) = r -= step * of.Q(i, c);
      }
      m.sum[0] += r * r;
      m.see(0, r);
    }
  };
  KOKKOS_FORCEINLINE_FUNCTION Rows operator()(std::int64_t c) const {
    return {*this, c, s(c) != 0 ? step_length(s(c) * products.sum(0, c), curvature.sum(0, c)) : 0};
  }
};

template <class Exec>
BlockVectors<Exec>::BlockVectors(Exec const& exec, std::int64_t rows, std::int64_t cols,
                                 std::int64_t steps, std::int64_t blocks)
    : exec_(exec),
      rows_(rows),
      chunks_(Chunk::count(rows)),
      blocks_(static_cast<std::size_t>(blocks)) {
  std::int64_t const moments = chunks_ * cols, products = moments * steps,
                     coefficients = 8 * cols + 2 * cols * steps;
  auto const lay_out = [&](Pieces& pieces) {
    for (Block& block : blocks_) pieces.lay_out(block, rows, cols);
    pieces.lay_out(starts_, 3 * cols);
    pieces.lay_out(found_in_);
    if (has_one_memory) return;
    pieces.lay_out(moments_, moments);
    pieces.lay_out(products_, products);
    pieces.lay_out(arena_, coefficients);
  };
  auto const lay_out_on_host = [&](Pieces& pieces) {
    pieces.lay_out(host_moments_, moments);
    pieces.lay_out(host_products_, products);
    pieces.lay_out(host_arena_, coefficients);
  };
  std::string const label = "strata::dense::refine::vectors";
  memory_ = allocate_pieces(exec_, label, [&](Pieces& pieces) {
    lay_out(pieces);
    if (has_one_memory) lay_out_on_host(pieces);
  });
  if constexpr (has_one_memory) {
    products_ = host_products_;
    arena_ = host_arena_;
  } else {
    host_memory_ = allocate_pieces_on_host<HostSpace>(label + "_on_host", lay_out_on_host);
  }
  Kokkos::deep_copy(exec_, found_in_, std::int64_t(0));
}

template <class Exec>
auto BlockVectors<Exec>::indices(std::vector<std::int64_t> const& list) const -> Indices {
  Indices const result{strata::allocate<decltype(Indices::list)>(
      exec_, "strata::dense::refine::index", list.size())};
  Kokkos::View<std::int64_t const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
      list.data(), list.size());
  Kokkos::deep_copy(exec_, result.list, host);
  exec_.fence("strata::dense::refine::index");
  return result;
}

// The host's copy must stay as it is until the transfer is over: after a fence all room is free
// again.
template <class Exec>
auto BlockVectors<Exec>::upload(Scalars const& values) -> Factors {
  if (values.size() <= 2) {
    Factors few;
    std::copy(values.begin(), values.end(), few.few);
    return few;
  }
  if (used_ + values.size() > arena_.extent(0)) {
    exec_.fence("strata::dense::refine::upload");
    used_ = 0;
  }
  std::pair const range(used_, used_ + values.size());
  used_ = range.second;
  auto const host = Kokkos::subview(host_arena_, range);
  std::copy(values.begin(), values.end(), host.data());
  Coefficients const device = Kokkos::subview(arena_, range);
  if (!has_one_memory) Kokkos::deep_copy(exec_, device, host);
  return {device};
}

template <class Exec>
auto BlockVectors<Exec>::fetch_products(std::int64_t count) -> Scalars {
  std::pair const range(std::int64_t(0), chunks_ * count);
  if (!has_one_memory)
    Kokkos::deep_copy(exec_, Kokkos::subview(host_products_, range),
                      Kokkos::subview(products_, range));
  exec_.fence("strata::dense::refine::products");
  used_ = 0;
  Scalars result(count, 0.0);
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk)
      result[k] += host_products_(chunk + chunks_ * k);
  return result;
}

template <class Exec>
void BlockVectors<Exec>::fill(Block const& A, double value) {
  for_each(
      "strata::dense::refine::fill", A.extent(1),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) { A(i, c) = value; });
}

template <class Exec>
std::vector<Moments> BlockVectors<Exec>::norms(Scalars const& s, Block const& X) {
  auto const factor = upload(s);
  return reduce(
      "strata::dense::refine::norms", X.extent(1),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c, Moments& m) {
        double const x = factor(c) * X(i, c);
        m.sum[0] += x * x;
        m.see(0, x);
      });
}

template <class Exec>
void BlockVectors<Exec>::gather(Scalars const& s, Block const& X, Indices const& index,
                                Block const& W) {
  auto const factor = upload(s);
  for_each(
      "strata::dense::refine::gather", W.extent(1),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) { W(i, c) = factor(c) * X(i, index(c)); });
}

template <class Exec>
void BlockVectors<Exec>::scatter(Scalars const& s, Block const& W, Block const& X,
                                 Indices const& index) {
  auto const factor = upload(s);
  for_each(
      "strata::dense::refine::scatter", W.extent(1), KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        if (factor(c) != 0) X(i, index(c)) = factor(c) * W(i, c);
      });
}

template <class Exec>
void BlockVectors<Exec>::compact(Indices const& from, Block const& A) {
  auto const cols = static_cast<std::int64_t>(from.list.extent(0));
  Kokkos::parallel_for(
      "strata::dense::refine::compact",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec_, 0, rows_),
      KOKKOS_LAMBDA(std::int64_t i) {
        for (std::int64_t c = 0; c < cols; ++c) A(i, c) = A(i, from(c));
      });
}

template <class Exec>
void BlockVectors<Exec>::scale(Scalars const& s, Block const& X, Block const& Y) {
  auto const factor = upload(s);
  for_each(
      "strata::dense::refine::scale", X.extent(1), KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        Y(i, c) = factor(c) != 0 ? factor(c) * X(i, c) : 0;
      });
}

template <class Exec>
void BlockVectors<Exec>::scale(Scalars const& s, Scalars const& t, Block const& X, Block const& Y,
                               Block const& Z) {
  auto const first = upload(s), second = upload(t);
  for_each(
      "strata::dense::refine::scale", X.extent(1), KOKKOS_LAMBDA(std::int64_t i, std::int64_t c) {
        double const x = X(i, c);
        Y(i, c) = first(c) != 0 ? first(c) * x : 0;
        Z(i, c) = second(c) != 0 ? second(c) * x : 0;
      });
}

template <class Exec>
void BlockVectors<Exec>::see_products(Block const& R, Block const& Q, Block const& Z) {
  enqueue<Moments>(
      "strata::dense::refine::products", Z.extent(1), OfProducts,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c, Moments& m) {
        m.sum[0] += R(i, c) * Z(i, c);
        m.sum[1] += Q(i, c) * Z(i, c);
      });
}

template <class Exec>
void BlockVectors<Exec>::direction(Scalars const& s, Block const& Z, Scalars const& t,
                                   Block const& P, Scaling const& d, Block const& V) {
  for_each_column("strata::dense::refine::direction", P.extent(1),
                  DirectionOf<Exec>{upload(s), upload(t), seen(OfProducts), Z, P, V, d});
}

template <class Exec>
void BlockVectors<Exec>::see_curvature(Block const& P, Scaling const& d, Block const& Q) {
  bool const multiplies = d.extent(0) > 0;
  enqueue<Moments>(
      "strata::dense::refine::curvature", Q.extent(1), OfCurvature,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t c, Moments& m) {
        double const q = multiplies ? d(i) * Q(i, c) : Q(i, c);
        if (multiplies) Q(i, c) = q;
        m.sum[0] += P(i, c) * q;
      });
}

template <class Exec>
std::vector<ConjugateStep> BlockVectors<Exec>::advance(Scalars const& s, Block const& P,
                                                       Block const& Q, Block const& D,
                                                       Block const& R) {
  auto const cols = static_cast<std::int64_t>(R.extent(1));
  enqueue_columns<Moments>(
      "strata::dense::refine::advance", cols, OfOthers,
      AdvanceOf<Exec>{upload(s), seen(OfProducts), seen(OfCurvature), P, Q, D, R});
  auto const residual = collect<Moments>(cols, OfOthers),
             products = collect<Moments>(cols, OfProducts),
             curvature = collect<Moments>(cols, OfCurvature);
  std::vector<ConjugateStep> steps;
  for (std::size_t c = 0; c < residual.size(); ++c)
    steps.push_back({products[c], curvature[c], residual[c]});
  return steps;
}

template <class Exec>
auto BlockVectors<Exec>::project(Basis const& V, std::int64_t steps, Block const& W) -> Scalars {
  auto const rows = rows_, chunks = chunks_;
  auto const cols = static_cast<std::int64_t>(W.extent(1));
  auto const partial = products_;
  Kokkos::parallel_for(
      "strata::dense::refine::project",
      Policy(exec_, static_cast<int>(chunks * cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(Team const& team) {
        Chunk const chunk(team.league_rank(), chunks, rows);
        auto const c = chunk.column;
        for (std::int64_t k = 0; k < steps; ++k) {
          double total = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamThreadRange(team, chunk.first, chunk.last),
              [&](std::int64_t i, double& sum) { sum += V(i, c, k) * W(i, c); }, total);
          Kokkos::single(Kokkos::PerTeam(team),
                         [&] { partial(chunk.number + chunks * (k + steps * c)) = total; });
        }
      });
  return fetch_products(steps * cols);
}

// Basis vectors outside, the rows of a chunk inside: the chunk of W stays in cache.
template <class Exec>
void BlockVectors<Exec>::combine(double s, Basis const& V, std::int64_t steps, Scalars const& y,
                                 Block const& W) {
  auto const factor = upload(y);
  auto const rows = rows_, chunks = chunks_;
  auto const cols = static_cast<std::int64_t>(W.extent(1));
  Kokkos::parallel_for(
      "strata::dense::refine::combine",
      Policy(exec_, static_cast<int>(chunks * cols), Kokkos::AUTO),
      KOKKOS_LAMBDA(Team const& team) {
        Chunk const chunk(team.league_rank(), chunks, rows);
        auto const c = chunk.column;
        for (std::int64_t k = 0; k < steps; ++k) {
          double const a = s * factor(k + steps * c);
          if (a == 0) continue;
          Kokkos::parallel_for(Kokkos::TeamThreadRange(team, chunk.first, chunk.last),
                               [&](std::int64_t i) { W(i, c) += a * V(i, c, k); });
        }
      });
}

#define STRATA_INSTANTIATE(Exec) template class BlockVectors<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
