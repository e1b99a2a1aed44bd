// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Programs that use Kokkos themselves, and static objects: what outlives what. One scenario a
// process.
#include <StrataTest_Life.hpp>

#include <Kokkos_Core.hpp>

#include <strata.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace strata::test {
namespace {

constexpr std::int64_t n = 30;
std::vector<double> const A = [] {
  std::vector<double> a(n * n, 0.5);
  for (std::int64_t i = 0; i < n; ++i) a[i + n * i] = 2;
  return a;
}();
std::vector<double> const ones(n, 1.0);

bool says(char const* part) {
  return std::string(strata_message()).find(part) != std::string::npos;
}

strata_status solve(strata_factor* factor) {
  std::vector<double> x(n);
  auto const status = strata_solve(factor, 1, ones.data(), n, x.data(), n, nullptr, nullptr);
  if (status == STRATA_SUCCESS)  // A x = (1.5 + 0.5 n) x_1
    expect(std::abs(x[0] * (1.5 + 0.5 * n) - 1) < 1e-12, "x is the solution");
  return status;
}

// A device's runtime ends before static objects do, and so does its Kokkos.
constexpr bool survives_main =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace,
                               Kokkos::DefaultExecutionSpace::memory_space>::accessible;

// As programs hold a factor; static ones are destroyed after main.
struct Holder {
  strata_factor* factor = nullptr;
  std::string last_words;
  bool is_of_the_program;

  explicit Holder(bool of_the_program) : is_of_the_program(of_the_program) {}
  Holder(Holder const&) = delete;
  Holder& operator=(Holder const&) = delete;
  ~Holder() {
    if (factor == nullptr) return;
    expect(strata_message() == last_words, "the message is still what it was");
    if (is_of_the_program && !survives_main)
      expect(solve(factor) == STRATA_NOT_READY && says("Kokkos was ended"),
             "a static object's factor says that its device has ended");
    else
      expect(solve(factor) == STRATA_SUCCESS, "a static object's factor solves to the last");
    expect(strata_solve(factor, -1, nullptr, n, nullptr, n, nullptr, nullptr) ==
                   STRATA_INVALID_ARGUMENT &&
               says("nrhs is -1"),
           "errors have messages to the last");
    strata_factor_destroy(factor);
    end_if_failed();
  }
  void fill() {
    expect(strata_cholesky('L', n, A.data(), n, nullptr, &factor) == STRATA_SUCCESS, "it factors");
    std::vector<double> bad(A);
    bad[n * n - 1] = -1;
    strata_factor* other = nullptr;
    expect(strata_cholesky('L', n, bad.data(), n, nullptr, &other) == STRATA_NOT_POSITIVE_DEFINITE,
           "the other is indefinite");
    last_words = strata_message();
    strata_factor_destroy(other);
  }
};
Holder of_the_program(true);
thread_local Holder of_a_thread(false);

void outlives_main() {
  expect(strata_initialize() == STRATA_SUCCESS, "Strata starts Kokkos");
  std::thread([] {
    (void)&of_a_thread;  // before the thread's first message
    of_a_thread.fill();
  }).join();
  of_the_program.fill();
}

void outlives_kokkos() {
  strata_factor *first = nullptr, *second = nullptr;
  std::int64_t info = 0;
  double value = 0;
  strata_factor_report report{};
  report.struct_size = sizeof report;
  {
    Kokkos::ScopeGuard const kokkos;
    expect(strata_cholesky('L', n, A.data(), n, nullptr, &first) == STRATA_SUCCESS, "it factors");
    expect(strata_cholesky('U', n, A.data(), n, nullptr, &second) == STRATA_SUCCESS, "it factors");
    expect(solve(first) == STRATA_SUCCESS, "it solves");
    expect(strata_is_positive_definite('L', n, A.data(), n, &info) == STRATA_SUCCESS && info == 0,
           "it is positive definite");
    std::vector<double> F(A);
    expect(strata_dpotrf('L', n, F.data(), n, nullptr, &info) == STRATA_SUCCESS,
           "LAPACK's as well");
    F = A;
    expect(strata_dpotrf_batched('L', n, F.data(), n, 0, 1, &info) == STRATA_SUCCESS,
           "a batch as well");
    strata_factor_destroy(second);
  }
  auto const refused = [](strata_status status) {
    return status == STRATA_NOT_READY && says("Kokkos was ended");
  };
  std::vector<double> F(A);
  expect(refused(solve(first)), "no solve after Kokkos");
  expect(refused(strata_log_determinant(first, &value, nullptr)), "no determinant after Kokkos");
  expect(refused(strata_factor_copy(first, F.data(), n)), "no copy after Kokkos");
  expect(refused(strata_factor_describe(first, &report)), "no report after Kokkos");
  expect(refused(strata_cholesky('L', n, A.data(), n, nullptr, &second)), "no factor after Kokkos");
  expect(refused(strata_is_positive_definite('L', n, A.data(), n, &info)) && info == -1,
         "no answer after Kokkos");
  expect(refused(strata_dpotrf('L', n, F.data(), n, nullptr, &info)), "no potrf after Kokkos");
  expect(refused(strata_dpotrf_batched('L', n, F.data(), n, 0, 1, &info)), "no batch after Kokkos");
  expect(F == A, "nothing is written after Kokkos");
  strata_factor_destroy(first);
}

// What starts Kokkos for a program that will do it itself would make that fail.
void comes_before_kokkos() {
  strata_factor* factor = nullptr;
  std::int64_t info = 0;
  std::vector<double> F(A);
  auto const refused = [](strata_status status) {
    return status == STRATA_NOT_READY && says("uses Kokkos and has not started it");
  };
  expect(refused(strata_cholesky('L', n, A.data(), n, nullptr, &factor)), "no factor yet");
  expect(refused(strata_is_positive_definite('L', n, A.data(), n, &info)) && info == -1,
         "no answer yet");
  expect(refused(strata_dpotrf('L', n, F.data(), n, nullptr, &info)), "no potrf yet");
  expect(refused(strata_dpotrf_batched('L', n, F.data(), n, 0, 1, &info)), "no batch yet");
  expect(F == A && !Kokkos::is_initialized(), "nothing was done");
  Kokkos::ScopeGuard const kokkos;
  expect(strata_cholesky('L', n, A.data(), n, nullptr, &factor) == STRATA_SUCCESS,
         "it factors now");
  expect(solve(factor) == STRATA_SUCCESS, "it solves now");
  strata_factor_destroy(factor);
}

}  // namespace
}  // namespace strata::test

int main(int argc, char** argv) {
  using namespace strata::test;
  return run_scenario(argc, argv,
                      {{"outlives_main", outlives_main},
                       {"outlives_kokkos", outlives_kokkos},
                       {"comes_before_kokkos", comes_before_kokkos}});
}
