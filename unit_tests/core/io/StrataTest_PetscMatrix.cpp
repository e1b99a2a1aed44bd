// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Files.hpp"
#include <core/io/Strata_PetscMatrix.hpp>
#include <core/io/files/Strata_ByteSource.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

constexpr std::int64_t matrix = 1211216, vector = 1211214;

/// Big-endian numbers one after the other.
struct Bytes {
  int width = 4;
  std::string text;
  Bytes& integers(std::vector<std::int64_t> const& numbers) {
    for (auto const number : numbers)
      for (int k = width; k-- > 0;) text += static_cast<char>(number >> (8 * k) & 0xff);
    return *this;
  }
  Bytes& reals(std::vector<double> const& numbers) {
    for (double const number : numbers) {
      auto const bits = std::bit_cast<std::uint64_t>(number);
      for (int k = 8; k-- > 0;) text += static_cast<char>(bits >> (8 * k) & 0xff);
    }
    return *this;
  }
};

CoordinateMatrix parse(std::string const& bytes, ReadOptions const& options = {}) {
  MemorySource source("A.petsc", bytes.data(), bytes.size());
  return strata::detail::read_petsc_matrix(source, options);
}
// 1 2 0
// 0 0 3
std::string sound(int width = 4) {
  Bytes bytes{width, {}};
  return bytes.integers({matrix, 2, 3, 3, 2, 1, 0, 1, 2}).reals({1, 2, 3}).text;
}

TEST(PetscMatrix, ReadsMatricesOfBothWidthsOfIndices) {
  for (int const width : {4, 8}) {
    auto const A = parse(sound(width));
    EXPECT_EQ(A.rows, 2);
    EXPECT_EQ(A.cols, 3);
    EXPECT_EQ(A.row, (std::vector<std::int64_t>{0, 0, 1}));
    EXPECT_EQ(A.col, (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_EQ(A.value, (std::vector<double>{1, 2, 3}));
  }
}

TEST(PetscMatrix, ReadsVectorsAndFilesByTheirFirstBytes) {
  TemporaryFolder const folder;
  for (int const width : {4, 8}) {
    auto const path =
        put(folder / "b.petsc", Bytes{width, {}}.integers({vector, 2}).reals({5, 7}).text);
    auto const header = read_petsc_header(path);
    EXPECT_TRUE(header.is_vector);
    EXPECT_EQ(header.has_wide_indices, width == 8);
    EXPECT_EQ(read_matrix(path)(1, 0), 7);
    put(path, sound(width));
    EXPECT_EQ(read_petsc_header(path).entries, 3);
    EXPECT_EQ(read_matrix(path)(1, 2), 3);
    EXPECT_TRUE(throws_with<IoError>("a matrix of PETSc, where a vector is wanted",
                                     [&] { (void)read_petsc_vector(path); }));
  }
}

TEST(PetscMatrix, SaysWhatItAddsAndWhatItLeaves) {
  std::vector<std::string> said;
  ReadOptions options;
  options.on_remark = [&](std::string const& text) { said.push_back(text); };
  auto const twice = Bytes().integers({matrix, 1, 1, 2, 2, 0, 0}).reals({1, 2}).text;
  auto const A = parse(twice + "rest", options);
  EXPECT_EQ(A.value, (std::vector<double>{3}));
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find("4 bytes behind the matrix are not read"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("1 of 2 entries are at positions listed before"), std::string::npos);
}

TEST(PetscMatrix, RefusesWhatIsNotSound) {
  auto const refused = [](std::string const& part, std::string const& bytes) {
    EXPECT_TRUE(throws_with<IoError>(part, [&] { (void)parse(bytes); })) << part;
  };
  auto const of = [](std::vector<std::int64_t> const& integers, std::vector<double> const& reals) {
    return Bytes().integers(integers).reals(reals).text;
  };
  refused("the class number is 7", of({7, 2, 3}, {}));
  refused("expected 4 bytes of the number of columns, found 0", of({matrix, 2}, {}));
  refused("a dense matrix of PETSc", of({matrix, 2, 3, -1}, {1, 2, 3, 4, 5, 6}));
  refused("a matrix of -2 x 3", of({matrix, -2, 3, 1}, {1}));
  refused("2 rows and 1000000 entries need more bytes", of({matrix, 2, 3, 1000000}, {1, 2}));
  refused("row 0 has 4 of 3 entries", of({matrix, 2, 3, 3, 4, -1, 0, 1, 2}, {1, 2, 3}));
  refused("row 1 has -1 of 3 entries", of({matrix, 2, 3, 3, 3, -1, 0, 1, 2}, {1, 2, 3}));
  refused("the rows have 2 entries, the header says 3",
          of({matrix, 2, 3, 3, 1, 1, 0, 1, 2}, {1, 2, 3}));
  refused("entry 2 has the column 3, there are 3", of({matrix, 2, 3, 3, 2, 1, 0, 1, 3}, {1, 2, 3}));
  double const infinity = std::numeric_limits<double>::infinity();
  refused("value 1 is inf, must be finite", of({matrix, 2, 3, 3, 2, 1, 0, 1, 2}, {1, infinity, 3}));
  refused("numbers of 16 bytes, as a PETSc with complex numbers writes",
          of({matrix, 2, 3, 3, 2, 1, 0, 1, 2}, {1, 0, 2, 0, 3, 0}));
  refused("a vector of PETSc, where a matrix is wanted", of({vector, 1}, {1}));
  EXPECT_TRUE(throws_with<MemoryError>("3 entries need 24 bytes each; the limit is 60",
                                       [&] { (void)parse(sound(), {.max_bytes = 60}); }));
  auto const whole = sound();
  for (std::size_t k = 0; k < whole.size(); ++k)
    EXPECT_THROW((void)parse(whole.substr(0, k)), IoError) << k;
}

}  // namespace
