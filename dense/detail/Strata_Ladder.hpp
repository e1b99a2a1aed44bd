// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DETAIL_LADDER_HPP
#define STRATA_DETAIL_LADDER_HPP

#include <core/Strata_Ladder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <dense/tree/Strata_BlockTree.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::dense::detail {

/// One rung: the layers to factor with, the relative shift of the diagonal, and how leaves are
/// solved with.
struct Step {
  Rung rung;
  LayerList layers;
  double shift;
  LeafSolve leaf_solve = LeafSolve::Automatic;
};

/// All rungs for `layers`: without and with shifts, then promoted layer by layer, fp64 last.
///
/// Source   Higham and Pranesh, SIAM J. Sci. Comput. 43 (2021), section 4: a shift of c u, c
///          doubled on failure; deviation: c grows fourfold from 2 to 128; shifts above 1/2 are
///          left out, and all of layers as accurate as fp64.
inline std::vector<Step> ladder(LayerList const& layers, double shift) {
  std::vector<Step> steps;
  Rung rung = Rung::AsAsked;
  for (LayerList current = layers; !current.is_fp64(); current = current.promoted()) {
    steps.push_back({rung, current, shift});
    for (double c = current.is_as_fp64() ? 256 : 2; c <= 128 && c * current.unit_roundoff() <= 0.5;
         c *= 4) {
      double const larger = c * current.unit_roundoff();
      if (larger > shift)
        steps.push_back({rung == Rung::AsAsked ? Rung::Shifted : rung, current, larger});
    }
    rung = Rung::HigherLayers;
    shift = 0;
  }
  bool const asked = layers.is_fp64();
  steps.push_back(
      {asked ? Rung::AsAsked : Rung::Fp64, LayerList{Precision::fp64}, asked ? shift : 0});
  if (asked && shift > 0) steps.push_back({Rung::Fp64, LayerList{Precision::fp64}, 0});
  return steps;
}

/// The rungs of a matrix of order n (Strata_Automatic.cpp, which knows what rungs cost).
///
/// Where the layers are ones that the automatic choice takes, and n is so large that it takes any,
/// the costs were measured. Then the next rung of more accuracy is tried at once: a shift, and the
/// refinement after it, would take longer. Else they are `ladder`'s.
template <class ExecutionSpace>
std::vector<Step> rungs(std::int64_t n, LayerList const& layers, double shift);

/// Number of refinement iterations with a factor in `layers` that take as long as a factorisation
/// on the rung `next`. It was measured where `rungs` goes by costs, and is 40 + n / 120 elsewhere:
/// an iteration reads the matrix and the factor once. A factorisation has n / 12 times its flops,
/// at about ten times the rate. With many columns an iteration is products, and there is patience
/// for fewer (`iterations_for`).
template <class ExecutionSpace>
Patience patience(std::int64_t n, LayerList const& layers, LayerList const& next,
                  std::int64_t columns = 1);

/// The iterations with so many columns that take as long as these with one. A device reads the
/// matrix for 128 columns in the time that it takes to multiply by them. At least 8 are left, or
/// all: a refinement that pays at all takes six or so.
constexpr int iterations_for(std::int64_t columns, int iterations) {
  std::int64_t const fewer = iterations * 128 / (columns > 128 ? columns : 128);
  return static_cast<int>(fewer > 8 ? fewer : iterations < 8 ? iterations : 8);
}

/// A threshold, as a part of the largest pivot. If the last pivot is foretold to be below it, a
/// factorisation in `layers` costs more than it saves, and the rung `next` is tried at once. The
/// cost of `next` was measured (`Patience::is_measured`).
template <class ExecutionSpace>
double least_pivot(std::int64_t n, LayerList const& layers, LayerList const& next,
                   std::int64_t columns = 1);

/// The least last pivot, as a part of the largest, with which a factor of integers needs three
/// steps of refinement or so.
///
/// A factor of integers is off by about theta sqrt(n) in its 2-norm (`IntegerPotrf`). A step of
/// refinement gains as much beside the least eigenvalue. A geometric spectrum's last pivot is some
/// five times the least eigenvalue.
inline double pivot_of_integers(std::int64_t n, Precision precision) {
  constexpr double part = 0.007;
  return traits(precision).unit_roundoff * std::sqrt(static_cast<double>(n)) / part;
}

