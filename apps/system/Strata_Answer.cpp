// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/system/Strata_Answer.hpp>

#include <apps/shared/Strata_Text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>

namespace strata::apps {

namespace {

constexpr std::int64_t shown_first = 3;

bool is_larger(double x, double than) {
  return std::abs(x) > std::abs(than) || (std::isnan(x) && !std::isnan(than));
}

void take(Answer& answer, double x, std::int64_t row, std::int64_t column) {
  if (column == 0 && (row < shown_first || row == answer.rows - 1))
    answer.shown.emplace_back(row, x);
  if (is_larger(x, answer.largest)) answer.largest = x, answer.row = row, answer.column = column;
}

// "17", or of several unknowns a node "17 (unknown 2 of node 6)"; from 1.
std::string place(std::int64_t row, int block_size) {
  auto const text = words(row + 1);
  if (block_size <= 1) return text;
  return words(text, " (unknown ", row % block_size + 1, " of node ", row / block_size + 1, ')');
}

std::string numbers(Answer const& answer) {
  std::string list;
  std::int64_t next = 0;
  for (auto const& [row, x] : answer.shown) {
    if (row > 0) list += ", ";
    if (row != next) list += "..., ";
    list += text("%.4g", x);
    next = row + 1;
  }
  return list;
}

}  // namespace

std::string solved_to(double backward_error) {
  return text("solved: backward error %.1e", backward_error);
}

std::string right_digits(char const* how_many, int digits) {
  if (digits <= 0) return "solved, but x may have no right digit";
  return words("solved: ", how_many, counted(digits, "digit"),
               digits == 1 ? " is right" : " are right");
}

Answer answer(ConstHostMatrix const& X) {
  Answer answer;
  answer.rows = static_cast<std::int64_t>(X.extent(0));
  answer.columns = static_cast<std::int64_t>(X.extent(1));
  for (std::int64_t j = 0; j < answer.columns; ++j)
    for (std::int64_t i = 0; i < answer.rows; ++i) take(answer, X(i, j), i, j);
  return answer;
}

Answer answer(Communicator const& comm, std::vector<double> const& x, std::int64_t first) {
  std::vector<double> rows{static_cast<double>(x.size())};
  comm.sum(rows);
  Answer mine;
  mine.rows = static_cast<std::int64_t>(rows.front());
  for (std::size_t i = 0; i < x.size(); ++i)
    take(mine, x[i], first + static_cast<std::int64_t>(i), 0);
  std::vector<std::vector<double>> to(static_cast<std::size_t>(comm.size()));
  to.front() = {mine.largest, static_cast<double>(mine.row)};
  for (auto const& [row, number] : mine.shown)
    to.front().insert(to.front().end(), {static_cast<double>(row), number});
  auto const parts = comm.exchange(std::move(to));
  Answer whole;
  if (comm.rank() != 0) return whole;
  whole.rows = mine.rows, whole.columns = 1;
  for (auto const& part : parts) {
    if (is_larger(part[0], whole.largest))
      whole.largest = part[0], whole.row = static_cast<std::int64_t>(part[1]);
    for (std::size_t k = 2; k < part.size(); k += 2)
      whole.shown.emplace_back(static_cast<std::int64_t>(part[k]), part[k + 1]);
  }
  return whole;
}

void print(std::ostream& out, Answer const& answer, std::string const& place_of_file,
           std::string const& verdict) {
  if (answer.rows == 0 || answer.columns == 0) return;
  bool const several = answer.columns > 1;
  auto const row = [&](char const* label, std::string const& what) {
    out << text("  %-24s ", label) << what << '\n';
  };
  out << "Answer\n";
  row(several ? "X" : "x",
      words(counted(answer.rows, "number"),
            several ? words(" x ", answer.columns, ", first column: ") : ": ", numbers(answer)));
  row("largest magnitude",
      words(text("%.4g", answer.largest), " in row ", place(answer.row, answer.block_size),
            several ? words(", column ", answer.column + 1) : ""));
  row("written to", place_of_file);
  out << verdict << '\n';
}

}  // namespace strata::apps
