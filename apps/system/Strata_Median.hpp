// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MEDIAN_HPP
#define STRATA_APPS_MEDIAN_HPP

#include <algorithm>
#include <utility>
#include <vector>

namespace strata::apps {

/// The run of median time among `repeat` >= 1 calls of run(r), r = 0, ..., by `seconds` of a run;
/// of an even number the faster of the two.
template <class Run, class TimeOf>
auto median_run(int repeat, Run const& run, TimeOf const& seconds) {
  std::vector<decltype(run(0))> runs;
  for (int r = 0; r < repeat; ++r) runs.push_back(run(r));
  auto const median = runs.begin() + (repeat - 1) / 2;
  std::ranges::nth_element(runs, median, {}, seconds);
  return std::move(*median);
}

}  // namespace strata::apps

#endif
