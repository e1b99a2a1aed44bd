// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/detail/Strata_BatchedViews.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>

#include <type_traits>

namespace strata::dense::detail {

namespace {

template <class Exec>
using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;

/// result(b) = 2 sum log l_jj, a team for each system.
template <class T, class InfoView, class ResultView>
struct SumLogarithms {
  T const* L;
  std::int64_t n, ld, stride;
  InfoView info;
  ResultView result;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::int64_t const b = member.league_rank(), step = ld + 1;
    T const* const l = L + b * stride;
    double sum = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, n),
        [&](std::int64_t j, double& part) {
          part += Kokkos::log(static_cast<double>(l[j * step]));
        },
        sum);
    double const value = info(b) == 0 ? 2 * sum : Kokkos::Experimental::quiet_NaN_v<double>;
    Kokkos::single(Kokkos::PerTeam(member), [&]() { result(b) = value; });
  }
};

/// max over i < n of f(i), where NaN counts as infinity; all threads of the team get it.
template <class Member, class Function>
KOKKOS_INLINE_FUNCTION double largest(Member const& member, std::int64_t n, Function const& f) {
  double result = 0;
  Kokkos::parallel_reduce(
      Kokkos::TeamThreadRange(member, n),
      [&](std::int64_t i, double& most) {
        double const value = f(i);
        if (!(value <= most))
          most = value == value ? value : Kokkos::Experimental::infinity_v<double>;
      },
      Kokkos::Max<double>(result));
  return result < 0 ? 0 : result;  // of no row at all it is the least number
}

/// result(b) = max over columns of |B - A X| / (|A| |X| + |B|), a team for each system.
template <class T, class ResultView>
struct MeasureErrors {
  T const *A, *X, *B;
  std::int64_t n, columns, row_stride, column_stride, ld_x, ld_b, stride_a, stride_x, stride_b;
  ResultView result;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    std::int64_t const number = member.league_rank();
    T const* const triangle = A + number * stride_a;
    auto const a = [&](std::int64_t i, std::int64_t k) {
      return static_cast<double>(i < k ? triangle[k * row_stride + i * column_stride]
                                       : triangle[i * row_stride + k * column_stride]);
    };
    double const norm = largest(member, n, [&](std::int64_t i) {
      double sum = 0;
      for (std::int64_t k = 0; k < n; ++k) sum += Kokkos::abs(a(i, k));
      return sum;
    });
    double worst = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      T const *const x = X + number * stride_x + c * ld_x, *const b =
                                                               B + number * stride_b + c * ld_b;
      double const x_norm = largest(
          member, n, [&](std::int64_t i) { return Kokkos::abs(static_cast<double>(x[i])); });
      double const b_norm = largest(
          member, n, [&](std::int64_t i) { return Kokkos::abs(static_cast<double>(b[i])); });
      double const residual = largest(member, n, [&](std::int64_t i) {
        double r = b[i];
        for (std::int64_t k = 0; k < n; ++k) r -= a(i, k) * static_cast<double>(x[k]);
        return Kokkos::abs(r);
      });
      worst = Kokkos::max(worst, relative(residual, norm, x_norm, b_norm));
    }
    Kokkos::single(Kokkos::PerTeam(member), [&]() { result(number) = worst; });
  }

 private:
  // residual / (norm x + b), where norm x may leave the range of fp64 though the quotient does not
  KOKKOS_FUNCTION static double relative(double residual, double norm, double x, double b) {
    if (residual == 0) return 0;
    double const product = norm < 1 ? norm / residual * x : norm * (x / residual);
    double const bound = product + b / residual;
    bool const measured = residual <= Kokkos::Experimental::finite_max_v<double>;
    return measured && bound > 0 ? 1 / bound : Kokkos::Experimental::infinity_v<double>;
  }
};

}  // namespace

template <class Exec>
void sum_logarithms(Exec const& exec, ReadBatch<Exec> const& L,
                    Kokkos::View<std::int64_t*, typename Exec::memory_space> const& info,
                    BatchResult<Exec> const& result) {
  if (L.count == 0) return;
  with_arithmetic_type(L.matrix.precision, [&]<class T>(std::type_identity<T>) {
    using Kernel = SumLogarithms<T, std::decay_t<decltype(info)>, BatchResult<Exec>>;
    Kokkos::parallel_for(
        "strata::dense::batched::log_determinants", Policy<Exec>(exec, L.count, Kokkos::AUTO),
        Kernel{L.matrix.template as<T>(), L.matrix.rows, L.matrix.ld, L.stride, info, result});
  });
}

template <class Exec>
void measure_errors(Exec const& exec, Uplo uplo, ReadBatch<Exec> const& A, ReadBatch<Exec> const& X,
                    ReadBatch<Exec> const& B, BatchResult<Exec> const& result) {
  if (A.count == 0) return;
  std::int64_t const ld = A.matrix.ld;
  bool const lower = uplo == Uplo::Lower;
  with_arithmetic_type(A.matrix.precision, [&]<class T>(std::type_identity<T>) {
    using Kernel = MeasureErrors<T, BatchResult<Exec>>;
    Kernel const kernel{A.matrix.template as<T>(),
                        X.matrix.template as<T>(),
                        B.matrix.template as<T>(),
                        A.matrix.rows,
                        B.matrix.cols,
                        lower ? 1 : ld,
                        lower ? ld : 1,
                        X.matrix.ld,
                        B.matrix.ld,
                        A.stride,
                        X.stride,
                        B.stride,
                        result};
    Kokkos::parallel_for("strata::dense::batched::backward_errors",
                         Policy<Exec>(exec, A.count, Kokkos::AUTO), kernel);
  });
}

#define STRATA_INSTANTIATE(Exec)                                                             \
  template void sum_logarithms<Exec>(Exec const&, ReadBatch<Exec> const&,                    \
                                     Kokkos::View<std::int64_t*, Exec::memory_space> const&, \
                                     BatchResult<Exec> const&);                              \
  template void measure_errors<Exec>(Exec const&, Uplo, ReadBatch<Exec> const&,              \
                                     ReadBatch<Exec> const&, ReadBatch<Exec> const&,         \
                                     BatchResult<Exec> const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::dense::detail
