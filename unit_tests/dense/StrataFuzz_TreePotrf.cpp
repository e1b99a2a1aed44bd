// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// tree_trsm and tree_syrk over all arguments, held to an error bound of each element in long
// double.
#include "StrataFuzz_Dense.hpp"
#include <dense/recursion/Strata_TreeSyrk.hpp>
#include <dense/recursion/Strata_TreeTrsm.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace {

using namespace strata;
using namespace strata::dense;
using namespace strata::test;
using Wide = long double;

constexpr double c = 8;  // of all bounds

/// Rounding to a precision: |error of a| <= relative |a| + floor(largest magnitude of the block).
struct Rounding {
  double relative, least;
  bool scaled;

  /// The rounding of the coarser of two precisions.
  Rounding(Precision layer, Precision operand) {
    PrecisionTraits const rough = traits(coarser(operand, layer));
    relative = rough.unit_roundoff;
    scaled = rough.max_finite <= 65504;
    least = rough.min_normal * rough.unit_roundoff * (scaled ? 2 / rough.max_finite : 1);
  }
  double floor(double largest) const { return scaled ? least * largest : least; }
};

/// Relative error of one step of a sum.
double sum_step(Precision layer, Precision operand) {
  return traits(accumulator(coarser(operand, layer))).unit_roundoff;
}

constexpr bool referenced(Uplo uplo, std::int64_t i, std::int64_t j) {
  return uplo == Uplo::Lower ? i >= j : i <= j;
}

/// Whether a block of the tree is in a format that has fp32's range but no scale.
bool has_fp32_range(LayerList const& layers, Precision operand) {
  return operand == Precision::fp32 || std::any_of(layers.begin(), layers.end(), [](Precision p) {
           return p == Precision::bf16 || storage(p) == Precision::fp32;
         });
}

double power_of_ten(FuzzRandom& random, std::int64_t most) {
  return random.coin() ? 1 : std::pow(10.0, static_cast<double>(random.integer(-most, most)));
}

/// What is the same for both functions.
struct Setting {
  std::int64_t n, m, leaf_size;
  Uplo uplo;
  Op op;
  double alpha;

  explicit Setting(FuzzCase& one) {
    FuzzRandom& random = one.random;
    n = random.once_in(10) ? random.integer(0, 3) : random.integer(1, 150);
    m = random.once_in(10) ? random.integer(0, 2) : random.integer(1, 40);
    leaf_size = random.integer(1, 60);
    uplo = random.coin() ? Uplo::Lower : Uplo::Upper;
    op = random.coin() ? Op::NoTrans : Op::Trans;
    alpha = random.once_in(8) ? 0 : random.once_in(4) ? 1 : random.normal();
    one.describe("n ", n, " m ", m, " leaf ", leaf_size, uplo == Uplo::Lower ? " lower" : " upper",
                 op == Op::Trans ? " transposed" : "", " alpha ", alpha);
  }
};

// ---- trsm: op(A) X = alpha B or X op(A) = alpha B ----

/// One system and what is wrong with it on purpose.
template <class T>
struct Trsm {
  Setting const s;
  Side side;
  Diag diag;
  double size_a, size_b;
  StoredMatrix<T> A, B;
  std::int64_t poisoned = -1;  // the column (Left) or row of B that holds NaN or Inf

  Trsm(FuzzCase& one, LayerList const& layers, bool any_order)
      : s(one),
        side(one.random.coin() ? Side::Left : Side::Right),
        diag(one.random.coin() ? Diag::Unit : Diag::NonUnit),
        A(one.random, s.n, s.n, !any_order || one.random.coin()),
        B(one.random, side == Side::Left ? s.n : s.m, side == Side::Left ? s.m : s.n,
          !any_order || one.random.coin()) {
    size_a = power_of_ten(one.random, 15);
    size_b = power_of_ten(one.random, has_fp32_range(layers, precision_of<T>) ? 15 : 280);
    fill(one.random);
    one.describe(side == Side::Left ? "left" : "right", diag == Diag::Unit ? " unit" : "", " |A| ",
                 size_a, " |B| ", size_b, " poisoned ", poisoned);
  }

