// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DENSE_DETAIL_BLOCK_VECTORS_HPP
#define STRATA_DENSE_DETAIL_BLOCK_VECTORS_HPP

#include <core/instances/Strata_FenceAtEnd.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/memory/Strata_Buffer.hpp>
#include <dense/vectors/Strata_StridedMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace strata::dense::detail {

/// What one pass over a column gathers: two sums and two largest magnitudes, in which NaN sticks.
struct Moments {
  double sum[2] = {0, 0};
  double max[2] = {0, 0};

  KOKKOS_INLINE_FUNCTION void see(int q, double value) { raise(max[q], Kokkos::abs(value)); }
  KOKKOS_INLINE_FUNCTION Moments& operator+=(Moments const& other) {
    for (int q = 0; q < 2; ++q) {
      sum[q] += other.sum[q];
      raise(max[q], other.max[q]);
    }
    return *this;
  }

 private:
  KOKKOS_INLINE_FUNCTION static void raise(double& largest, double value) {
    if (!(value <= largest) && largest == largest) largest = value;
  }
};

/// The moments of a column in two systems: (D A D) (D^-1 X) = D B, which is refined, and A X = B.
struct MomentsOfBoth {
  Moments refined, given;

  KOKKOS_INLINE_FUNCTION MomentsOfBoth& operator+=(MomentsOfBoth const& other) {
    refined += other.refined;
    given += other.given;
    return *this;
  }
};

}  // namespace strata::dense::detail

template <>
struct Kokkos::reduction_identity<strata::dense::detail::Moments> {
  KOKKOS_FORCEINLINE_FUNCTION static strata::dense::detail::Moments sum() { return {}; }
};
template <>
struct Kokkos::reduction_identity<strata::dense::detail::MomentsOfBoth> {
  KOKKOS_FORCEINLINE_FUNCTION static strata::dense::detail::MomentsOfBoth sum() { return {}; }
};

namespace strata::dense::detail {

/// e with |value| 2^-e in [1/2, 1), kept where 2^e and 2^-e are normal numbers; 0 for 0 and what is
/// not finite.
KOKKOS_INLINE_FUNCTION int exponent_of(double value) {
  constexpr int most = 1000, bias = 1022, infinite = 0x7ff, lift = 54;
  auto const exponent = [](double x) {
    return static_cast<int>(Kokkos::bit_cast<std::uint64_t>(x) >> 52) & infinite;
  };
  if (value == 0 || exponent(value) == infinite) return 0;
  int const e = exponent(value) > 0 ? exponent(value) - bias
                                    : exponent(value * 0x1p54) - bias - lift;  // subnormal
  return e < -most ? -most : e > most ? most : e;
}

/// 2^e, a normal number.
KOKKOS_INLINE_FUNCTION double power_of_two(int e) {
  return Kokkos::bit_cast<double>(static_cast<std::uint64_t>(1023 + e) << 52);
}

/// The power of two that brings `value` to magnitude 1.
KOKKOS_INLINE_FUNCTION double normaliser(double value) { return power_of_two(-exponent_of(value)); }

/// How a column of B, of which `b_max` is the largest magnitude, is scaled before the first solve.
struct FirstScale {
  bool failed;     ///< b or ||A|| is not finite
  int exponent;    ///< what is solved is A (2^-exponent x) = 2^-exponent b, with b about ||A||
  double b_max;    ///< scaled so
  double to_unit;  ///< the factor for M^-1

  KOKKOS_INLINE_FUNCTION FirstScale(double largest, double norm)
      : failed(!Kokkos::isfinite(largest) || !Kokkos::isfinite(norm)),
        exponent(failed ? 0 : within(exponent_of(largest) - exponent_of(norm))),
        b_max(failed ? 0 : power_of_two(-exponent) * largest),
        to_unit(normaliser(b_max)) {}