/// The fewest moduli, 7 to 14, with which a refinement takes three steps or so; 0: none. The first
/// columns of a factor of order n foretell this last pivot, as a part of the largest.
inline int moduli_for(std::int64_t n, double pivot) {
  for (int moduli = least_moduli + 1; moduli <= 14; ++moduli)
    if (pivot_of_integers(n, integer_precision(moduli)) <= pivot) return moduli;
  return 0;
}

/// The rung, from `next` on, that serves where this last pivot was foretold: one whose own first
/// columns would not send it on. One of products of integers gets as many moduli as it takes.
template <class ExecutionSpace>
std::size_t rung_for(std::int64_t n, std::vector<Step>& steps, std::size_t next, double pivot,
                     std::int64_t columns = 1) {
  for (; next + 1 < steps.size() && !steps[next].layers.is_fp64(); ++next) {
    bool const by_integers = moduli_of(*steps[next].layers.begin()) > 0;
    int const moduli = by_integers ? moduli_for(n, pivot) : 0;
    if (moduli > 0) steps[next].layers = LayerList{integer_precision(moduli)};
    bool const serves = by_integers
                            ? moduli > 0
                            : pivot >= least_pivot<ExecutionSpace>(n, steps[next].layers,
                                                                   steps[next + 1].layers, columns);
    if (serves) break;
  }
  return next;
}

/// The first step from `next` on that is more accurate than the step before `next`: of other
/// layers, of a smaller shift, or with leaves that are solved otherwise.
inline std::size_t next_layers(std::vector<Step> const& steps, std::size_t next) {
  Step const& last = steps[next - 1];
  while (next < steps.size() && steps[next].layers == last.layers &&
         steps[next].shift >= last.shift && steps[next].leaf_solve == last.leaf_solve)
    ++next;
  return next;
}

/// Whether it is time to factor the leading block of order `failed` in fp64, after a breakdown
/// there and before the step `next`. The block tells a matrix that is not positive definite from
/// one that needs a higher rung. `minors` is the order of the last such block that held.
///
/// A matrix that is positive definite pays for few such blocks. Each is followed by higher layers,
/// or by at least twice as much work as the one before. On devices, whose fp64 is many times
/// slower, none of the latter costs more than the rungs of the same layers. Higher layers whose
/// cost was measured come first where they cost less than the block, or rounding explains the
/// breakdown. The last rung of a host tells as much itself, and stops where it breaks down.
///
/// `rounding_explains`   bool(), asked before layers whose cost was measured: whether the pivots
///                       before the breakdown were as small as errors of rounding
template <class ExecutionSpace, class Explains>
bool worth_settling(std::vector<Step> const& steps, std::size_t next, std::int64_t n,
                    std::int64_t failed, std::int64_t minors, Explains const& rounding_explains) {
  constexpr bool on_host = strata::runs_on_host<ExecutionSpace>;
  auto const cube = [](std::int64_t order) {
    auto const x = static_cast<double>(order);
    return x * x * x;
  };
  bool const is_last = steps[next].layers == steps.back().layers;
  if (failed <= minors || (is_last && on_host)) return false;
  // what follows fp16 where `rungs` goes by costs: it takes a third of what fp64 does, or half
  Precision const following = *steps[next].layers.begin();
  bool const is_cheap =
      following == Precision::fp16_split || (!on_host && moduli_of(following) > 0);
  if (!is_last && !(steps[next].layers == steps[next - 1].layers))
    return !is_cheap || (3 * cube(failed) <= cube(n) && !rounding_explains());
  constexpr double fp64_cost = on_host ? 1 : 4;
  return cube(failed) >= 2 * cube(minors) && fp64_cost * cube(failed) <= cube(n);
}

/// The order of the leading block that a host factors in fp64 before it loads a matrix of order n:
/// n^2 / 3 flops, a part of what reading the matrix takes. 0: none; on a device one more fence
/// costs more.
template <class ExecutionSpace>
std::int64_t early_block(std::int64_t n) {
  if (!strata::runs_on_host<ExecutionSpace> || n < 512) return 0;
  return static_cast<std::int64_t>(std::cbrt(static_cast<double>(n) * static_cast<double>(n)));
}

}  // namespace strata::dense::detail

#endif
