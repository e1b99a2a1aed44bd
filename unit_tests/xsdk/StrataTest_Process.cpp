// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// xSDK policies M3, M6, M11 and R4: a solve leaves the process as it found it, prints nothing and
// uses the ranks it was given only.
#include <core/info/Strata_Version.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/problems/Strata_Generators.hpp>
#include <dense/Strata_Cholesky.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cfenv>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <limits>
#include <locale>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#ifdef STRATATEST_WITH_GEOSTAT
#include <geostat/Strata_Likelihood.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/Strata_MaternTiles.hpp>
#endif

namespace {

using namespace strata;
using namespace strata::geostat;
using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

std::string text_of(auto const& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

// Subnormal numbers are kept: no flush to zero was switched on.
bool keeps_subnormals() {
  double volatile least = std::numeric_limits<double>::min();
  return least / 4 > 0;
}

std::string handlers() {
  std::string text;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) != 0) continue;
    text += std::to_string(number) + ':' +
            std::to_string(reinterpret_cast<std::uintptr_t>(action.sa_handler)) + ' ';
  }
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  for (int number = 1; number <= SIGRTMAX; ++number)
    if (sigismember(&blocked, number) == 1) text += '-' + std::to_string(number);
  return text;
}

std::string environment() {
  std::string text;
  for (char** entry = environ; *entry; ++entry) text += std::string(*entry) + '\n';
  return text;
}

std::string processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return "unknown";
  std::string text;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &allowed)) text += std::to_string(i) + ' ';
  return text;
}

std::string open_files() {
  std::string text;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    auto const target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && target.string().find("/proc/") == std::string::npos)
      text += entry.path().filename().string() + "->" + target.string() + '\n';
  }
  return text;
}

std::map<std::string, std::string> state() {
  mode_t const mask = umask(0);
  umask(mask);
  return {{"rounding", std::to_string(std::fegetround())},
          {"traps", std::to_string(fegetexcept())},
          {"subnormals", keeps_subnormals() ? "kept" : "flushed"},
          {"C locale", std::setlocale(LC_ALL, nullptr)},
          {"C++ locale", std::locale().name()},
          {"signals", handlers()},
          {"environment", environment()},
          {"processors", processors()},
          {"files", open_files()},
          {"folder", std::filesystem::current_path().string()},
          {"umask", std::to_string(mask)},
          {"cout", text_of(std::cout.rdbuf()) + text_of(std::cout.flags()) +
                       text_of(std::cout.precision())}};
}

// What `call` writes to the standard output and error, by any means.
template <class Call>
std::string output_of(Call const& call) {
  std::fflush(nullptr);
  std::cout.flush();
  std::FILE* const file = std::tmpfile();
  std::array<int, 2> const saved = {dup(1), dup(2)};
  dup2(fileno(file), 1);
  dup2(fileno(file), 2);
  call();
  std::fflush(nullptr);
  std::cout.flush();
  for (int i = 0; i < 2; ++i) {
    dup2(saved[i], i + 1);
    close(saved[i]);
  }
  std::rewind(file);
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

void solve_dense(std::int64_t n) {
  Exec const exec;
  auto const host = generate(MatrixKind::Geometric, n, {.condition = 1e4});
  auto const A = Kokkos::create_mirror_view_and_copy(Kokkos::view_alloc(exec, Memory()), host);
  Kokkos::View<double*, Memory> const b(Kokkos::view_alloc(exec, "strata::test::b"), n);
  Kokkos::View<double*, Memory> const x(Kokkos::view_alloc(exec, "strata::test::x"), n);
  Kokkos::deep_copy(exec, b, 1.0);
  auto factor = dense::cholesky<dense::Layers<fp16, fp32>>(exec, A);
  EXPECT_TRUE(factor.solve(exec, b, x, {.refine = dense::Refine::Gmres}).converged);
}

void solve_sparse(sparse::Communicator const& comm) {
  Exec const exec;
  std::int64_t const rows = 1000, first = rows * comm.rank() / comm.size(),
                     end = rows * (comm.rank() + 1) / comm.size();
  auto const A = sparse::make_matrix(
      exec, comm, sparse::make_model(sparse::ModelProblem::Poisson7, {10, 10, 10}, first, end));
  Kokkos::View<double*, Memory> const b(Kokkos::view_alloc(exec, "strata::test::b"), A.rows());
  Kokkos::View<double*, Memory> const x(Kokkos::view_alloc(exec, "strata::test::x"), A.rows());
  Kokkos::deep_copy(exec, b, 1.0);
  auto const report = sparse::SparseSolver<Exec>(exec, A).solve(exec, b, x);
  EXPECT_EQ(report.status, sparse::KrylovStatus::Converged);
}

void evaluate_likelihood() {
#ifdef STRATATEST_WITH_GEOSTAT
  auto const locations = synthetic_locations(200);
  std::vector<double> const values(200, 1.0);
  auto const result = geostat::log_likelihood(Exec(), MaternCovariance{1, 0.1, 0.5, 0.01},
                                              locations, std::span<double const>(values));
  EXPECT_EQ(result.info, 0);
#endif
}

// Errors of every kind go to the caller.
void provoke_errors() {
  EXPECT_THROW((void)generate(MatrixKind::Geometric, -1), Error);
  EXPECT_THROW((void)read_matrix_market("/no/such/file.mtx"), Error);
  Exec const exec;
  Kokkos::View<double**, Kokkos::LayoutLeft, Memory> const A("strata::test::A", 3, 4);
  EXPECT_THROW((void)dense::cholesky<dense::Layers<fp32>>(exec, A), Error);
}

TEST(Process, IsAsItWasAfterSolvesAndErrors) {
  solve_dense(64);  // what is loaded once, threads, libraries' own files, is loaded
  solve_sparse({});
  evaluate_likelihood();
  auto const before = state();
  ASSERT_EQ(before.at("subnormals"), "kept");
  solve_dense(300);
  solve_sparse({});
  evaluate_likelihood();
  provoke_errors();
  (void)configuration();
  (void)devices();
  for (auto const& [what, value] : state()) EXPECT_EQ(value, before.at(what)) << what;
}

TEST(Process, SolvesAndErrorsPrintNothing) {
  EXPECT_EQ(output_of([] {
              std::fputs("x", stderr);
              std::cout << 'y';
            }).size(),
            2u);  // it hears
  EXPECT_EQ(output_of([] {
              solve_dense(200);
              solve_sparse({});
              evaluate_likelihood();
              provoke_errors();
              (void)configuration();
              (void)devices();
            }),
            "");
}

#ifdef STRATA_ENABLE_MPI
// Rank 0 is in the communicator, the others call nothing: with any other one this would not end.
TEST(Process, UsesTheCallersRanksAlone) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &own);
  if (own != MPI_COMM_NULL) {
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    solve_sparse(sparse::Communicator(own));
    for (MPI_Comm const comm : {own, MPI_COMM_WORLD}) {  // the handlers are the caller's
      MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
      MPI_Comm_get_errhandler(comm, &handler);
      EXPECT_EQ(handler, comm == own ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL);
    }
    MPI_Comm_free(&own);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
#endif

}  // namespace
