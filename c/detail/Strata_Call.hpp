// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_C_CALL_HPP
#define STRATA_C_CALL_HPP

#include <c/runtime/Strata_Runtime.hpp>
#include <c/strata.h>
#include <core/Strata_Errors.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace strata::c::detail {

/// What a function has to say besides an error: `message` may be empty.
struct Outcome {
  strata_status status = STRATA_SUCCESS;
  std::string message;
};

/// A matrix that is not positive definite, with LAPACK's `info`.
Outcome not_positive_definite(std::int64_t info);

/// The status of the exception that is being handled, its text kept for strata_message().
strata_status status_of_exception(char const* function) noexcept;

/// Keep the outcome's text for strata_message().
strata_status keep(Outcome const& outcome) noexcept;

/// Run f(), which returns an Outcome; what it throws becomes a status and a message.
template <class Function>
strata_status call(char const* function, Function&& f) noexcept {
  try {
    return keep(std::forward<Function>(f)());
  } catch (...) {
    return status_of_exception(function);
  }
}

/// An argument of a LAPACK-like function that is wrong; `info` is minus its position.
struct WrongArgument : Error {
  WrongArgument(std::int64_t position, std::string const& text) : Error(text), info(-position) {}
  std::int64_t info;
};

/// `cause` was thrown when a caller's matrix was overwritten in part already. It has no text of its
/// own, for which there may be no memory.
struct Incomplete {
  std::exception_ptr cause;
};

/// Run f(), which overwrites a caller's matrix if `writes`, which f may set.
///
/// Throws   Incomplete for all that f throws then.
template <class Function>
void overwrite(bool const& writes, Function&& f) {
  try {
    std::forward<Function>(f)();
  } catch (...) {
    if (writes) throw Incomplete{std::current_exception()};
    throw;
  }
}

/// Run f() of checked options, in which a ValueError can only be about the numbers of a matrix.
///
/// Throws   NotFinite in its place.
template <class Function>
decltype(auto) with_checked_options(Function&& f) {
  try {
    return std::forward<Function>(f)();
  } catch (ValueError const& error) {
    throw NotFinite(error.what());
  }
}

/// Throw ValueError with `text` unless `condition`.
inline void require(bool condition, char const* text) {
  if (!condition) throw ValueError(text);
}

/// Throw WrongArgument with the streamed rest as its text unless `condition`.
template <class... Part>
void require_argument(bool condition, std::int64_t position, Part const&... part) {
  if (!condition) throw WrongArgument(position, strata::detail::message(part...));
}

}  // namespace strata::c::detail

#endif
