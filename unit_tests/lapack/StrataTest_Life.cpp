// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Programs that use Kokkos themselves and call LAPACK before, while and after it runs; static
// objects. One scenario a process.
#include <StrataTest_Life.hpp>

#include <Kokkos_Core.hpp>

#include <StrataTest_Child.hpp>
#include <strata.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

extern "C" {
void dpotrf_(char const*, int const*, double*, int const*, int*);
void dsposv_(char const*, int const*, int const*, double*, int const*, double const*, int const*,
             double*, int const*, double*, float*, int*, int*);
}

namespace strata::test {
namespace {

constexpr int n = 600, nrhs = 2;

// 1 on the diagonal beside 1/2 everywhere: l_11 = 1, l_22 = sqrt(3)/2.
std::vector<double> matrix() {
  std::vector<double> A(n * n, 0.5);
  for (int i = 0; i < n; ++i) A[i * (n + 1)] = 1;
  return A;
}

bool factors() {
  auto A = matrix();
  int info = -1;
  dpotrf_("L", &n, A.data(), &n, &info);
  return info == 0 && A[0] == 1 && std::abs(A[n + 1] - std::sqrt(0.75)) < 1e-15;
}

// A x = b for b of ones: all numbers of x are 2 / (n + 1). LAPACK's dsposv stops at a residual of
// sqrt(n) 2^-53 ||A|| ||x||, by which x may be off by 3e-12, as ||A|| ||A^-1|| is 1200, and by what
// rounds the residual.
bool solves() {
  auto A = matrix();
  std::vector<double> const B(n * nrhs, 1.0);
  std::vector<double> X(B.size()), work(B.size());
  std::vector<float> swork(n * (n + nrhs));
  int info = -1, iter = -1;
  dsposv_("L", &n, &nrhs, A.data(), &n, B.data(), &n, X.data(), &n, work.data(), swork.data(),
          &iter, &info);
  return info == 0 && std::abs(X[n + 5] * (n + 1) / 2 - 1) < 1e-11;
}

std::int64_t by_strata() {
  std::int64_t count = -1;
  expect(strata_lapack_calls("dpotrf", &count, nullptr) == STRATA_SUCCESS, "calls are counted");
  return count;
}

// The program starts Kokkos after its first call of LAPACK, and calls it again after its end.
void meets_kokkos() {
  expect(factors() && solves(), "right before Kokkos");
  expect(by_strata() == 0 && !Kokkos::is_initialized(), "by the system's LAPACK");
  {
    Kokkos::ScopeGuard const kokkos;
    expect(factors() && solves(), "right while Kokkos runs");
    expect(by_strata() == 1, "by Strata");
  }
  expect(factors() && solves(), "right after Kokkos");
  expect(by_strata() == 1, "by the system's LAPACK again");
}

struct AtExit {
  bool armed = false;
  AtExit() = default;
  AtExit(AtExit const&) = delete;
  AtExit& operator=(AtExit const&) = delete;
  ~AtExit() {
    if (!armed) return;
    expect(factors() && solves(), "right while static objects are destroyed");
    end_if_failed();
  }
};
AtExit at_exit;

void outlives_main() {
  expect(strata_initialize() == STRATA_SUCCESS, "Strata starts Kokkos");
  expect(factors() && by_strata() == 1, "by Strata");
  at_exit.armed = true;
}

// A child counts its own calls, and works: by Strata where Kokkos allows it, else by the system's
// LAPACK.
void forks() {
  expect(strata_initialize() == STRATA_SUCCESS, "Strata starts Kokkos");
  expect(strata_lapack_configure("layers=bf16:fp32") == STRATA_SUCCESS, "with low layers");
  expect(factors() && solves(), "right in the parent");
  std::string const text = in_child([] {
    if (by_strata() != 0) return "counts its parent's calls";
    return factors() && solves() ? "right" : "wrong";
  });
  expect(text == "right", ("in a child: " + text).c_str());
  expect(factors() && by_strata() == 2, "right in the parent again");
}

}  // namespace
}  // namespace strata::test

int main(int argc, char** argv) {
  using namespace strata::test;
  return run_scenario(
      argc, argv,
      {{"meets_kokkos", meets_kokkos}, {"outlives_main", outlives_main}, {"forks", forks}});
}
