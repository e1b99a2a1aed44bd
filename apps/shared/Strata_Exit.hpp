// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_EXIT_HPP
#define STRATA_APPS_EXIT_HPP

#include <apps/shared/Strata_Text.hpp>
#include <core/Strata_Errors.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps {

/// What the program tells its caller.
enum class Exit : int {
  Solved = 0,
  Failed = 1,               ///< an error that is neither the user's nor the matrix's
  Usage = 2,                ///< arguments or input that can't be used
  NotPositiveDefinite = 3,  ///< the message and the report name the leading minor, or say why a
                            ///< matrix that need not be definite is singular
  NotConverged = 4,         ///< the report gives the error that was reached
  Ended = 5,                ///< a signal asked for the end; what is known by then is told and kept
};

/// `status` of the reports on a solve.
constexpr char const* status_name(Exit exit) {
  if (exit == Exit::Solved) return "solved";
  if (exit == Exit::Ended) return "ended";
  return exit == Exit::NotPositiveDefinite ? "not_positive_definite" : "not_converged";
}

/// An error that the user can put right: exit code 2.
struct UsageError : Error {
  using Error::Error;
};

/// Throws   UsageError with the streamed rest as its text where `met` is false.
template <class... Part>
void require(bool met, Part const&... message) {
  if (!met) throw UsageError(words(message...));
}

/// A result's file; "": none is asked for.
struct Output {
  std::string option, path;
};

/// Refuse paths that results could not be written to, or that two are: found now rather than after
/// an hour's work.
///
/// Throws   UsageError that names the option.
void check_writable(std::vector<Output> const& outputs);

/// Whether both paths lead to one file, which need not be there; never so for a device as
/// /dev/null.
bool are_one_file(std::string const& a, std::string const& b);

/// What a command may use of a host's memory.
struct MemoryLimit {
  std::size_t bytes;
  std::string reason;  ///< "--max-memory allows", or "available are"
};

/// `max_memory` bytes, or where that is 0 what the machine has available now.
MemoryLimit memory_limit(std::size_t max_memory);

/// Refuse a run before anything is allocated. `what` ends in "needs"; `detail` stands behind the
/// bytes.
///
/// Throws   MemoryError with the bytes needed and allowed if that is more than the limit.
void require_memory(MemoryLimit const& limit, double bytes, std::string const& what,
                    std::string const& detail = "");

/// Whether an error is the machine's, so that the same command may succeed another time: a full
/// disk or quota, a device that fails to read or write.
bool is_of_machine(Error const& error);

/// Call `f`; what the library throws there is about the user's arguments or files, unless it is the
/// machine's or a vendor library failed.
template <class Function>
decltype(auto) as_usage(Function&& f) {
  try {
    return std::forward<Function>(f)();
  } catch (VendorError const&) {
    throw;
  } catch (Error const& error) {
    if (is_of_machine(error)) throw;
    throw UsageError(error.what());
  }
}

}  // namespace strata::apps

#endif
