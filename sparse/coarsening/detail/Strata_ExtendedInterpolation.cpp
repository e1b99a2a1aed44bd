// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/coarsening/detail/Strata_ExtendedInterpolation.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/products/detail/Strata_HashProduct.hpp>

namespace strata::sparse::detail {
namespace {

/// A matrix with its strong entries, and which of its rows are coarse.
template <class Space>
struct SplitRows {
  CsrRef<Space> A;
  Vector<std::int64_t, Space> begin;  // of strong entries
  Vector<std::int32_t, Space> strong, number;

  KOKKOS_FUNCTION bool is_coarse(std::int64_t i) const { return number(i) >= 0; }
  // step(j, a_ij, place of the strong entry, or -1): strong entries are in A's order.
  template <class Step>
  KOKKOS_FUNCTION void for_each(std::int64_t i, Step const& step) const {
    std::int64_t next = begin(i);
    std::int64_t const end = begin(i + 1);
    A(i, [&](std::int64_t j, double a) {
      bool const is_strong = next < end && strong(next) == j;
      step(j, a, is_strong ? next : -1);
      next += is_strong ? 1 : 0;
    });
  }
  KOKKOS_FUNCTION double entry(std::int64_t i, std::int64_t j) const {
    std::int64_t low = A.begin(i), high = A.begin(i + 1);
    while (low < high) {
      std::int64_t const middle = (low + high) / 2;
      if (A.column(middle) < j)
        low = middle + 1;
      else
        high = middle;
    }
    return low < A.begin(i + 1) && A.column(low) == j ? A.value(low) : 0;
  }
};

/// What W is made of.
template <class Space>
struct Weights {
  Vector<double, Space> diagonal, to_coarse;  // a_kk, b_k
  Vector<double, Space> inverse;              // -1 / d~_i, 0 where nothing is interpolated
  Vector<double, Space> t;                    // of each strong entry
};

template <class Exec, class Space>
void sum_rows(Exec const& exec, std::int64_t rows, SplitRows<Space> const& split,
              Weights<Space> const& w) {
  Kokkos::parallel_for(
      "strata::sparse::extended_interpolation::sums", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double diagonal = 0, sum = 0;
        split.for_each(i, [&](std::int64_t j, double a, std::int64_t place) {
          diagonal += j == i ? a : 0;
          sum += place >= 0 && split.is_coarse(j) ? a : 0;
        });
        w.diagonal(i) = diagonal;
        w.to_coarse(i) = sum;
      });
}

template <class Exec, class Space>
void find_weights(Exec const& exec, std::int64_t rows, SplitRows<Space> const& split,
                  Weights<Space> const& w) {
  Kokkos::parallel_for(
      "strata::sparse::extended_interpolation::weights", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double d = 0, given = w.to_coarse(i);
        split.for_each(i, [&](std::int64_t k, double a, std::int64_t place) {
          if (place < 0) d += a;
          if (place < 0 || split.is_coarse(k)) return;
          double const found = split.is_coarse(i) ? 0 : split.entry(k, i);
          double const back = found * w.diagonal(k) < 0 ? found : 0;
          double const sum = w.to_coarse(k) + back;
          double const t = sum == 0 ? 0 : a / sum;
          w.t(place) = t;
          d += sum == 0 ? a : t * back;
          given += t * w.to_coarse(k);
        });
        if (!(d * w.diagonal(i) > 0)) d = -given;  // such that the weights add up to 1
        double const inverse = -1 / d;
        w.inverse(i) = inverse - inverse == 0 ? inverse : 0;
      });
}

/// D~^-1 (I + T), with the unit matrix in coarse rows (row source).
template <class Space>
struct LeadingRows {
  SplitRows<Space> split;
  Weights<Space> w;
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Emit const& emit) const {
    double const factor = split.is_coarse(i) ? 1 : w.inverse(i);
    emit(i, factor);
    if (split.is_coarse(i)) return;
    for (std::int64_t at = split.begin(i); at < split.begin(i + 1); ++at)
      if (!split.is_coarse(split.strong(at)))
        emit(std::int64_t(split.strong(at)), factor * w.t(at));
  }
};

/// A_FC, with the unit matrix in coarse rows (row source).
template <class Space>
struct CoarseEntries {
  SplitRows<Space> split;
  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Emit const& emit) const {
    if (split.is_coarse(i)) return emit(std::int64_t(split.number(i)), 1.0);
    split.for_each(i, [&](std::int64_t j, double a, std::int64_t place) {
      if (place >= 0 && split.is_coarse(j)) emit(std::int64_t(split.number(j)), a);
    });
  }
};

