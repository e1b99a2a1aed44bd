// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_TileReport.hpp>

#include <numeric>

namespace strata::apps {

namespace {

constexpr std::array<char const*, 4> names = {"fp64", "fp32", "fp16", "fp8_e4m3"};

Report::Value by_name(std::array<std::int64_t, 4> const& count) {
  Report::Value object;
  for (std::size_t k = 0; k < names.size(); ++k) object[names[k]] = count[k];
  return object;
}

std::string in_words(std::array<std::int64_t, 4> const& count) {
  auto const all =
      static_cast<double>(std::accumulate(count.begin(), count.end(), std::int64_t{0}));
  std::vector<std::string> list;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (count[k] > 0)
      list.push_back(words(count[k], " in ", names[k],
                           text(" (%.1f %%)", 100 * static_cast<double>(count[k]) / all)));
  return joined(list);
}

}  // namespace

void add_tiles(Report& report, std::string const& prefix, Tiles const& tiles) {
  report.tell(prefix + "tiles", "tiles", by_name(tiles.count),
              words(in_words(tiles.count), ", order ", tiles.size));
  report.only_json(prefix + "tile_size", tiles.size);
  auto const tries = tiles.attempts.size();
  report.tell(prefix + "rung", "rung of the ladder", name_of(tiles.rung),
              words(name_of(tiles.rung), ", after ", tries, tries == 1 ? " attempt" : " attempts"));
  report.only_json(prefix + "attempts", Report::Value::array());
  for (auto const& attempt : tiles.attempts)
    report.tell(prefix + "attempts/-", words("  ", name_of(attempt.rung)),
                {{"rung", name_of(attempt.rung)},
                 {"epsilon", attempt.accuracy},
                 {"tiles", by_name(attempt.histogram)},
                 {"info", attempt.info},
                 {"fill_seconds", attempt.fill_seconds},
                 {"factor_seconds", attempt.factor_seconds},
                 {"seconds", attempt.factor_seconds}},
                tries < 2 ? ""
                          : words("epsilon ", text("%.1e", attempt.accuracy), ": ",
                                  outcome_of(attempt.info)));
}

std::vector<std::string> allowed_precisions(ooc::PrecisionRule const& rule) {
  std::vector<std::string> names;
  for (auto const precision : rule.precisions)
    if (rule.accuracy > 0 || precision == Precision::fp64)
      names.emplace_back(traits(precision).name);
  return names;
}

std::string outcome_of(std::int64_t info) {
  return info == 0 ? "factored" : words("broke down at minor ", info);
}

}  // namespace strata::apps
