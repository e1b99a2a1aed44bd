// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Files.hpp"
#include "StrataTest_Matchers.hpp"
#include <core/Strata_Errors.hpp>
#include <core/io/Strata_MatrixMarket.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <variant>

// Shares of a coordinate file, in their order, against the reader of the whole file.

namespace {

using namespace strata;
using namespace strata::test;

std::string const banner = "%%MatrixMarket matrix coordinate ";

// Lines of all lengths, with comments, blank ones and both ends of lines.
std::string random_list(std::string const& kind, bool lower, unsigned seed) {
  std::mt19937 draw(seed);
  int const n = 40, entries = 300;
  std::string text = banner + kind + "\n% a comment\n" + std::to_string(n) + ' ' +
                     std::to_string(n) + ' ' + std::to_string(entries) + "\n";
  for (int k = 0; k < entries; ++k) {
    int i = static_cast<int>(draw() % n), j = static_cast<int>(draw() % n);
    if (lower && i < j) std::swap(i, j);
    if (kind.ends_with("skew-symmetric") && i == j) i = (j = 3) + 4;
    text += std::string(draw() % 3, ' ') + std::to_string(i + 1) + ' ' + std::to_string(j + 1);
    if (kind.starts_with("real"))
      text += ' ' + std::to_string(0.001 * static_cast<int>(draw() % 9999));
    if (kind.starts_with("integer")) text += ' ' + std::to_string(draw() % 1000);
    text += draw() % 4 == 0 ? "\r\n" : "\n";
    if (draw() % 10 == 0) text += "% " + std::string(draw() % 60, 'c') + "\n";
    if (draw() % 10 == 0) text += "\n";
  }
  return text;
}

struct Triples {
  std::vector<std::int64_t> row, col;
  std::vector<double> value;
  void add(CoordinateMatrix const& A) {
    row.insert(row.end(), A.row.begin(), A.row.end());
    col.insert(col.end(), A.col.begin(), A.col.end());
    value.insert(value.end(), A.value.begin(), A.value.end());
  }
  bool operator==(Triples const&) const = default;
};

// Both triangles, in the list's order, entries at one position added.
Triples whole(CoordinateMatrix const& A) {
  CoordinateMatrix both;
  for (std::size_t k = 0; k < A.value.size(); ++k) {
    both.row.push_back(A.row[k]), both.col.push_back(A.col[k]), both.value.push_back(A.value[k]);
    if (A.symmetric && A.row[k] != A.col[k])
      both.row.push_back(A.col[k]), both.col.push_back(A.row[k]), both.value.push_back(A.value[k]);
  }
  Triples result;
  result.add(both);
  return result;
}

TEST(MatrixMarketShare, SharesHaveTheWholeFile) {
  TemporaryFolder const folder;
  unsigned seed = 0;
  for (std::string const kind : {"real general", "integer general", "pattern general",
                                 "real symmetric", "real skew-symmetric"}) {
    bool const lower = !kind.ends_with("general");
    for (bool const ends : {true, false}) {
      auto text = random_list(kind, lower, ++seed);
      if (!ends) text.erase(text.find_last_not_of("\r\n") + 1);
      auto const path = put(folder / "A.mtx", text);
      auto const expected = whole(std::get<CoordinateMatrix>(read_matrix_market(path)));
      for (int const shares : {1, 2, 3, 7, 64, 5000}) {
        SCOPED_TRACE(kind + ", " + std::to_string(shares) + " shares");
        CoordinateMatrix all;
        std::int64_t listed = 0;
        bool above = false, below = false;
        Triples triples;
        for (int share = 0; share < shares; ++share) {
          auto const part = read_matrix_market_share(path, share, shares);
          triples.add(part.entries);
          listed += part.listed, above |= part.has_above, below |= part.has_below;
        }
        EXPECT_EQ(listed, 300);
        EXPECT_EQ(above, !lower);
        EXPECT_TRUE(below);
        all.row = triples.row, all.col = triples.col, all.value = triples.value;
        ASSERT_TRUE(add_entries_at_one_position(all));
        Triples merged;
        merged.add(all);
        EXPECT_EQ(merged, expected);
      }
    }
  }
}

TEST(MatrixMarketShare, RefusesWhatHasNone) {
  TemporaryFolder const folder;
  auto const text = random_list("real general", false, 1);
  auto const plain = put(folder / "A.mtx", text), packed = put(folder / "A.mtx.gz", gzip(text));
  EXPECT_TRUE(has_shares(plain));
  EXPECT_FALSE(has_shares(packed));
  EXPECT_TRUE(throws_with<ValueError>("has no shares",
                                      [&] { (void)read_matrix_market_share(packed, 0, 2); }));
  EXPECT_TRUE(throws_with<ValueError>("share 2 of 2",
                                      [&] { (void)read_matrix_market_share(plain, 2, 2); }));
  EXPECT_TRUE(throws_with<ValueError>("share -1 of 2",
                                      [&] { (void)read_matrix_market_share(plain, -1, 2); }));
  auto const array = put(folder / "B.mtx", "%%MatrixMarket matrix array real general\n1 1\n3\n");
  EXPECT_TRUE(throws_with<ValueError>("an array has no shares",
                                      [&] { (void)read_matrix_market_share(array, 0, 1); }));
  EXPECT_TRUE(throws_with<MemoryError>("the limit of 100 bytes", [&] {
    (void)read_matrix_market_share(plain, 0, 1, {.max_bytes = 100});
  }));
  auto const bad = put(folder / "C.mtx", banner + "real general\n2 2 2\n1 1 1\n2 3 1\n");
  EXPECT_EQ(read_matrix_market_share(bad, 0, 2).listed, 1);
  EXPECT_TRUE(throws_with<IoError>("column index 3 is outside 1 to 2",
                                   [&] { (void)read_matrix_market_share(bad, 1, 2); }));
}

TEST(MatrixMarketShare, SumsMustBeFinite) {
  CoordinateMatrix A{2, 2, false, {0, 0}, {1, 1}, {1e308, 1e308}};
  EXPECT_FALSE(add_entries_at_one_position(A));
}

}  // namespace
