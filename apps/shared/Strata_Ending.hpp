// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_ENDING_HPP
#define STRATA_APPS_ENDING_HPP

#include <functional>
#include <string>

// How a run ends early, as a scheduler asks it to before its time limit: at the next point where
// nothing is lost.
namespace strata::apps {

/// While it lives, SIGTERM and SIGUSR1 do not kill the process, but ask for its end. The second of
/// a kind kills it.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals();
  EndSignals(EndSignals const&) = delete;
  EndSignals& operator=(EndSignals const&) = delete;
};

/// Whether this rank was asked to end; others may not have been.
bool is_end_asked();

/// "ended by SIGTERM": by the signal that this rank got.
std::string ended_by();

/// For what the library calls now and then.
///
/// Throws   Error with `ended_by` and the rest of the sentence, if this rank was asked to end.
void end_if_asked(std::string const& rest);

/// `listener`, which may be none, that also ends the run if this rank was asked to.
std::function<void(double)> until_end(std::function<void(double)> listener,
                                      std::string const& rest);

/// Whether this rank has thrown what `end_if_asked` throws, or says that the run was ended.
bool has_ended();
void set_ended();

}  // namespace strata::apps

#endif
