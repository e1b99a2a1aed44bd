// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Time until a matrix is known as not positive definite, by the order of its first leading minor
// that is not positive. It is asked of is_positive_definite, cholesky, and the vendor's potrf,
// which works in place. A negative diagonal entry shows before anything is factored; an entry that
// is too large beside positive ones ("pair") shows in a factorisation alone.
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <dense/Strata_Definiteness.hpp>

#include <StrataPerf_Harness.hpp>

#include <algorithm>

namespace strata::perf {

namespace {

using namespace strata::dense;

// A(i, i - 1) becomes twice what two diagonal entries allow.
void enlarge(Exec const& exec, MatrixView const& A, std::int64_t i) {
  Kokkos::parallel_for(
      "strata::perf::enlarge", Kokkos::RangePolicy<Exec>(exec, i, i + 1),
      KOKKOS_LAMBDA(std::int64_t k) {
        A(k, k - 1) = A(k - 1, k) = 2 * Kokkos::sqrt(A(k, k) * A(k - 1, k - 1));
      });
}

struct Problem {
  std::string matrix;
  std::int64_t n, minor;
  bool by_pair;

  std::string name() const {
    return text("/matrix:", matrix, by_pair ? "/pair" : "", "/n:", n, "/minor:", minor);
  }
  void fill(Exec const& exec, MatrixView const& A) const {
    SpdMatrix(exec, matrix, n, settings().condition).fill(exec, A);
    by_pair ? enlarge(exec, A, minor - 1)
            : Kokkos::deep_copy(exec, Kokkos::subview(A, minor - 1, minor - 1), -1.0);
  }
};

// The minor that `ask` finds; the matrix is filled anew each time, as potrf overwrites it.
template <class Ask>
void time(Run& run, Problem const& problem, Ask const& ask) {
  Exec const& exec = run.exec();
  MatrixView const A = fp64_matrix(exec, problem.n, problem.n);
  std::int64_t found = 0;
  run.measure([&] { problem.fill(exec, A); }, [&] { found = ask(exec, A); });
  STRATA_REQUIRE(ValueError, found == problem.minor, "the minor of order ", found,
                 " was found, not that of ", problem.minor);
  run.count_bytes(problem.n * problem.n * static_cast<std::int64_t>(sizeof(double)));
}

void add_all(Problem const& problem) {
  if (has_vendor())
    add("dense/definiteness", "vendor/fp64" + problem.name(), [=](Run& run) {
      time(run, problem, [](Exec const& exec, MatrixView const& A) {
        LeafBlas<Exec>::InfoView const info(Kokkos::view_alloc(exec, "strata::perf::info"));
        shared_blas(BlasPath::Vendor).potrf(Uplo::Lower, matrix_ref(A), 0, info);
        std::int64_t order = 0;
        Kokkos::deep_copy(exec, order, info);
        exec.fence("strata::perf::read");
        return order;
      });
      run.is_vendor(problem.name());
    });
  add("dense/definiteness", "test/fp64" + problem.name(), [=](Run& run) {
    time(run, problem, [](Exec const& exec, MatrixView const& A) {
      return is_positive_definite(exec, A).order();
    });
    run.count_ratio(problem.name());
  });
  add("dense/definiteness", "cholesky/automatic" + problem.name(), [=](Run& run) {
    time(run, problem,
         [](Exec const& exec, MatrixView const& A) { return cholesky(exec, A).info().order(); });
    run.count_ratio(problem.name());
  });
}

Suite const suite([] {
  for (std::int64_t const n : settings().n)
    for (std::string const& matrix : settings().matrices)
      for (std::int64_t const minor : {std::int64_t{2}, n / 10, n / 2, n - 1})
        for (bool const by_pair : {false, true})
          add_all({matrix, n, std::max<std::int64_t>(2, minor), by_pair});
});

}  // namespace

}  // namespace strata::perf
