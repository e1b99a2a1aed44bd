// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <lapack/detail/Strata_Problem.hpp>

#include <c/strata.h>
#include <lapack/detail/Strata_DeviceDriver.hpp>
#include <lapack/detail/Strata_Library.hpp>
#include <lapack/detail/Strata_Settings.hpp>
#include <lapack/detail/Strata_SystemCall.hpp>
#include <lapack/detail/Strata_Threshold.hpp>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <type_traits>

namespace strata::lapack::detail {

namespace {

constexpr std::int64_t no_memory = -1010;
// As in Strata_DeviceDriver.cpp, a build for hosts names no driver.
constexpr Target target =
    std::string_view(STRATA_LAPACK_DEVICE_DRIVER).empty() ? Target::Hosts : Target::Gpus;

// Strata's leaves call LAPACK by the names that this library has: such calls go on to the system's.
thread_local int depth = 0;
struct Inside {
  Inside() { ++depth; }
  ~Inside() { --depth; }
  Inside(Inside const&) = delete;
  Inside& operator=(Inside const&) = delete;
};

std::string name_of(Routine routine) { return routine_names[static_cast<std::size_t>(routine)]; }
bool is_potrf(Routine routine) { return routine == Routine::Spotrf || routine == Routine::Dpotrf; }
bool is_potrs(Routine routine) { return routine == Routine::Spotrs || routine == Routine::Dpotrs; }

// The position of LAPACK's first wrong argument; 0 if there is none.
template <class T>
std::int64_t wrong_argument(Routine routine, Problem<T> const& p) {
  char const uplo = static_cast<char>(std::toupper(static_cast<unsigned char>(p.uplo)));
  std::int64_t const least = std::max<std::int64_t>(1, p.n);
  bool const has_B = !is_potrf(routine);
  if (uplo != 'L' && uplo != 'U') return 1;
  if (p.n < 0) return 2;
  if (has_B && p.nrhs < 0) return 3;
  if (p.lda < least) return has_B ? 5 : 4;
  if (has_B && p.ldb < least) return 7;
  if (routine == Routine::Dsposv && p.ldx < least) return 9;
  return 0;
}

void tell_xerbla(Routine routine, Width width, std::int64_t position) {
  std::string name = name_of(routine);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (width == Width::Int64) {
    using Xerbla = void(char const*, std::int64_t const*, std::size_t);
    if (void* const wide = find_in_process("xerbla_64_"))
      return reinterpret_cast<Xerbla*>(wide)(name.data(), &position, name.size());
  }
  using Xerbla = void(char const*, std::int32_t const*, std::size_t);
  auto const narrow = static_cast<std::int32_t>(position);
  if (void* const found = find_in_process("xerbla_"))
    reinterpret_cast<Xerbla*>(found)(name.data(), &narrow, name.size());
}

strata_status by_strata(Routine routine, Problem<double>& p, strata_options const& o) {
  switch (routine) {
    case Routine::Dpotrf:
      return library().dpotrf(p.uplo, p.n, p.A, p.lda, &o, &p.info);
    case Routine::Dpotrs:
      return library().dpotrs(p.uplo, p.n, p.nrhs, p.A, p.lda, p.B, p.ldb, &p.info);
    case Routine::Dposv:
      return library().dposv(p.uplo, p.n, p.nrhs, p.A, p.lda, p.B, p.ldb, &o, &p.info);
    default:
      return library().dsposv(p.uplo, p.n, p.nrhs, p.A, p.lda, p.B, p.ldb, p.X, p.ldx, &o, &p.iter,
                              &p.info);
  }
}
strata_status by_strata(Routine routine, Problem<float>& p, strata_options const& o) {
  switch (routine) {
    case Routine::Spotrf:
      return library().spotrf(p.uplo, p.n, p.A, p.lda, &o, &p.info);
    case Routine::Spotrs:
      return library().spotrs(p.uplo, p.n, p.nrhs, p.A, p.lda, p.B, p.ldb, &p.info);
    default:
      return library().sposv(p.uplo, p.n, p.nrhs, p.A, p.lda, p.B, p.ldb, &o, &p.info);
  }
}

// What became of a call that Strata was given.
enum class Attempt { Done, Untouched, Incomplete };

// If it was not done, `reason` says why.
template <class T>
Attempt try_strata(Routine routine, Problem<T>& p, Settings const& settings, std::string& reason) {
  Inside const inside;
  try {
    strata_options options = {};
    options.struct_size = sizeof options;
    options.layers = settings.layers.empty() ? nullptr : settings.layers.c_str();
    options.leaf_size = settings.leaf;
    strata_status const status = by_strata(routine, p, options);
    if (status == STRATA_SUCCESS || status == STRATA_NOT_POSITIVE_DEFINITE) {
      count(routine, Doer::Strata);
      return Attempt::Done;
    }
    reason = library().message();
    if (status == STRATA_INCOMPLETE) return Attempt::Incomplete;
  } catch (std::exception const& error) {  // no libstrata_c
    reason = error.what();
  }
  return Attempt::Untouched;
}

// Builds without devices, and processes without a device's driver, need not ask: small matrices
// load nothing.
template <class T>
bool on_device(Problem<T> const& p) {
  if (!has_device_driver()) return false;
  try {
    return library().is_device_pointer(p.A) != 0 || library().is_device_pointer(p.B) != 0;
  } catch (std::exception const&) {  // no libstrata_c: the system's LAPACK will do
    return false;
  }
}

template <class T>
bool try_system(Settings const& now, Routine routine, Width width, Problem<T>& p) {
  Inside const inside;  // it may call routines that have our names
  return by_system(*now.system, routine, width, p);
}

template <class T>
void dispatch(Routine routine, Width width, Problem<T>& p) {
  Settings const& now = settings();
  if (depth > 0 && try_system(now, routine, width, p)) return;
  bool const device = depth == 0 && on_device(p);
  bool const large =
      depth == 0 && (device || p.n >= now.threshold.value_or(default_threshold(target)));
  std::string reason;
  Attempt attempt = large ? try_strata(routine, p, now, reason) : Attempt::Untouched;
  if (attempt == Attempt::Done) return;
  if (depth == 0 && attempt == Attempt::Untouched && !device) {
    if (try_system(now, routine, width, p)) {
      count(routine, Doer::System);
      if (now.trace && !reason.empty())
        say(name_of(routine) + ": " + reason + "; the system's LAPACK did it");
      return;
    }
    if (!large) attempt = try_strata(routine, p, now, reason);
    if (attempt == Attempt::Done) return;
  }
  if (attempt == Attempt::Incomplete)
    reason += "; a matrix is overwritten in part";
  else if (!device)
    reason += (reason.empty() ? "" : "; ") + SystemLapack::missing(routine, width);
  say(name_of(routine) + ": " + reason);
  p.info = no_memory;
}

}  // namespace

template <class T>
void solve(Routine routine, Width width, Problem<T>& p) noexcept {
  p.iter = p.info = 0;
  try {
    if (std::int64_t const position = wrong_argument(routine, p); position != 0) {
      p.info = -position;
      return tell_xerbla(routine, width, position);
    }
    if (p.n == 0 || (is_potrs(routine) && p.nrhs == 0)) return;
    dispatch(routine, width, p);
  } catch (std::exception const& error) {
    say(error.what());
    p.info = no_memory;
  }
}

template void solve(Routine, Width, Problem<float>&) noexcept;
template void solve(Routine, Width, Problem<double>&) noexcept;

}  // namespace strata::lapack::detail