 private:
  KOKKOS_INLINE_FUNCTION static int within(int e) {
    return e < -1000 ? -1000 : e > 1000 ? 1000 : e;
  }
};

/// How far conjugate gradients go along a direction p: r'z / p'Ap, and nowhere if A or M^-1 is not
/// positive or a number is not finite.
KOKKOS_INLINE_FUNCTION double step_length(double rz, double curvature) {
  bool const positive = rz > 0 && curvature > 0 && Kokkos::isfinite(rz);
  return positive && Kokkos::isfinite(curvature) ? rz / curvature : 0;
}

/// What a step of conjugate gradients saw of a column: r'z and q'z, p'q, and what is left of r.
struct ConjugateStep {
  Moments products, curvature, residual;
};

/// The worst number in a column of right-hand sides: one that D B has lost, or one that is not
/// finite.
enum Finding : std::int64_t { Nothing = 0, Lost = 1, NotFinite = 2 };

/// The rows of one column that a team takes: a share of them, but at least `least` and at most
/// `most`.
struct Chunk {
  static constexpr std::int64_t least = 512, most = 4096,
                                /// teams of a column, where `least` and `most` don't bind
      teams = 64;

  std::int64_t column, number, first, last;

  KOKKOS_INLINE_FUNCTION Chunk(std::int64_t rank, std::int64_t chunks, std::int64_t n)
      : column(rank / chunks),
        number(rank % chunks),
        first(number * rows(n)),
        last(first + rows(n) < n ? first + rows(n) : n) {}

  KOKKOS_INLINE_FUNCTION static constexpr std::int64_t rows(std::int64_t n) {
    std::int64_t const share = (n + teams - 1) / teams;
    return share < least ? std::int64_t{least} : share < most ? share : std::int64_t{most};
  }
  static constexpr std::int64_t count(std::int64_t n) { return (n + rows(n) - 1) / rows(n); }
};

/// What an earlier kernel left on the device, a number of `chunks` for each column.
struct PartialSums {
  Moments const* partial;
  std::int64_t chunks;

  KOKKOS_FORCEINLINE_FUNCTION double sum(int q, std::int64_t c) const {
    double total = 0;
    for (std::int64_t k = 0; k < chunks; ++k) total += partial[k + chunks * c].sum[q];
    return total;
  }
};

/// Kernels on blocks of columns, each column with its own coefficient, on one instance.
///
/// A team takes one chunk. The host and the kernels that need them add partial sums of the chunks
/// in one order. So both have the same number, and results don't depend on scheduling. A
/// coefficient of 0 means that the column is left out, whatever NaN it holds. Kernels that return
/// something fence; the others are only enqueued.
///
/// Memory   one allocation; on devices another one that is pinned.
template <class Exec>
class BlockVectors {
 public:
  using MemorySpace = typename Exec::memory_space;
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, MemorySpace>;
  using Basis = Kokkos::View<double***, Kokkos::LayoutLeft, MemorySpace>;  ///< row, column, step
  using Scalars = std::vector<double>;  ///< one per column, or step + column * steps
  using Scaling = Kokkos::View<double const*, MemorySpace>;
  /// Host memory that a device writes to, too.
  using HostSpace =
      std::conditional_t<Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible,
                         Kokkos::HostSpace, Kokkos::SharedHostPinnedSpace>;

  /// Coefficients of a kernel: in device memory, or, for one column, among its arguments.
  struct Factors {
    Kokkos::View<double*, MemorySpace> list;
    double few[2] = {0, 0};

    KOKKOS_INLINE_FUNCTION double operator()(std::int64_t c) const {
      return list.data() != nullptr ? list(c) : few[c];
    }
  };

  /// Numbers of columns: a list in device memory, or 0, 1, ... where there is none.
  struct Indices {
    Kokkos::View<std::int64_t*, MemorySpace> list;

    KOKKOS_INLINE_FUNCTION std::int64_t operator()(std::int64_t c) const {
      return list.data() != nullptr ? list(c) : c;
    }
  };

  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  using Team = typename Policy::member_type;

  /// For blocks of `rows` x up to `cols`, of which so many are its own, and products with up to
  /// `steps` basis vectors.
  ///
  /// Throws   MemoryError.
  BlockVectors(Exec const& exec, std::int64_t rows, std::int64_t cols, std::int64_t steps = 1,
               std::int64_t blocks = 0);
  /// Fences where its host memory may be in use: Kokkos waits before it frees a device's memory,
  /// not always a host's.
  ~BlockVectors() {
    if (used_ > 0 || std::ranges::find(is_under_way_, true) != std::end(is_under_way_))
      strata::detail::fence_at_end(exec_, "strata::dense::refine::release");
  }
  BlockVectors(BlockVectors const&) = delete;
  BlockVectors& operator=(BlockVectors const&) = delete;