/// The largest entries of W's rows, scaled to the rows' sums (row source).
template <class Space>
struct LargestEntries {
  CsrRef<Space> W;
  static constexpr int most = 4;

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Emit const& emit) const {
    std::int64_t const first = W.begin(i), end = W.begin(i + 1);
    std::int64_t last = -1;
    double least = 0;
    for (int s = 0; s < most && end - first > most; ++s) {
      std::int64_t next = -1;
      double size = 0;
      for (std::int64_t k = first; k < end; ++k) {
        double const mine = rounded_size(W.value(k));
        bool const is_left = last < 0 || mine < least || (mine == least && k > last);
        if (!is_left || (next >= 0 && mine <= size)) continue;
        next = k;
        size = mine;
      }
      last = next;
      least = size;
    }
    auto const is_kept = [&](std::int64_t k) {
      double const mine = rounded_size(W.value(k));
      return last < 0 || mine > least || (mine == least && k <= last);
    };
    double all = 0, kept = 0;
    for (std::int64_t k = first; k < end; ++k) {
      all += W.value(k);
      kept += is_kept(k) ? W.value(k) : 0;
    }
    double const factor = scale(all, kept);
    for (std::int64_t k = first; k < end; ++k)
      if (is_kept(k)) emit(std::int64_t(W.column(k)), factor * W.value(k));
  }
  KOKKOS_FUNCTION static double scale(double all, double kept) {
    double const factor = all / kept;
    return factor - factor == 0 && factor > 0 ? factor : 1;
  }
};

template <class Exec, class Space>
void fill_kept(Exec const& exec, std::int64_t rows, CsrRef<Space> const& W,
               CsrRef<Space> const& P) {
  Kokkos::parallel_for(
      "strata::sparse::extended_interpolation::fill", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double all = 0, kept = 0;
        std::int64_t at = P.begin(i);
        for (std::int64_t k = W.begin(i); k < W.begin(i + 1); ++k) {
          all += W.value(k);
          if (at == P.begin(i + 1) || P.column(at) != W.column(k)) continue;
          kept += W.value(k);
          P.value(at++) = W.value(k);
        }
        double const factor = LargestEntries<Space>::scale(all, kept);
        for (at = P.begin(i); at < P.begin(i + 1); ++at) P.value(at) *= factor;
      });
}

// With the unit matrix in coarse rows.
template <class Exec>
LocalCsr<Exec> all_weights(Exec const& exec, LocalCsr<Exec> const& A, StrongGraph<Exec> const& S,
                           RowAggregates<Exec> const& split, std::int64_t own) {
  using Space = typename Exec::memory_space;
  auto const numbers = [&](std::int64_t n) {
    return PooledVector<double, Exec>(exec, "strata::sparse::extended_interpolation", n);
  };
  auto const diagonal = numbers(A.rows), to_coarse = numbers(A.rows), inverse = numbers(A.rows),
             t = numbers(S.column.size());
  SplitRows<Space> const rows{A.ref(), S.begin, S.column, split.of};
  Weights<Space> const w{diagonal, to_coarse, inverse, t};
  sum_rows(exec, A.rows, rows, w);
  find_weights(exec, own, rows, w);
  LocalCsr<Exec> leading, entries;
  (void)make_local_csr(exec, own, A.rows, LeadingRows<Space>{rows, w}, leading);
  (void)make_local_csr(exec, A.rows, split.numbers, CoarseEntries<Space>{rows}, entries);
  return product(exec, leading, entries);
}

}  // namespace

template <class Exec>
LocalCsr<Exec> extended_interpolation(Exec const& exec, LocalCsr<Exec> const& A,
                                      StrongGraph<Exec> const& S, RowAggregates<Exec> const& split,
                                      Border<Exec> const& border) {
  Region const region(exec, "strata::sparse::extended_interpolation");
  auto const W = all_weights(exec, A, S, split, border.own(A.rows));
  LocalCsr<Exec> P;
  (void)make_local_csr(exec, W.rows, W.cols, LargestEntries<typename Exec::memory_space>{W.ref()},
                       P);
  return P;
}

template <class Exec>
void refill_interpolation(Exec const& exec, LocalCsr<Exec> const& A, StrongGraph<Exec> const& S,
                          RowAggregates<Exec> const& split, LocalCsr<Exec> const& P) {
  Region const region(exec, "strata::sparse::refill_interpolation");
  auto const W = all_weights(exec, A, S, split, A.rows);
  fill_kept(exec, W.rows, W.ref(), P.ref());
  exec.fence("strata::sparse::refill_interpolation");  // W ends here
}

#define STRATA_INSTANTIATE_EXTENDED(Space)                                                   \
  template LocalCsr<Space> extended_interpolation(                                           \
      Space const&, LocalCsr<Space> const&, StrongGraph<Space> const&,                       \
      RowAggregates<Space> const&, Border<Space> const&);                                    \
  template void refill_interpolation(Space const&, LocalCsr<Space> const&,                   \
                                     StrongGraph<Space> const&, RowAggregates<Space> const&, \
                                     LocalCsr<Space> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_EXTENDED)

}  // namespace strata::sparse::detail
