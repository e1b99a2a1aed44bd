// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_ANSWER_HPP
#define STRATA_APPS_ANSWER_HPP

#include <comm/Strata_Communicator.hpp>
#include <core/io/Strata_HostMatrix.hpp>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace strata::apps {

/// What the last lines of `strata solve` show of the solution X.
struct Answer {
  std::int64_t rows = 0, columns = 0;  ///< rows and columns of X; no rows: there is no X
  std::vector<std::pair<std::int64_t, double>>
      shown;           ///< rows of the first column, with their numbers: the first three, the last
  double largest = 0;  ///< the number of largest magnitude; NaN if a number is
  std::int64_t row = 0, column = 0;  ///< its place, from 0
  int block_size = 1;                ///< unknowns of a node, one after the other
};

/// The answer from all of X.
Answer answer(ConstHostMatrix const& X);
/// The same where each rank has the rows of x from `first` on. Collective.
///
/// Result   on rank 0; elsewhere without rows.
Answer answer(Communicator const& comm, std::vector<double> const& x, std::int64_t first);

/// One line on what X is worth: "solved: backward error 1.2e-16".
std::string solved_to(double backward_error);
/// The same where digits are known, "solved: about 10 digits are right"; `how_many`: "about ".
std::string right_digits(char const* how_many, int digits);

/// Some numbers of X, the largest one, and where X was written or how to keep it; the verdict at
/// the end. Nothing if there is no X.
void print(std::ostream& out, Answer const& answer, std::string const& place_of_file,
           std::string const& verdict);

}  // namespace strata::apps

#endif
