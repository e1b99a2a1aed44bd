// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <lapack/detail/Strata_SystemCall.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace strata::lapack::detail {

namespace {

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
bool call(void* function, Routine routine, Problem<T>& p) {
  if (function == nullptr) return false;
  auto const n = static_cast<Int>(p.n), nrhs = static_cast<Int>(p.nrhs),
             lda = static_cast<Int>(p.lda), ldb = static_cast<Int>(p.ldb),
             ldx = static_cast<Int>(p.ldx);
  Int info = 0, iter = 0;
  if (routine == Routine::Spotrf || routine == Routine::Dpotrf) {
    auto* const f = reinterpret_cast<Potrf<T, Int>*>(function);
    f(&p.uplo, &n, p.A, &lda, &info, 1);
  } else if (routine != Routine::Dsposv) {
    auto* const f = reinterpret_cast<Posv<T, Int>*>(function);
    f(&p.uplo, &n, &nrhs, p.A, &lda, p.B, &ldb, &info, 1);
  } else if constexpr (std::is_same_v<T, double>) {
    auto* const f = reinterpret_cast<Dsposv<Int>*>(function);
    f(&p.uplo, &n, &nrhs, p.A, &lda, p.B, &ldb, p.X, &ldx, p.work, p.swork, &iter, &info, 1);
  }
  p.info = info;
  p.iter = iter;
  return true;
}

}  // namespace

template <class T>
bool by_system(SystemLapack& system, Routine routine, Width width, Problem<T>& p) {
  if (width == Width::Int64 && call<std::int64_t>(system.find(routine, Width::Int64), routine, p))
    return true;
  std::int64_t const largest = std::max({p.n, p.nrhs, p.lda, p.ldb, p.ldx});
  return largest <= std::numeric_limits<std::int32_t>::max() &&
         call<std::int32_t>(system.find(routine, Width::Int32), routine, p);
}

template bool by_system(SystemLapack&, Routine, Width, Problem<float>&);
template bool by_system(SystemLapack&, Routine, Width, Problem<double>&);

}  // namespace strata::lapack::detail
