// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_MLE_TREND_HPP
#define STRATA_APPS_MLE_TREND_HPP

#include <core/io/Strata_Csv.hpp>
#include <geostat/model/Strata_Trend.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace strata::apps {

/// The terms of `--trend`: products of columns, their powers, logarithms and square roots.
struct TrendTerms {
  /// What is done to a column.
  enum class Function : std::uint8_t { Power, Log, Sqrt };
  struct Factor {
    std::string column;  ///< "x" and "y" are the coordinates, as are "lon" and "lat"
    Function function = Function::Power;
    int power = 1;
  };
  struct Term {
    std::string name;
    std::vector<Factor> factors;
  };

  bool constant = true;
  std::vector<Term> terms;  ///< terms beside it

  /// "0", "1", or terms separated by commas, with a constant unless one of them is 0. A term is a
  /// product, as "x*elev", of NAME, NAME^K, log(NAME) and sqrt(NAME); "poly2" is all terms of the
  /// coordinates of degree 1 and 2.
  ///
  /// Throws   ValueError that quotes the term.
  static TrendTerms parse(std::string const& text);

  /// The columns of a file that it needs beside the coordinates.
  std::vector<std::string> needed() const;
  /// Its columns at stations that were read with the needed ones; none for 0 and 1.
  ///
  /// Throws   ValueError for a logarithm or a root of what has none, with the line of the data.
  std::vector<std::vector<double>> columns(Stations const& stations) const;
  /// The trend of these columns.
  geostat::Trend trend(std::vector<std::vector<double>> const& columns,
                       geostat::Criterion criterion) const;
};

}  // namespace strata::apps

#endif