  void fill(FuzzRandom& random) {
    bool const hard = diag == Diag::Unit && random.once_in(4);  // the solution may grow
    double const off = hard ? 0.3 : 1 / static_cast<double>(s.n + 1);
    double const entries =
        diag == Diag::Unit ? (random.coin() ? 1 : std::min(1.0, size_a)) : size_a;
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t i = 0; i < s.n; ++i) {
        if (!referenced(s.uplo, i, j) || (i == j && diag == Diag::Unit)) continue;  // garbage stays
        A(i, j) = static_cast<T>(
            entries * (i == j ? 1.5 + std::abs(random.normal()) : off * random.normal()));
      }
    for (std::int64_t j = 0; j < B.cols(); ++j)
      for (std::int64_t i = 0; i < B.rows(); ++i)
        B(i, j) = static_cast<T>(random.once_in(50) ? 0 : size_b * random.normal());
    if (s.n == 0 || s.m == 0 || !random.once_in(5)) return;
    poisoned = random.integer(0, s.m - 1);
    T& entry = side == Side::Left ? B(random.integer(0, s.n - 1), poisoned)
                                  : B(poisoned, random.integer(0, s.n - 1));
    entry = static_cast<T>(random.coin() ? fuzz_nan : fuzz_infinity);
  }

  /// Element (i, k) of the matrix that multiplies columns of X (Left), or of X^T.
  Wide matrix(std::int64_t i, std::int64_t k) const {
    if ((s.op == Op::Trans) != (side == Side::Right)) std::swap(i, k);
    if (i == k && diag == Diag::Unit) return 1;
    return referenced(s.uplo, i, k) ? static_cast<Wide>(A(i, k)) : 0;
  }
  Wide solution(std::int64_t i, std::int64_t j) const {
    return side == Side::Left ? B(i, j) : B(j, i);
  }
  Wide right_hand_side(std::int64_t i, std::int64_t j) const {
    return side == Side::Left ? B.before(i, j) : B.before(j, i);
  }

  void check(FuzzCase& one, LayerList const& layers) const;
  void check_column(FuzzCase& one, LayerList const& layers, std::int64_t j, double largest_a,
                    double largest_x) const;
};

template <class T>
void Trsm<T>::check(FuzzCase& one, LayerList const& layers) const {
  one.expect(A.changed().empty(), "A: ", A.changed());
  auto const outside = B.changed([](auto, auto) { return true; });
  one.expect(outside.empty(), "B: ", outside);
  double largest_a = 0, largest_x = 0;
  for (std::int64_t i = 0; i < s.n; ++i)
    for (std::int64_t k = 0; k < s.n; ++k)
      if (i != k || diag == Diag::NonUnit)
        largest_a = std::max(largest_a, static_cast<double>(std::abs(matrix(i, k))));
  for (std::int64_t j = 0; j < s.m; ++j)
    for (std::int64_t i = 0; i < s.n; ++i) {
      double const x = static_cast<double>(std::abs(solution(i, j)));
      if (std::isfinite(x)) largest_x = std::max(largest_x, x);
    }
  for (std::int64_t j = 0; j < s.m; ++j) check_column(one, layers, j, largest_a, largest_x);
}

