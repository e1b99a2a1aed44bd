// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The drop-in beside the system's LAPACK, call by call: every routine, both widths of integers,
// wrong arguments, padded arrays, NaN and infinity, indefinite and badly scaled matrices.
//
// Below the threshold and for wrong arguments all is as LAPACK leaves it, bit by bit. Above it info
// is LAPACK's, the order of the first pivot that is not positive and finite, and what LAPACK does
// not write stays. Factors and solutions are held to the bounds of their method in long double.
#include <StrataTest_Fuzz.hpp>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

std::string xerbla_said;

}  // namespace

// The program's own, of which both libraries find the one.
extern "C" __attribute__((visibility("default"))) void xerbla_(char const* name,
                                                               int const* position,
                                                               std::size_t length) {
  std::string text(name, length);
  text.erase(text.find_last_not_of(' ') + 1);
  xerbla_said += text + " " + std::to_string(*position) + ";";
}

namespace strata::test {
namespace {

using Real = long double;

void* load(char const* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return library;
}

struct Libraries {
  void* drop_in = load(STRATATEST_LAPACK_LIBRARY);
  void* lapack = load("liblapack.so.3");

  template <class Function>
  static Function* find(void* library, std::string const& name) {
    void* const found = dlsym(library, name.c_str());
    if (found == nullptr) throw std::runtime_error("no " + name);
    return reinterpret_cast<Function*>(found);
  }
};
Libraries const& libraries() {
  static Libraries const all;
  return all;
}

int configure(std::string const& text) {
  return Libraries::find<int(char const*)>(libraries().drop_in,
                                           "strata_lapack_configure")(text.c_str());
}

enum class Routine { Potrf, Potrs, Posv, Dsposv };
enum class Kind { Definite, Scaled, Singular, NegativePivot, LargeOffDiagonal, NotFinite };
constexpr char const* routine_names[] = {"potrf", "potrs", "posv", "dsposv"};
constexpr char const* kind_names[] = {"definite",   "badly scaled",       "nearly singular",
                                      "indefinite", "plainly indefinite", "not finite"};

// One call's arguments.
template <class T>
struct Arguments {
  Routine routine;
  char uplo;
  std::int64_t n, nrhs, lda, ldb, ldx;
  std::vector<T> A, B, X;
  std::int64_t iter = 77, info = 99;