  Exec const& exec() const { return exec_; }
  std::int64_t rows() const { return rows_; }

  /// The first columns of one of its own blocks, whose memory is this object's, without values at
  /// first.
  Block block(std::int64_t number, std::int64_t cols) const {
    return Kokkos::subview(blocks_[static_cast<std::size_t>(number)], Kokkos::ALL,
                           std::pair<std::int64_t, std::int64_t>(0, cols));
  }
  Block allocate(std::string const& label, std::int64_t cols) const {
    return strata::allocate<Block>(exec_, label, rows_, cols);
  }
  Basis allocate(std::string const& label, std::int64_t cols, std::int64_t steps) const {
    return strata::allocate<Basis>(exec_, label, rows_, cols, steps);
  }
  /// A list of columns in device memory; fences.
  Indices indices(std::vector<std::int64_t> const& list) const;

  // clang-format off
  void fill(Block const& A, double value);
  /// sum[0] = sum (s x)^2, max[0] = max |s x|
  std::vector<Moments> norms(Scalars const& s, Block const& X);
  static constexpr int lift_exponent = 200;
  /// B = d G where there is a G, and for `magnitudes` and `start`: max[0] = max |b|;
  /// as given max |u b / d|, whose sum is sum[0];  an empty d: both are the same;
  /// as given max[1] = 2^lift_exponent max[0], in which no bit of a subnormal number is lost;
  /// max[1] = the largest Finding in G
  void measure(StridedMatrix<double const> const& G, Scaling const& d, double u, Block const& B);
  /// What `measure` found in `cols` columns; fences unless another reduction did.
  std::vector<MomentsOfBoth> magnitudes(std::int64_t cols);
  /// D = B, scaled by `FirstScale` of what `measure` found; a column that failed is 0. For
  /// `correct_first` and `residual_first`.
  void start(Block const& B, double norm, Block const& D);
  /// `correct` of W = 0 by the D that came from `start`
  void correct_first(Block const& D, Scaling const& d, Block const& W, bool multiplies);
  /// R = s B(:, index) - R, with d R for R where it `multiplies`;
  /// max[0] of |r|;  sum[1], max[1] of |w|;  as given those and sum[0] of u r / d and d w / u;
  /// an empty d: both are the same
  std::vector<MomentsOfBoth> residual(Scalars const& s, Block const& B, Indices const& index, Block const& W, Block const& R, Scaling const& d, double u, bool multiplies = false);
  /// The same with the scales of `start`, for all columns;  X = d (t W) where X is given, unless
  /// `measure` found something in G
  std::vector<MomentsOfBoth> residual_first(Block const& B, Indices const& index, Block const& W, Block const& R, Scaling const& d, double u, bool multiplies, StridedMatrix<double> const& X);
  /// W = s X(:, index)
  void gather(Scalars const& s, Block const& X, Indices const& index, Block const& W);
  /// X(:, index) = s W
  void scatter(Scalars const& s, Block const& W, Block const& X, Indices const& index);
  /// A(:, c) = A(:, from(c)) for ascending c; from(c) >= c
  void compact(Indices const& from, Block const& A);
  /// Y = s X;  Y may be X
  void scale(Scalars const& s, Block const& X, Block const& Y);
  /// Y = s X, Z = t X;  Y may be X
  void scale(Scalars const& s, Scalars const& t, Block const& X, Block const& Y, Block const& Z);
  /// W += s D, rounded to where the numbers d (t W), which leave the refinement, are exact in fp64
  /// or overflow; an empty
  /// d: t W;  where it `multiplies`, D = d W
  void correct(Scalars const& s, Block const& D, Scalars const& t, Scaling const& d, Block const& W, bool multiplies = false);
  /// sum[0] = r'z, sum[1] = q'z for `direction` and `advance`
  void see_products(Block const& R, Block const& Q, Block const& Z);
  /// P = s Z + (s q'z / t) P, and V = d P where there is a d
  void direction(Scalars const& s, Block const& Z, Scalars const& t, Block const& P, Scaling const& d, Block const& V);
  /// Q = d Q where there is a d;  sum[0] = p'q for `advance`
  void see_curvature(Block const& P, Scaling const& d, Block const& Q);
  /// D += a P, R -= a Q with a = step_length(s r'z, p'q);  what was seen, with
  /// residual.sum[0] = r'r, residual.max[0] = max |r|
  std::vector<ConjugateStep> advance(Scalars const& s, Block const& P, Block const& Q, Block const& D, Block const& R);
  /// V^T W, of the first `steps` vectors
  Scalars project(Basis const& V, std::int64_t steps, Block const& W);
  /// W += s V y, of the first `steps` vectors
  void combine(double s, Basis const& V, std::int64_t steps, Scalars const& y, Block const& W);
  // clang-format on