template <class T>
void Trsm<T>::check_column(FuzzCase& one, LayerList const& layers, std::int64_t j, double largest_a,
                           double largest_x) const {
  if (j == poisoned && s.alpha != 0) {
    bool shows = false;
    for (std::int64_t i = 0; i < s.n; ++i) shows = shows || !std::isfinite(solution(i, j));
    one.expect(shows, "what is not finite in vector ", j, " of B can't be seen in X");
    return;
  }
  Precision const stored = precision_of<T>;
  double const own = traits(stored).unit_roundoff, tiny = traits(stored).min_normal;
  for (std::int64_t i = 0; i < s.n; ++i) {
    Wide residual = s.alpha == 0 ? 0 : s.alpha * right_hand_side(i, j);
    Wide bound = own * std::abs(residual) + tiny;
    Wide square_a = 0, square_x = 0, unit = 0;  // of products of integers, whose error is of norms
    for (std::int64_t k = 0; k < s.n; ++k) {
      Wide const a = matrix(i, k), x = solution(k, j);
      if (a == 0) continue;
      residual -= a * x;
      auto const layer = layer_of(std::max(i, k), std::min(i, k), s.n, s.leaf_size, layers);
      Rounding const rounding(layer, stored);
      double const step = static_cast<double>(s.n + 4) * sum_step(layer, stored);
      bound += (2 * rounding.relative + step) * std::abs(a * x) +
               rounding.floor(largest_a) * std::abs(x) + rounding.floor(largest_x) * std::abs(a);
      if (moduli_of(layer) == 0) continue;
      square_a += a * a;
      square_x += x * x;
      unit = std::max<Wide>(unit, rounding.relative);
    }
    bound += 2 * unit * std::sqrt(square_a) * std::sqrt(square_x);
    if (!one.expect(std::abs(residual) <= c * bound, "trsm: residual ", residual, " of (", i, ", ",
                    j, ") exceeds ", c, " times ", bound))
      return;
  }
}

template <class LayersT, class T>
void trsm_of_views(FuzzCase& one) {
  Trsm<T> system(one, LayersT::list(), true);
  auto const A = system.A.send();
  auto const B = system.B.send();
  tree_trsm<LayersT>(FuzzSpace(), system.side, system.s.uplo, system.s.op, system.diag,
                     system.s.alpha, A, B, system.s.leaf_size);
  system.A.fetch(), system.B.fetch();
  system.check(one, LayersT::list());
}

template <class T>
void trsm_of_a_tree(FuzzCase& one, LayerList const& layers) {
  Trsm<T> system(one, layers, false);
  auto const& s = system.s;
  BlockTreeOptions options;
  options.leaf_solve =
      one.random.one_of({LeafSolve::Automatic, LeafSolve::Substitution, LeafSolve::Inverse});
  options.panel_size = one.random.integer(0, 1) * one.random.integer(1, 100);
  auto const products = one.random.coin() ? Products::Layered : Products::AsStored;
  one.describe("leaf solve ", static_cast<int>(options.leaf_solve), " panel ", options.panel_size,
               products == Products::Layered ? " layered" : " as stored");
  FuzzSpace const exec;
  LeafBlas<FuzzSpace> blas(exec);
  BlockTree<LayerList, FuzzSpace> L(exec, s.n, layers, s.leaf_size, options);
  (void)system.A.send(), (void)system.B.send();
  L.load(exec, s.uplo, system.A.ref(), {}, 0, system.diag);
  L.quantise_all(blas);
  tree_trsm(blas, system.side, s.uplo == Uplo::Upper ? transposed(s.op) : s.op, system.diag,
            s.alpha, L, system.B.ref(), products);
  exec.fence("strata::fuzz::trsm");
  system.A.fetch(), system.B.fetch();
  system.check(one, layers);
}

// ---- syrk: C = alpha op(A) op(A)^T + beta C ----

template <class T>
struct Syrk {
  Setting const s;
  double beta, size;
  StoredMatrix<T> A, C;
  std::int64_t poisoned = -1, poisoned_at = -1;  // where op(A) holds NaN or Inf