  bool lower() const { return uplo == 'L' || uplo == 'l'; }
  T& a(std::int64_t i, std::int64_t j) { return A[static_cast<std::size_t>(i + j * lda)]; }
  Real symmetric(std::int64_t i, std::int64_t j) const {
    bool const swap = lower() ? i < j : i > j;
    return A[static_cast<std::size_t>(swap ? j + i * lda : i + j * lda)];
  }
};

template <class T>
char const* letter = std::is_same_v<T, double> ? "d" : "s";

// Calls the routine of `library` with integers of type Int.
template <class Int, class T>
void call(void* library, Arguments<T>& x) {
  Int const n = static_cast<Int>(x.n), nrhs = static_cast<Int>(x.nrhs),
            lda = static_cast<Int>(x.lda), ldb = static_cast<Int>(x.ldb),
            ldx = static_cast<Int>(x.ldx);
  Int info = 99, iter = 77;
  std::string const end = sizeof(Int) == 8 ? "_64_" : "_";
  T *const A = x.A.data(), *const B = x.B.data();
  if (x.routine == Routine::Potrf) {
    using F = void(char const*, Int const*, T*, Int const*, Int*, std::size_t);
    Libraries::find<F>(library, letter<T> + ("potrf" + end))(&x.uplo, &n, A, &lda, &info, 1);
  } else if (x.routine != Routine::Dsposv) {
    using F = void(char const*, Int const*, Int const*, T*, Int const*, T*, Int const*, Int*,
                   std::size_t);
    std::string const name = x.routine == Routine::Potrs ? "potrs" : "posv";
    Libraries::find<F>(library, letter<T> + (name + end))(&x.uplo, &n, &nrhs, A, &lda, B, &ldb,
                                                          &info, 1);
  } else if constexpr (std::is_same_v<T, double>) {
    using F = void(char const*, Int const*, Int const*, T*, Int const*, T*, Int const*, T*,
                   Int const*, T*, float*, Int*, Int*, std::size_t);
    auto const rows = static_cast<std::size_t>(std::max<std::int64_t>(x.n, 1)),
               cols = static_cast<std::size_t>(std::max<std::int64_t>(x.nrhs, 1));
    std::vector<double> work(rows * cols);
    std::vector<float> swork(rows * (rows + cols));
    Libraries::find<F>(library, "dsposv" + end)(&x.uplo, &n, &nrhs, A, &lda, B, &ldb, x.X.data(),
                                                &ldx, work.data(), swork.data(), &iter, &info, 1);
  }
  x.info = info;
  x.iter = iter;
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Whether what is outside of the rows x cols numbers at the front, or of A's triangle, has kept its
// bits.
template <class T>
bool rest_is_same(Arguments<T> const& x, std::vector<T> const& now, std::vector<T> const& before,
                  std::int64_t cols, std::int64_t ld, bool triangle) {
  for (std::size_t k = 0; k < now.size(); ++k) {
    auto const i = static_cast<std::int64_t>(k) % ld, j = static_cast<std::int64_t>(k) / ld;
    if (i < x.n && j < cols && (!triangle || (x.lower() ? i >= j : i <= j))) continue;
    if (std::memcmp(&now[k], &before[k], sizeof(T)) != 0) return false;
  }
  return true;
}

// The order of the first leading minor whose pivot is not positive and finite, and whether rounding
// could not have changed that; the factor up to there.
struct Oracle {
  std::int64_t info = 0;
  bool is_clear = true;
  std::vector<Real> L;
};
template <class T>
Oracle factor(Arguments<T> const& x) {
  Oracle o;
  o.L.resize(static_cast<std::size_t>(x.n * x.n));
  auto const l = [&](std::int64_t i, std::int64_t j) -> Real& {
    return o.L[static_cast<std::size_t>(i + j * x.n)];
  };
  auto const rest = [&](std::int64_t i, std::int64_t j) {
    Real sum = x.symmetric(i, j);
    for (std::int64_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
    return sum;
  };
  Real const margin = 1e3L * static_cast<Real>(x.n) * std::numeric_limits<T>::epsilon();
  for (std::int64_t j = 0; j < x.n && o.info == 0; ++j) {
    Real const pivot = rest(j, j), share = pivot / std::abs(x.symmetric(j, j));
    if (std::abs(share) < margin) o.is_clear = false;
    if (!(pivot > 0 && pivot <= std::numeric_limits<T>::max())) o.info = j + 1;
    l(j, j) = std::sqrt(pivot);
    for (std::int64_t i = j + 1; i < x.n && o.info == 0; ++i) l(i, j) = rest(i, j) / l(j, j);
  }
  return o;
}

template <class T>
Arguments<T> random_arguments(FuzzRandom& random, Routine routine, Kind kind) {
  Arguments<T> x{};
  x.routine = routine;
  x.uplo = random.one_of("LlUu");
  if (x.uplo == '\0') x.uplo = 'L';
  x.n = random.once_in(4) ? random.integer(0, 5) : random.integer(0, random.once_in(20) ? 300 : 90);
  x.nrhs = random.integer(0, random.once_in(4) ? 60 : 4);
  for (std::int64_t* const ld : {&x.lda, &x.ldb, &x.ldx})
    *ld = std::max<std::int64_t>(1, x.n) + (random.coin() ? 0 : random.integer(1, 9));
  auto const fill = [&](std::vector<T>& numbers, std::int64_t count) {
    numbers.resize(static_cast<std::size_t>(count) + 3);
    for (T& number : numbers)
      number = random.coin() ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(-3e30);
  };
  fill(x.A, x.lda * x.n);
  fill(x.B, x.ldb * x.nrhs);
  fill(x.X, x.ldx * x.nrhs);
  double const least = std::pow(10.0, -random.number(0, sizeof(T) == 8 ? 8 : 3));
  std::vector<double> u(static_cast<std::size_t>(x.n)), scale(u.size(), 1.0);
  for (double& number : u) number = random.normal();
  if (kind == Kind::Scaled)
    for (double& number : scale) number = std::pow(10.0, random.integer(-6, 6));
  for (std::size_t j = 0; j < u.size(); ++j)  // a diagonal and a matrix of rank 1
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto const row = static_cast<std::int64_t>(i), col = static_cast<std::int64_t>(j);
      if (x.lower() ? row < col : row > col) continue;
      double value = 0.3 * u[i] * u[j];
      if (i == j)
        value +=
            kind == Kind::Singular && random.once_in(3) ? 0 : std::pow(least, random.number(0, 1));
      x.a(row, col) = static_cast<T>(value * scale[i] * scale[j]);
    }
  for (std::int64_t j = 0; j < x.nrhs; ++j)
    for (std::size_t i = 0; i < u.size(); ++i)
      x.B[i + static_cast<std::size_t>(j * x.ldb)] = static_cast<T>(random.normal() * scale[i]);
  if (x.n == 0) return x;
  std::int64_t const k = random.integer(0, x.n - 1), m = random.integer(0, x.n - 1);
  T& element =
      x.lower() ? x.a(std::max(k, m), std::min(k, m)) : x.a(std::min(k, m), std::max(k, m));
  T const inf = std::numeric_limits<T>::infinity();
  if (kind == Kind::NegativePivot) x.a(k, k) = -std::abs(x.a(k, k));
  if (kind == Kind::LargeOffDiagonal && k != m) element = 1000;
  if (kind == Kind::NotFinite)
    element = random.one_of({std::numeric_limits<T>::quiet_NaN(), inf, -inf});
  return x;
}

constexpr char const* settings[] = {
    "leaf=0,layers=auto",        "leaf=7,layers=auto",
    "leaf=32,layers=fp16:fp32",  "leaf=24,layers=fp8_e4m3:fp16:fp32",
    "leaf=16,layers=bf16",       "leaf=48,layers=fp64",
    "leaf=48,layers=fp16_split", "leaf=40,layers=tf32:fp32",
    "leaf=33,layers=fp8_e5m2",   "leaf=20,layers=bf16:bf16:fp32"};

// By integers of either width; the drop-in has both, the reference often 32 bits alone.
template <class T>
void call_drop_in(FuzzCase& c, Arguments<T>& x) {
  if (c.random.coin())
    call<std::int32_t>(libraries().drop_in, x);
  else
    call<std::int64_t>(libraries().drop_in, x);
}

// All that LAPACK leaves, to the bit.
template <class T>
void compare(FuzzCase& c, Arguments<T> const& before, char const* what) {
  Arguments<T> mine = before, theirs = before;
  xerbla_said.clear();
  call_drop_in(c, mine);
  std::string const said = std::exchange(xerbla_said, {});
  call<std::int32_t>(libraries().lapack, theirs);
  c.expect(mine.info == theirs.info, what, ": info ", mine.info, ", LAPACK's ", theirs.info);
  c.expect(said == xerbla_said, what, ": XERBLA was told '", said, "', by LAPACK '", xerbla_said,
           "'");
  if (before.routine == Routine::Dsposv && theirs.info >= 0)
    c.expect(mine.iter == theirs.iter, what, ": iter ", mine.iter, ", LAPACK's ", theirs.iter);
  c.expect(same_bits(mine.A, theirs.A), what, ": A is not LAPACK's");
  c.expect(same_bits(mine.B, theirs.B), what, ": B is not LAPACK's");
  c.expect(same_bits(mine.X, theirs.X), what, ": X is not LAPACK's");
}

// Makes one argument that the routine has wrong, or several.
template <class T>
void spoil(FuzzRandom& random, Arguments<T>& x) {
  std::int64_t const last = x.routine == Routine::Potrf ? 2 : x.routine == Routine::Dsposv ? 5 : 4;
  do {
    switch (random.integer(0, last)) {
      case 0:
        x.uplo = random.one_of("XN\1 /");
        break;
      case 1:
        x.n = -random.integer(1, 5);
        break;
      case 2:
        x.lda = random.integer(-3, std::max<std::int64_t>(x.n, 1) - 1);
        break;
      case 3:
        x.nrhs = -random.integer(1, 5);
        break;
      case 4:
        x.ldb = random.integer(-3, std::max<std::int64_t>(x.n, 1) - 1);
        break;
      default:
        x.ldx = random.integer(-3, std::max<std::int64_t>(x.n, 1) - 1);
    }
  } while (random.once_in(3));
}

// |A - L L^T|_ij <= c n eps sqrt(a_ii a_jj), c = 2
template <class T>
void judge_factor(FuzzCase& c, Arguments<T> const& before, Arguments<T> const& now) {
  Real const eps = std::numeric_limits<T>::epsilon();
  for (std::int64_t j = 0; j < now.n; ++j)
    for (std::int64_t i = j; i < now.n; ++i) {
      Real rest = before.symmetric(i, j);
      for (std::int64_t k = 0; k <= j; ++k) rest -= now.symmetric(i, k) * now.symmetric(j, k);
      Real const scale = std::sqrt(before.symmetric(i, i)) * std::sqrt(before.symmetric(j, j));
      if (!c.expect(std::abs(rest) <= 2 * static_cast<Real>(now.n + 10) * eps * scale,
                    "A - L L^T is ", rest, " at ", i, ", ", j, " beside ", scale))
        return;
    }
}

// |b - A x|_i <= c n eps sqrt(a_ii) sum_j sqrt(a_jj) |x_j|, c = 4: what Cholesky's method in T
// gives. In mixed precision without fallback ||r|| <= sqrt(n) 2^-53 ||A|| ||x|| for the r = b - A x
// that fp64 computes. The error of r is at most min(n + 1, 3 sqrt(n + 1)) 2^-53 (|A| |x| + |b|): n
// + 1 for certain, the rest as errors add up.
template <class T>
void judge_solution(FuzzCase& c, Arguments<T> const& x, std::vector<T> const& X, std::int64_t ld,
                    bool mixed) {
  Real const eps = std::numeric_limits<T>::epsilon();
  for (std::int64_t j = 0; j < x.nrhs; ++j) {
    auto const solution = [&](std::int64_t k) {
      return static_cast<Real>(X[static_cast<std::size_t>(k + j * ld)]);
    };
    Real weighted = 0, largest = 0, norm = 0, residual = 0, norm_of_x = 0, terms = 0;
    for (std::int64_t i = 0; i < x.n; ++i) {
      weighted += std::sqrt(x.symmetric(i, i)) * std::abs(solution(i));
      norm_of_x = std::max(norm_of_x, std::abs(solution(i)));
    }
    for (std::int64_t i = 0; i < x.n; ++i) {
      Real r = x.B[static_cast<std::size_t>(i + j * x.ldb)], row = 0, sum = std::abs(r);
      for (std::int64_t k = 0; k < x.n; ++k) {
        r -= x.symmetric(i, k) * solution(k);
        row += std::abs(x.symmetric(i, k));
        sum += std::abs(x.symmetric(i, k) * solution(k));
      }
      residual = std::isnan(r) ? r : std::max(residual, std::abs(r));
      norm = std::max(norm, row);
      terms = std::max(terms, sum);
      Real const share = std::abs(r) / std::sqrt(x.symmetric(i, i));
      largest = share <= largest ? largest : share;
    }
    Real const n = static_cast<Real>(x.n);
    if (mixed)
      c.expect(residual <= 0x1p-53L * (std::sqrt(n) * norm * norm_of_x +
                                       std::min(n + 1, 3 * std::sqrt(n + 1)) * terms),
               "column ", j, ": residual ", residual, " beside ||A|| ||x|| = ", norm * norm_of_x);
    else
      c.expect(largest <= 4 * (n + 5) * eps * weighted, "column ", j, ": scaled residual ", largest,
               " beside ", weighted);
  }
}

// The triangle of A becomes its factor, as potrs takes it.
template <class T>
void put_factor(Arguments<T>& x, Oracle const& o) {
  for (std::int64_t j = 0; j < x.n; ++j)
    for (std::int64_t i = j; i < x.n; ++i)
      (x.lower() ? x.a(i, j) : x.a(j, i)) =
          static_cast<T>(o.L[static_cast<std::size_t>(i + j * x.n)]);
}

// What Strata does of potrf, posv and dsposv.
template <class T>
void judge(FuzzCase& c, Arguments<T> const& before, Oracle const& oracle) {
  Arguments<T> now = before;
  call_drop_in(c, now);
  bool const mixed = before.routine == Routine::Dsposv, kept = mixed && now.iter >= 0,
             solves = before.routine != Routine::Potrf;
  c.describe("info ", now.info, " iter ", now.iter);
  if (oracle.is_clear)
    c.expect(now.info == oracle.info, "info ", now.info, ", must be ", oracle.info);
  c.expect(now.info >= 0 && now.info <= before.n, "info ", now.info);
  c.expect(!kept || now.info == 0, "iter ", now.iter, " beside info ", now.info);
  c.expect(rest_is_same(before, now.A, before.A, before.n, before.lda, true),
           "A's rest is changed");
  c.expect(!kept || same_bits(now.A, before.A), "A is changed though iter is ", now.iter);
  c.expect(rest_is_same(before, now.B, before.B, before.nrhs, before.ldb, false),
           "B's rest is changed");
  c.expect((solves && !mixed && now.info == 0) || same_bits(now.B, before.B), "B is changed");
  c.expect(rest_is_same(before, now.X, before.X, before.nrhs, before.ldx, false),
           "X's rest is changed");
  if (now.info != 0 || before.n == 0) return;
  if (!kept) judge_factor(c, before, now);
  if (solves)
    judge_solution(c, before, mixed ? now.X : now.B, mixed ? before.ldx : before.ldb, kept);
}

// What Strata does of potrs; the factor's product is the matrix.
template <class T>
void judge_potrs(FuzzCase& c, Arguments<T> before, Oracle const& oracle) {
  put_factor(before, oracle);
  Arguments<T> now = before, product = before;
  call_drop_in(c, now);
  c.expect(now.info == 0, "info ", now.info);
  c.expect(same_bits(now.A, before.A), "A is changed");
  c.expect(rest_is_same(before, now.B, before.B, before.nrhs, before.ldb, false),
           "B's rest is changed");
  for (std::int64_t j = 0; j < before.n; ++j)
    for (std::int64_t i = j; i < before.n; ++i) {
      Real sum = 0;
      for (std::int64_t k = 0; k <= j; ++k) sum += before.symmetric(i, k) * before.symmetric(j, k);
      (before.lower() ? product.a(i, j) : product.a(j, i)) = static_cast<T>(sum);
    }
  judge_solution(c, product, now.B, before.ldb, false);
}

template <class T>
void one_call(FuzzCase& c, Routine routine) {
  auto const kind = static_cast<Kind>(c.random.integer(0, 5));
  auto x = random_arguments<T>(c.random, routine, kind);
  std::string const setting = c.random.one_of(settings);
  c.describe(routine == Routine::Dsposv ? "" : letter<T>, routine_names[static_cast<int>(routine)],
             " of a ", kind_names[static_cast<int>(kind)], " matrix, uplo ", x.uplo, " n ", x.n,
             " nrhs ", x.nrhs, " lda ", x.lda, " ldb ", x.ldb, " ldx ", x.ldx, " ", setting);
  bool const spoiled = c.random.once_in(6), system = c.random.once_in(4);
  c.expect(configure((system ? "threshold=100000," : "threshold=0,") + setting) == 0,
           "settings are refused, or libstrata_c can't be loaded");
  if (spoiled) {
    spoil(c.random, x);
    return compare(c, x, "wrong arguments");
  }
  if (system || x.n == 0) return compare(c, x, "the system's");
  Oracle const oracle = factor(x);
  if (routine != Routine::Potrs) return judge(c, x, oracle);
  if (oracle.info == 0 && oracle.is_clear && x.nrhs > 0) judge_potrs(c, x, oracle);
}

// Settings of any text are taken or refused, and a bad text changes nothing that a call could see.
void any_settings(FuzzCase& c) {
  constexpr char const* words[] = {"threshold", "layers", "leaf", "trace", "lapack", "=",  ",",
                                   "0",         "-1",     "fp16", ":",     "fp12",   "\n", "1e9"};
  std::string text;
  for (std::int64_t k = c.random.integer(0, 8); k > 0; --k) text += c.random.one_of(words);
  if (text.find("trace") != std::string::npos) return;  // nobody reads so much
  c.describe("settings ", text);
  int const status = configure(text);
  c.expect(status == 0 || status == 3, "status ", status);
  c.expect(configure("threshold=0,layers=auto,leaf=0,lapack=") == 0, "settings are not taken");
}

void one_case(FuzzCase& c) {
  if (c.random.once_in(50)) return any_settings(c);
  auto const routine = static_cast<Routine>(c.random.integer(0, 3));
  if (routine == Routine::Dsposv || c.random.coin())
    one_call<double>(c, routine);
  else
    one_call<float>(c, routine);
}

}  // namespace
}  // namespace strata::test

int main(int argc, char** argv) {
  setenv("OPENBLAS_NUM_THREADS", "1", 0);  // products of many threads need not be the same twice
  return strata::test::fuzz(argc, argv, strata::test::one_case);
}
