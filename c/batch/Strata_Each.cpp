// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Many systems of different orders in one call.
#include <c/strata_each.h>

#include <c/detail/Strata_LapackCall.hpp>
#include <c/detail/Strata_Workbench.hpp>
#include <c/runtime/Strata_Operand.hpp>
#include <dense/varied/Strata_SolveEach.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace strata::c;
using namespace strata::c::detail;
using strata::Uplo;

namespace {

// The caller's arrays, one entry a system.
template <class T>
struct Listed {
  std::int64_t count;
  std::int64_t const *n, *nrhs;
  T const* const* A;
  std::int64_t const* lda;
  T* const* B;
  std::int64_t const* ldb;
};

template <class T>
void require_list(char const* name, T const* list, std::int64_t count, int position) {
  require_argument(list != nullptr || count == 0, position, name, " is a null pointer");
}

template <class T>
void require_listed(Listed<T> const& l) {
  require_order("count", l.count, 2);
  require_list("n", l.n, l.count, 3);
  require_list("nrhs", l.nrhs, l.count, 4);
  require_list("A", l.A, l.count, 5);
  require_list("lda", l.lda, l.count, 6);
  require_list("B", l.B, l.count, 7);
  require_list("ldb", l.ldb, l.count, 8);
  for (std::int64_t s = 0; s < l.count; ++s) {
    auto const named = [&](char const* name) { return name + ("[" + std::to_string(s) + "]"); };
    require_order(named("n").c_str(), l.n[s], 3);
    require_order(named("nrhs").c_str(), l.nrhs[s], 4);
    require_matrix(named("A").c_str(), l.A[s], l.n[s], l.n[s], l.lda[s], sizeof(T), 5, 6);
    require_matrix(named("B").c_str(), l.B[s], l.n[s], l.nrhs[s], l.ldb[s], sizeof(T), 7, 8);
  }
}

Outcome outcome_of(strata::dense::EachSolved const& found) {
  std::int64_t const first = found.first_failed();
  if (first < 0) return {};
  auto const failed = std::ranges::count_if(found.info, [](std::int64_t i) { return i != 0; });
  return {STRATA_NOT_POSITIVE_DEFINITE,
          strata::detail::message(failed, " of ", found.info.size(),
                                  " systems are not positive definite, or hold a NaN: in system ",
                                  first, ", counted from 0, the leading minor of order ",
                                  found.info[static_cast<std::size_t>(first)], " is not positive")};
}

template <class T>
strata_status posv_each(char const* name, char uplo, Listed<T> const& l, double* log_determinants,
                        std::int64_t* info) {
  return call(name, [&]() -> Outcome {
    Uplo const triangle = require_triangle(uplo);
    require_listed(l);
    require_list("info", info, l.count, 10);
    if (l.count == 0) return {};
    Caller const caller;
    Workbench const bench;
    Exec const& exec = bench.exec();
    std::vector<Operand<T const>> matrices;
    std::vector<Operand<T>> solutions;
    std::vector<strata::dense::VariedSystem<Memory>> systems;
    bool writes = false;
    for (std::int64_t s = 0; s < l.count; ++s) {
      matrices.emplace_back(exec, l.A[s], l.n[s], l.n[s], l.lda[s], part_of(triangle));
      solutions.emplace_back(exec, l.B[s], l.n[s], l.nrhs[s], l.ldb[s], Part::All);
      writes = writes || (l.n[s] > 0 && l.nrhs[s] > 0 && solutions.back().in_place());
      systems.push_back({triangle, matrices.back().matrix(), solutions.back().matrix()});
    }
    Outcome outcome;
    overwrite(writes, [&] {
      auto const found = strata::dense::solve_each(exec, systems);
      writes = true;
      for (auto const& solution : solutions) solution.write_back(exec, Part::All);
      exec.fence("strata::c::posv_each: the solutions are written");
      std::ranges::copy(found.info, info);
      if (log_determinants != nullptr) std::ranges::copy(found.log_determinants, log_determinants);
      outcome = outcome_of(found);
    });
    return outcome;
  });
}

}  // namespace

strata_status strata_dposv_each(char uplo, int64_t count, int64_t const* n, int64_t const* nrhs,
                                double const* const* A, int64_t const* lda, double* const* B,
                                int64_t const* ldb, double* log_determinants, int64_t* info) {
  return posv_each<double>("strata_dposv_each", uplo, {count, n, nrhs, A, lda, B, ldb},
                           log_determinants, info);
}
strata_status strata_sposv_each(char uplo, int64_t count, int64_t const* n, int64_t const* nrhs,
                                float const* const* A, int64_t const* lda, float* const* B,
                                int64_t const* ldb, double* log_determinants, int64_t* info) {
  return posv_each<float>("strata_sposv_each", uplo, {count, n, nrhs, A, lda, B, ldb},
                          log_determinants, info);
}
