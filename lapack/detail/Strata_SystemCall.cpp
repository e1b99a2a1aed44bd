// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <lapack/detail/Strata_System.hpp>
#include <lapack/detail/Strata_SystemCall.hpp>
#include <limits>

namespace strata::lapack::detail {

namespace {

SystemFunction& function(Routine routine, Width width) {
  static constinit SystemFunction narrow[] = {SystemFunction("spotrf_"), SystemFunction("dpotrf_"),
                                              SystemFunction("spotrs_"), SystemFunction("dpotrs_"),
                                              SystemFunction("sposv_"),  SystemFunction("dposv_"),
                                              SystemFunction("dsposv_")};
  static constinit SystemFunction wide[] = {
      SystemFunction("spotrf_64_"), SystemFunction("dpotrf_64_"), SystemFunction("spotrs_64_"),
      SystemFunction("dpotrs_64_"), SystemFunction("sposv_64_"),  SystemFunction("dposv_64_"),
      SystemFunction("dsposv_64_")};
  return (width == Width::Int64 ? wide : narrow)[static_cast<std::size_t>(routine)];
}

// The last argument of each is the length of uplo, which Fortran passes unseen.
template <class T, class Int>
using Potrf = void(char const*, Int const*, T*, Int const*, Int*, std::size_t);
template <class T, class Int>
using Posv = void(char const*, Int const*, Int const*, T*, Int const*, T*, Int const*, Int*,
                  std::size_t);
template <class Int>
using Dsposv = void(char const*, Int const*, Int const*, double*, Int const*, double*, Int const*,
                    double*, Int const*, double*, float*, Int*, Int*, std::size_t);

template <class Int, class T>
bool call(SystemFunction& system, Routine routine, Problem<T>& p) {
  auto const n = static_cast<Int>(p.n), nrhs = static_cast<Int>(p.nrhs),
             lda = static_cast<Int>(p.lda), ldb = static_cast<Int>(p.ldb),
             ldx = static_cast<Int>(p.ldx);
  Int info = 0, iter = 0;
  if (routine == Routine::Spotrf || routine == Routine::Dpotrf) {
    auto* const f = system.template get<Potrf<T, Int>>();
    if (f == nullptr) return false;
    f(&p.uplo, &n, p.A, &lda, &info, 1);
  } else if (routine != Routine::Dsposv) {
    auto* const f = system.template get<Posv<T, Int>>();
    if (f == nullptr) return false;
    f(&p.uplo, &n, &nrhs, p.A, &lda, p.B, &ldb, &info, 1);
  } else if constexpr (std::is_same_v<T, double>) {
    auto* const f = system.template get<Dsposv<Int>>();
    if (f == nullptr) return false;
    f(&p.uplo, &n, &nrhs, p.A, &lda, p.B, &ldb, p.X, &ldx, p.work, p.swork, &iter, &info, 1);
  }
  p.info = info;
  p.iter = iter;
  return true;
}

}  // namespace

template <class T>
bool by_system(Routine routine, Width width, Problem<T>& p) {
  if (width == Width::Int64 && call<std::int64_t>(function(routine, Width::Int64), routine, p))
    return true;
  std::int64_t const largest = std::max({p.n, p.nrhs, p.lda, p.ldb, p.ldx});
  return largest <= std::numeric_limits<std::int32_t>::max() &&
         call<std::int32_t>(function(routine, Width::Int32), routine, p);
}

std::string missing_system(Routine routine, Width width) {
  return function(routine, width).missing();
}

template bool by_system(Routine, Width, Problem<float>&);
template bool by_system(Routine, Width, Problem<double>&);

}  // namespace strata::lapack::detail