  Syrk(FuzzCase& one, LayerList const& layers, bool any_order)
      : s(one),
        beta(one.random.once_in(3)   ? 0
             : one.random.once_in(3) ? 1
                                     : one.random.normal()),
        A(one.random, s.op == Op::NoTrans ? s.n : s.m, s.op == Op::NoTrans ? s.m : s.n,
          !any_order || one.random.coin()),
        C(one.random, s.n, s.n, !any_order || one.random.coin()) {
    size = power_of_ten(one.random, has_fp32_range(layers, precision_of<T>) ? 12 : 140);
    fill(one.random);
    one.describe("beta ", beta, " |A| ", size, " poisoned ", poisoned);
  }

  void fill(FuzzRandom& random) {
    for (std::int64_t j = 0; j < A.cols(); ++j)
      for (std::int64_t i = 0; i < A.rows(); ++i) {
        auto const row = static_cast<int>(s.op == Op::NoTrans ? i : j);
        A(i, j) = static_cast<T>(
            random.once_in(50) ? 0 : size * std::ldexp(random.normal(), row % 20 - 10));
      }
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t i = 0; i < s.n; ++i)  // else garbage stays
        if (referenced(s.uplo, i, j) && beta != 0)
          C(i, j) = static_cast<T>(size * size * random.normal());
    if (s.n == 0 || s.m == 0 || !random.once_in(5)) return;
    poisoned = random.integer(0, s.n - 1);
    poisoned_at = random.integer(0, s.m - 1);
    T& entry = s.op == Op::NoTrans ? A(poisoned, poisoned_at) : A(poisoned_at, poisoned);
    entry = static_cast<T>(random.coin() ? fuzz_nan : fuzz_infinity);
  }

  Wide operand(std::int64_t i, std::int64_t k) const {
    return s.op == Op::NoTrans ? A(i, k) : A(k, i);
  }

  void check(FuzzCase& one, LayerList const& layers) const;
  bool check_entry(FuzzCase& one, LayerList const& layers, std::int64_t i, std::int64_t j,
                   double largest) const;
};

template <class T>
void Syrk<T>::check(FuzzCase& one, LayerList const& layers) const {
  one.expect(A.changed().empty(), "A: ", A.changed());
  auto const outside = C.changed([&](auto i, auto j) { return referenced(s.uplo, i, j); });
  one.expect(outside.empty(), "C: ", outside);
  double largest = 0;
  for (std::int64_t i = 0; i < s.n; ++i)
    for (std::int64_t k = 0; k < s.m; ++k)
      if (double const a = std::abs(static_cast<double>(operand(i, k))); std::isfinite(a))
        largest = std::max(largest, a);
  for (std::int64_t j = 0; j < s.n; ++j)
    for (std::int64_t i = 0; i < s.n; ++i)
      if (referenced(s.uplo, i, j) && !check_entry(one, layers, i, j, largest)) return;
}

template <class T>
bool Syrk<T>::check_entry(FuzzCase& one, LayerList const& layers, std::int64_t i, std::int64_t j,
                          double largest) const {
  Precision const stored = precision_of<T>;
  auto const layer = layer_of(std::max(i, j), std::min(i, j), s.n, s.leaf_size, layers);
  Rounding const rounding(layer, stored);
  bool const is_poisoned = (i == poisoned || j == poisoned) && s.alpha != 0;
  if (is_poisoned && !std::isfinite(C(i, j))) return true;
  // A BLAS may leave out products with a zero, and with what is rounded to one.
  if (is_poisoned &&
      (i == j || std::abs(operand(i == poisoned ? j : i, poisoned_at)) > rounding.floor(largest)))
    return one.expect(false, "syrk: (", i, ", ", j, ") is ", C(i, j), ", a row of A is not finite");
  Wide const old = beta == 0 ? 0 : beta * static_cast<Wide>(C.before(i, j));
  Wide sum = 0, magnitude = 0, rows = 0, square_i = 0, square_j = 0;
  for (std::int64_t k = 0; k < s.m && s.alpha != 0; ++k) {
    if (is_poisoned && k == poisoned_at) continue;
    Wide const a = operand(i, k), b = operand(j, k);
    sum += a * b;
    magnitude += std::abs(a * b);
    rows += std::abs(a) + std::abs(b);
    square_i += a * a;
    square_j += b * b;
  }
  // Products of integers have an error of the rows' norms, not of each number.
  if (moduli_of(layer) > 0)
    magnitude = std::max(magnitude, std::sqrt(square_i) * std::sqrt(square_j));
  double const step = static_cast<double>(s.m + 4) * sum_step(layer, stored);
  Wide const expected = s.alpha * sum + old, size_of_alpha = std::abs(s.alpha);
  Wide const bound =
      size_of_alpha *
          ((2 * rounding.relative + step) * magnitude + rounding.floor(largest) * rows) +
      4 * traits(stored).unit_roundoff * (size_of_alpha * magnitude + std::abs(old)) +
      traits(stored).min_normal;
  return one.expect(std::abs(expected - C(i, j)) <= c * bound, "syrk: (", i, ", ", j, ") is ",
                    C(i, j), ", not ", expected, ": the error exceeds ", c, " times ", bound);
}