  /// columns(c)(i) for each entry of `cols` columns.
  template <class Columns>
  void for_each_column(char const* label, std::int64_t cols, Columns const& columns);
  /// body(i, c) for each entry of `cols` columns.
  template <class Body>
  void for_each(char const* label, std::int64_t cols, Body const& body);
  /// body(i, c, moments) for each entry; the moments of each column. Fences.
  template <class Result = Moments, class Body>
  std::vector<Result> reduce(char const* label, std::int64_t cols, Body const& body);
  /// Where the partial sums of a reduction go. All but the last stay while others come, and are on
  /// the device, too.
  enum Slot : std::int64_t { OfMeasure, OfProducts, OfCurvature, OfOthers };
  static constexpr std::int64_t slots = OfOthers + 1;
  /// `reduce` without its end.
  template <class Result, class Body>
  void enqueue(char const* label, std::int64_t cols, Slot slot, Body const& body);
  /// The same of columns(c)(i, moments).
  template <class Result, class Columns>
  void enqueue_columns(char const* label, std::int64_t cols, Slot slot, Columns const& columns);
  /// `residual` and `correct` with coefficients that are on the device, or few; X as in
  /// `residual_first`.
  std::vector<MomentsOfBoth> residual(Factors const& factor, Block const& B, Indices const& index,
                                      Block const& W, Block const& R, Scaling const& d, double u,
                                      bool multiplies, StridedMatrix<double> const& X);
  void correct(Factors const& factor, bool from_zero, Block const& D, Scaling const& d,
               Block const& W, bool multiplies);

 private:
  using Coefficients = Kokkos::View<double*, MemorySpace>;
  static constexpr bool has_one_memory = std::is_same_v<MemorySpace, HostSpace>;

  PartialSums seen(Slot slot) const { return {kept_data<Moments>(slot), chunks_}; }
  Factors upload(Scalars const& values);
  Scalars fetch_products(std::int64_t count);
  template <class Result>
  std::vector<Result> collect(std::int64_t cols, Slot slot);
  /// The data of a slot on the host, where a device writes them.
  template <class Result>
  Result* slot_data(Slot slot) const {
    return reinterpret_cast<Result*>(host_moments_.data() + slot * host_moments_.extent(0));
  }
  /// For the device to read.
  template <class Result>
  Result* kept_data(Slot slot) const {
    if (has_one_memory) return slot_data<Result>(slot);
    return reinterpret_cast<Result*>(moments_.data() + slot * moments_.extent(0));
  }

  Exec exec_;
  std::int64_t rows_, chunks_;
  Buffer<Exec> memory_;                              // that the views are in
  Kokkos::View<std::byte*, HostSpace> host_memory_;  // or in this, where it is another one
  std::vector<Block> blocks_;
  Kokkos::View<MomentsOfBoth* [OfOthers], Kokkos::LayoutLeft, MemorySpace>
      moments_;  // by slot: chunk + chunks * column
  Kokkos::View<MomentsOfBoth* [slots], Kokkos::LayoutLeft, HostSpace> host_moments_;
  Coefficients starts_;  // of `start`: s, to unit, from unit and t of all columns
  Kokkos::View<std::int64_t, MemorySpace> found_in_;  // the last `measure` that found something
  std::int64_t measured_ = 0;
  bool is_under_way_[slots] = {};  // by slot: a reduction since the last fence
  Coefficients products_;          // chunk + chunks * (step + steps * column)
  Kokkos::View<double*, HostSpace> host_products_;
  Coefficients arena_;  // coefficients of kernels enqueued since the last fence
  Kokkos::View<double*, HostSpace> host_arena_;
  std::size_t used_ = 0;
};

}  // namespace strata::dense::detail

#endif