template <class LayersT, class T>
void syrk_of_views(FuzzCase& one) {
  Syrk<T> product(one, LayersT::list(), true);
  auto const A = product.A.send();
  auto const C = product.C.send();
  auto const& s = product.s;
  tree_syrk<LayersT>(FuzzSpace(), s.uplo, s.op, s.alpha, A, product.beta, C, s.leaf_size);
  product.A.fetch(), product.C.fetch();
  product.check(one, LayersT::list());
}

template <class T>
void syrk_of_a_list(FuzzCase& one, LayerList const& layers) {
  Syrk<T> product(one, layers, false);
  (void)product.A.send(), (void)product.C.send();
  auto const& s = product.s;
  FuzzSpace const exec;
  LeafBlas<FuzzSpace> blas(exec);
  tree_syrk(blas, layers, s.leaf_size, s.uplo, s.op, s.alpha, product.A.ref(), product.beta,
            product.C.ref());
  exec.fence("strata::fuzz::syrk");
  product.A.fetch(), product.C.fetch();
  product.check(one, layers);
}

// ---- cases ----

using TypedLists = std::tuple<Layers<fp64>, Layers<fp32>, Layers<fp16>, Layers<fp16, fp32>,
                              Layers<fp16, fp16, fp32, fp64>, Layers<bf16, fp64>,
                              Layers<fp8_e4m3, fp16, fp32>, Layers<fp8_e5m2, bf16>>;

template <class LayersT, class T>
void of_views(FuzzCase& one, bool is_trsm) {
  one.describe(is_trsm ? "trsm" : "syrk", "of views, layers ", LayersT::list().name());
  if (is_trsm)
    trsm_of_views<LayersT, T>(one);
  else
    syrk_of_views<LayersT, T>(one);
}

template <class T>
void one_of_type(FuzzCase& one) {
  one.describe(traits(precision_of<T>).name);
  bool const is_trsm = one.random.coin();
  if (one.random.coin()) {
    auto const layers = any_layers(one.random);
    one.describe(is_trsm ? "trsm" : "syrk", "layers ", layers.name());
    return is_trsm ? trsm_of_a_tree<T>(one, layers) : syrk_of_a_list<T>(one, layers);
  }
  auto const chosen = one.random.integer(0, std::tuple_size_v<TypedLists> - 1);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((static_cast<std::int64_t>(i) == chosen
          ? of_views<std::tuple_element_t<i, TypedLists>, T>(one, is_trsm)
          : void()),
     ...);
  }(std::make_index_sequence<std::tuple_size_v<TypedLists>>());
}

void one_case(FuzzCase& one) {
  if (one.random.coin())
    one_of_type<double>(one);
  else
    one_of_type<float>(one);
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos;
  return fuzz(argc, argv, one_case);
}
