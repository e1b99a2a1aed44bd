// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Files.hpp"
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/Strata_Npy.hpp>
#include <core/io/detail/Strata_MatrixMarketStream.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bit>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

using Values = std::vector<double>;
using Indices = std::vector<std::int64_t>;

std::string const array_general = "%%MatrixMarket matrix array real general\n";
std::string const array_symmetric = "%%MatrixMarket matrix array real symmetric\n";
std::string const general = "%%MatrixMarket matrix coordinate real general\n";
std::string const symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
std::string const skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n";
std::string const integer = "%%MatrixMarket matrix coordinate integer general\n";

MatrixMarketMatrix parse(std::string const& text, ReadOptions const& options = {}) {
  strata::MemorySource source("A.mtx", text.data(), text.size());
  return detail::read_matrix_market(source, options);
}
CoordinateMatrix parse_coordinates(std::string const& text) {
  return std::get<CoordinateMatrix>(parse(text));
}
ArrayMatrix parse_array(std::string const& text) { return std::get<ArrayMatrix>(parse(text)); }

// Numbers that show whether every bit survives.
Values extremes() {
  using limits = std::numeric_limits<double>;
  Values v{0.0,
           -0.0,
           1.0 / 3,
           limits::denorm_min(),
           -limits::denorm_min(),
           limits::min(),
           limits::max(),
           -limits::max(),
           limits::epsilon(),
           0.1,
           5e-324,
           2.2250738585072011e-308,
           1e22,
           123456789012345678.0};
  std::mt19937_64 random(7);
  while (v.size() < 400) {
    auto const x = std::bit_cast<double>(random());
    if (std::isfinite(x)) v.push_back(x);
  }
  return v;
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void expect_same_bits(ConstHostMatrix const& A, ConstHostMatrix const& B) {
  ASSERT_EQ(A.extent(0), B.extent(0));
  ASSERT_EQ(A.extent(1), B.extent(1));
  for (std::size_t j = 0; j < A.extent(1); ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i)
      ASSERT_TRUE(same_bits(A(i, j), B(i, j))) << i << ' ' << j;
}

HostMatrix matrix_of_extremes() {
  auto const v = extremes();
  auto const A = allocate_host_matrix("strata::test", 20, 20);
  std::copy(v.begin(), v.end(), A.data());
  return A;
}

// ---- what is read

TEST(MatrixMarket, ReadsTheEntriesOfACoordinateFile) {
  auto const A = parse_coordinates(general + "% comment\n2 3 3\n1 1 1.5\n2 3 -2e3\n1 2 +.25\n");
  EXPECT_EQ(A.rows, 2);
  EXPECT_EQ(A.cols, 3);
  EXPECT_FALSE(A.symmetric);
  EXPECT_EQ(A.row, (Indices{0, 1, 0}));
  EXPECT_EQ(A.col, (Indices{0, 2, 1}));
  EXPECT_EQ(A.value, (Values{1.5, -2000, 0.25}));
}

TEST(MatrixMarket, ReadsAPatternAsOnes) {
  auto const A =
      parse_coordinates("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n3 1\n3 3");
  EXPECT_TRUE(A.symmetric);
  EXPECT_EQ(A.row, (Indices{0, 2, 2}));
  EXPECT_EQ(A.col, (Indices{0, 0, 2}));
  EXPECT_EQ(A.value, (Values{1, 1, 1}));
}

TEST(MatrixMarket, AddsEntriesAtOnePosition) {
  auto const A = parse_coordinates(general + "3 3 6\n3 3 1\n1 2 1\n2 1 1\n1 2 5\n3 3 2\n1 2 0.5\n");
  EXPECT_EQ(A.row, (Indices{2, 0, 1}));
  EXPECT_EQ(A.col, (Indices{2, 1, 0}));
  EXPECT_EQ(A.value, (Values{3, 6.5, 1}));
  EXPECT_EQ(A.added, 3);
  EXPECT_EQ(parse_coordinates(symmetric + "2 2 3\n1 2 1\n1 2 2\n1 1 1\n").value, (Values{3, 1}));
}

TEST(MatrixMarket, ReadsTheUpperTriangleOfASymmetricList) {
  auto const A = parse_coordinates(symmetric + "3 3 3\n1 1 4\n1 3 2\n2 3 5\n");
  EXPECT_EQ(A.row, (Indices{0, 2, 2}));
  EXPECT_EQ(A.col, (Indices{0, 0, 1}));
}

TEST(MatrixMarket, ReadsBothTrianglesOfASkewSymmetricList) {
  auto const A = parse_coordinates(skew + "3 3 2\n2 1 4\n3 1 -2\n");
  EXPECT_EQ(A.row, (Indices{1, 0, 2, 0}));
  EXPECT_EQ(A.col, (Indices{0, 1, 0, 2}));
  EXPECT_EQ(A.value, (Values{4, -4, -2, 2}));
}

TEST(MatrixMarket, ReadsAnArrayByColumns) {
  auto const A = parse_array(array_general + "2 2\n1\n2\n3\n4\n");
  EXPECT_EQ(A.value, (Values{1, 2, 3, 4}));
  auto const dense = to_dense(A);
  EXPECT_EQ(dense(1, 0), 2);
  EXPECT_EQ(dense(0, 1), 3);
}

TEST(MatrixMarket, ReadsASymmetricArrayAsItsLowerTriangle) {
  auto const A = parse_array(array_symmetric + "3 3\n1\n2\n3\n4\n5\n6\n");
  EXPECT_TRUE(A.symmetric);
  EXPECT_EQ(A.value, (Values{1, 2, 3, 4, 5, 6}));
  auto const dense = to_dense_symmetric(A);
  double const expected[3][3] = {{1, 2, 3}, {2, 4, 5}, {3, 5, 6}};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(dense(i, j), expected[i][j]);
}

TEST(MatrixMarket, AcceptsCommentsBlankLinesCarriageReturnsAndAMissingLastLineEnd) {
  std::string const text =
      "%%matrixmarket MATRIX Coordinate REAL General \r\n%a\r\n\r\n%\r\n 2\t2  2 \r\n\r\n1 1 "
      "1\r\n% b\r\n  2 2\t4 \r\n\r\n";
  EXPECT_EQ(parse_coordinates(text).value, (Values{1, 4}));
  EXPECT_EQ(parse_coordinates(text.substr(0, text.find(" \r\n\r\n", 100))).value, (Values{1, 4}));
}

TEST(MatrixMarket, ReadsMatricesWithoutElements) {
  EXPECT_EQ(to_dense(parse(array_general + "0 0\n")).size(), 0u);
  EXPECT_EQ(to_dense(parse(array_general + "0 5\n")).extent(1), 5u);
  EXPECT_EQ(to_dense_symmetric(parse(symmetric + "0 0 0")).size(), 0u);
  EXPECT_EQ(to_dense(parse(general + "2 2 0\n"))(1, 1), 0);
}

TEST(MatrixMarket, ReadsIntegersUpToTheLastExactOne) {
  EXPECT_EQ(parse_coordinates(integer + "1 2 2\n1 1 -7\n1 2 9007199254740992\n").value,
            (Values{-7, 9007199254740992.0}));
}

TEST(MatrixMarket, ReadsNumbersTheSameInEveryLocale) {
  // an unknown locale is refused and leaves C, which is then tested once more
  std::string const before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(parse_array(array_general + "1 1\n1.5\n").value, (Values{1.5}));
  std::setlocale(LC_ALL, before.c_str());
}

TEST(MatrixMarket, ReadsLinesAcrossTheBufferAndOfTheGreatestLength) {
  std::string text = general + "1000 1000 20000\n" + '%' + std::string(65535, '-') + '\n';
  for (int k = 0; k < 20000; ++k)
    text += std::to_string(k % 1000 + 1) + ' ' + std::to_string(k / 1000 + 1) + ' ' +
            std::to_string(k) + ".0000000000000\n";
  auto const A = parse_coordinates(text);
  for (int k = 0; k < 20000; ++k) ASSERT_EQ(A.value[static_cast<std::size_t>(k)], k);
}

TEST(MatrixMarket, ReadsTheHeaderAlone) {
  TemporaryFolder const folder;
  auto const path =
      put(folder / "A.mtx", symmetric + "% x\n4 4 2\nnot read\nat all, sixteen bytes");
  auto const header = read_matrix_market_header(path);
  EXPECT_EQ(header.format, MatrixMarketFormat::Coordinate);
  EXPECT_EQ(header.field, MatrixMarketField::Real);
  EXPECT_TRUE(header.symmetric);
  EXPECT_EQ(header.rows, 4);
  EXPECT_EQ(header.cols, 4);
  EXPECT_EQ(header.entries, 2);
}

// ---- what is refused, by its message

TEST(MatrixMarket, RefusesListsThatAreNotTriangles) {
  std::pair<std::string, std::string> const cases[] = {
      {symmetric + "2 2 2\n2 1 1\n1 2 1\n",
       ":4: entry (1, 2) is above the diagonal of a symmetric matrix, others are on its other "
       "side"},
      {skew + "2 2 2\n1 2 1\n2 1 -1\n", ":4: entry (2, 1) is below the diagonal"},
      {skew + "2 2 1\n1 1 0\n", ":3: entry (1, 1) is on the diagonal of a skew-symmetric matrix"},
      {skew + "2 3 1\n2 1 1\n", ":2: a symmetric matrix is square, this one is 2 x 3"},
      {"1 1 4.5\n",
       "A.mtx:1: not a Matrix Market file: the first line does not begin with "
       "%%MatrixMarket; if its lines are `row column value`, counted from 1, put these "
       "two before them: `%%MatrixMarket matrix coordinate real general`"},
  };
  for (auto const& [text, expected] : cases) {
    auto const found = message_of<IoError>([&] { parse(text); });
    EXPECT_NE(found.find(expected), std::string::npos) << found << "\ninstead of\n" << expected;
  }
}

TEST(MatrixMarket, RefusesEachBreachWithItsLine) {
  std::string const banner = "%%MatrixMarket ";
  std::pair<std::string, std::string> const cases[] = {
      {"", "A.mtx: expected a Matrix Market file, found nothing; the file ends at line 0"},
      {"%MatrixMarket matrix array real general\n", "A.mtx:1: not a Matrix Market file"},
      {"\x93NUMPY", "A.mtx:1: not a Matrix Market file"},
      {banner + "vector array real general\n1 1\n1\n",
       ":1: object 'vector' is not supported, only 'matrix'"},
      {banner + "matrix dense real general\n1 1\n1\n", ":1: format 'dense' is not supported"},
      {banner + "matrix array\n1 1\n1\n", ":1: field '' is not supported"},
      {banner + "matrix array complex general\n1 1\n1 1\n",
       ":1: field 'complex' is not supported, only 'real' and 'integer'"},
      {banner + "matrix array pattern general\n1 1\n1\n",
       ":1: field 'pattern' is not supported, only 'real' and 'integer'"},
      {banner + "matrix coordinate pattern general\n1 1 1\n1 1 1\n",
       ":3: expected the end of the line, found '1'"},
      {banner + "matrix coordinate pattern general\n9 9 20\n1 1\n",
       "20 entries of at least 4 bytes"},
      {banner + "matrix array real skew-symmetric\n1 1\n",
       ":1: symmetry 'skew-symmetric' is not supported"},
      {banner + "matrix array real hermitian\n1 1\n1\n",
       ":1: symmetry 'hermitian' is not supported"},
      {banner + "matrix array real general x\n1 1\n1\n",
       ":1: expected the end of the line, found 'x'"},
      {general + "% only\n", "A.mtx: expected a line of sizes; the file ends at line 2"},
      {general + "2 2\n", ":2: expected the number of entries, found the end of the line"},
      {general + "2 x 1\n", ":2: number of columns 'x' is not an integer"},
      {general + "2.0 2 1\n", ":2: number of rows '2.0' is not an integer"},
      {general + "-1 2 1\n", ":2: number of rows -1 is negative"},
      {general + "2 2 1 1\n1 1 1\n", ":2: expected the end of the line, found '1'"},
      {general + "99999999999999999999 2 1\n",
       ":2: number of rows '99999999999999999999' is outside the range of 64-bit integers"},
      {general + "2 2 50\n1 1 1\n", ":2: the header promises 50 entries of at least 6 bytes"},
      {general + "0 2 1\n1 1 1\n", ":2: 1 entries in a 0 x 2 matrix"},
      {symmetric + "2 3 1\n1 1 1\n", ":2: a symmetric matrix is square, this one is 2 x 3"},
      {array_symmetric + "2 3\n1\n1\n1\n", ":2: a symmetric matrix is square, this one is 2 x 3"},
      {array_general + "0 1073741825\n", ":2: a matrix without elements of 0 x 1073741825"},
      {general + "0 1073741825 0\n", ":2: a matrix without elements of 0 x 1073741825"},
      {general + "2 2 1\n0 1 1\n", ":3: row index 0 is outside 1 to 2"},
      {general + "2 2 1\n1 3 1\n", ":3: column index 3 is outside 1 to 2"},
      {general + "2 2 1\n1 -1 1\n", ":3: column index -1 is outside 1 to 2"},
      {general + "2 2 1\n1 1\n  \n\n", ":3: expected the value, found the end of the line"},
      {general + "2 2 1\n1 1 1 0\n", ":3: expected the end of the line, found '0'"},
      {general + "2 2 1\n1 1 1,5\n", ":3: value '1,5' is not a number"},
      {general + "2 2 1\n1 1 +-5\n", ":3: value '+-5' is not a number"},
      {general + "2 2 1\n1 1 0x1p3\n", ":3: value '0x1p3' is not a number"},
      {general + "2 2 1\n1 1 nan\n", ":3: value 'nan' is not finite"},
      {general + "2 2 1\n1 1 -Inf\n", ":3: value '-Inf' is not finite"},
      {general + "2 2 1\n1 1 1e400\n", ":3: value '1e400' is outside the range of fp64"},
      {general + "2 2 1\n1 1 1e-400\n", ":3: value '1e-400' is outside the range of fp64"},
      {integer + "2 2 1\n1 1 1.0\n", ":3: value '1.0' is not an integer"},
      {integer + "2 2 1\n1 1 9007199254740993\n",
       ":3: value 9007199254740993 is not exact in fp64"},
      {general + "2 2 2\n1 1 1\n\n% x\n",
       "A.mtx: expected 2 entries, found 1; the file ends at line 5"},
      {general + "2 2 1\n1 1 1\n2 2 2\n",
       ":4: expected nothing after the last of 1 entries, found '2 2 2'"},
      {array_general + "1 1\n1\n\nx\n",
       ":5: expected nothing after the last of 1 entries, found 'x'"},
      {array_general + "2 1\n1 2\n", ":3: expected the end of the line, found '2'"},
      {general + "2 2 3\n1 1 1e308\n2 2 1\n1 1 1e308\n",
       "A.mtx: the sum of the entries at (1, 1) is not finite"},
      {general + "2 2 1\n" + std::string(65537, ' ') + "1 1 1\n",
       ":3: a line of more than 65536 bytes"},
      {general + "2 2 1\n1 1 \x1b[31m\n1\n", ":3: value '?[31m' is not a number"},
  };
  for (auto const& [text, expected] : cases) {
    auto const found = message_of<IoError>([&] { parse(text); });
    EXPECT_NE(found.find(expected), std::string::npos) << found << "\ninstead of\n" << expected;
    EXPECT_EQ(found.find('\n'), std::string::npos);
  }
}

TEST(MatrixMarket, RefusesMoreEntriesThanTheFileCanHoldAndNoFewer) {
  EXPECT_EQ(parse_array(array_general + std::string(1, '4') + " 1\n1\n1\n1\n1").value.size(), 4u);
  std::string const bare = "%%MatrixMarket matrix array real general\n100 1\n";
  EXPECT_NE(
      message_of<IoError>([&] {
        parse(bare);
      }).find(":2: the header promises 100 entries of at least 2 bytes, the file has 47 bytes"),
      std::string::npos);
}

TEST(MatrixMarket, RefusesMoreThanTheMemoryLimit) {
  auto const text = general + "2 2 3\n1 1 1\n1 2 1\n2 2 1\n";
  EXPECT_NO_THROW(parse(text, {.max_bytes = 72}));
  EXPECT_EQ(message_of<MemoryError>([&] { parse(text, {.max_bytes = 71}); }),
            "A.mtx: 3 entries need 24 bytes each; the limit is 71 bytes");
  auto const A = parse(text);
  EXPECT_NO_THROW(to_dense(A, {.max_bytes = 32}));
  EXPECT_EQ(message_of<MemoryError>([&] { to_dense(A, {.max_bytes = 31}); }),
            "to_dense: a dense 2 x 2 matrix of fp64 needs 32 bytes; the limit is 31");
}

TEST(MatrixMarket, MakesNoLargeDenseMatrixOfFewEntries) {
  auto const A = parse(symmetric + "100000 100000 1\n1 1 1\n");
  EXPECT_EQ(
      message_of<ShapeError>([&] { to_dense_symmetric(A, {.max_bytes = std::size_t(1) << 40}); }),
      "to_dense: 1 entries in a 100000 x 100000 matrix: some row or column has none, it is "
      "singular");
  auto const huge = parse(general + "9000000000000000000 9000000000000000000 0\n");
  EXPECT_NE(message_of<MemoryError>([&] { to_dense(huge); }).find("needs 6.48e+38 bytes"),
            std::string::npos);
}

TEST(MatrixMarket, TakesAGeneralFileAsSymmetricOnlyIfItsNumbersAre) {
  EXPECT_EQ(to_dense_symmetric(parse(array_general + "2 2\n4\n1\n1\n5\n"))(0, 1), 1);
  // a difference of rounding: the lower triangle counts
  EXPECT_EQ(to_dense_symmetric(parse(array_general + "2 2\n4\n1\n1.0000000000000002\n5\n"))(0, 1),
            1);
  EXPECT_EQ(message_of<ValueError>(
                [] { to_dense_symmetric(parse(array_general + "2 2\n4\n1\n1.5\n5\n")); }),
            "the matrix is not symmetric: A(2, 1) = 1 but A(1, 2) = 1.5");
  EXPECT_EQ(
      message_of<ValueError>([] { to_dense_symmetric(parse(general + "50 50 1\n3 50 0.1\n")); }),
      "the matrix is not symmetric: A(50, 3) = 0 but A(3, 50) = 0.10000000000000001");
  EXPECT_EQ(
      message_of<ShapeError>([] { to_dense_symmetric(parse(array_general + "2 1\n1\n1\n")); }),
      "a symmetric matrix is square, this one is 2 x 1");
}

// ---- files and gzip

TEST(MatrixMarket, TellsGzipByItsBytesNotByItsName) {
  TemporaryFolder const folder;
  auto const text = array_general + "2 1\n1\n2\n";
  for (auto const& path :
       {put(folder / "A.mtx", gzip(text)), put(folder / "A.mtx.gz", text),
        put(folder / "two.mtx.gz", gzip(text.substr(0, 20)) + gzip(text.substr(20)))})
    EXPECT_EQ(std::get<ArrayMatrix>(read_matrix_market(path)).value, (Values{1, 2})) << path;
}

TEST(MatrixMarket, RefusesADamagedGzipStream) {
  TemporaryFolder const folder;
  std::string text = array_general + "3000 1\n";
  for (int k = 0; k < 3000; ++k) text += std::to_string(k * 7919 % 3001) + '\n';
  auto const whole = gzip(text);
  auto broken = whole;
  broken[broken.size() / 2] = static_cast<char>(broken[broken.size() / 2] ^ 0x55);
  auto checksum = whole;
  checksum[checksum.size() - 6] ^= 1;
  std::pair<std::string, std::string> const cases[] = {
      {whole.substr(0, whole.size() / 2), ": the gzip stream ends early, after "},
      {whole.substr(0, whole.size() - 1), ": the gzip stream ends early, after "},
      {whole.substr(0, 2), ": the gzip stream ends early, after 2 compressed and 0 inflated bytes"},
      {whole + "garbage",
       ": bytes after the end of the gzip stream (at byte " + std::to_string(whole.size())},
      {whole + std::string(512, '\0'), ": bytes after the end of the gzip stream"},
      {whole + "\x1fnonsense", ": damaged gzip stream"},
      {broken, ": damaged gzip stream after "},
      {checksum, "incorrect data check"},
  };
  for (auto const& [bytes, expected] : cases) {
    auto const path = put(folder / "A.mtx.gz", bytes);
    auto const found = message_of<IoError>([&] { read_matrix_market(path); });
    EXPECT_EQ(found.find(path), 0u) << found;
    EXPECT_NE(found.find(expected), std::string::npos) << found << "\ninstead of\n" << expected;
  }
}

TEST(MatrixMarket, RefusesWhatIsNoRegularFile) {
  TemporaryFolder const folder;
  auto const missing = folder / "none.mtx", pipe = folder / "pipe";
  EXPECT_EQ(message_of<IoError>([&] { read_matrix_market(missing); }),
            missing + ": cannot open: No such file or directory (errno 2)");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (auto const& path : {pipe, folder / ".", std::string("/dev/zero")})
    EXPECT_EQ(message_of<IoError>([&] { read_matrix_market(path); }),
              path + ": not a regular file");
}

TEST(MatrixMarket, ReadsADenseMatrixFromEitherKindOfFileAndNamesItInErrors) {
  TemporaryFolder const folder;
  auto const mtx = put(folder / "A", gzip(symmetric + "2 2 2\n1 1 2\n2 1 1\n")), npy = folder / "B";
  write_npy(npy, read_symmetric_matrix(mtx), {.order = NpyOrder::C});
  expect_same_bits(read_symmetric_matrix(npy), read_matrix(mtx));
  auto const A = allocate_host_matrix("strata::test", 2, 2);
  A(0, 0) = A(1, 0) = A(1, 1) = 1, A(0, 1) = -1;
  write_npy(npy, A);
  expect_same_bits(read_matrix(npy), A);
  EXPECT_EQ(message_of<IoError>([&] { read_symmetric_matrix(npy); }),
            npy + ": the matrix is not symmetric: A(2, 1) = 1 but A(1, 2) = -1");
  put(mtx, array_general + "2 1\n1\n2\n");
  EXPECT_EQ(message_of<IoError>([&] { read_symmetric_matrix(mtx); }),
            mtx + ": a symmetric matrix is square, this one is 2 x 1");
}

// ---- hostile files: one line, little memory, little time

struct Hostile {
  std::string name, bytes, expected;
};

// `count` copies of 16 MiB of `line`, each deflated to a few KiB.
std::string bomb(std::string const& header, std::string const& line, int count) {
  std::string block;
  while (block.size() < (1u << 24)) block += line;
  auto const member = gzip(block);
  auto bytes = gzip(header);
  for (int k = 0; k < count; ++k) bytes += member;
  return bytes;
}

TEST(MatrixMarket, HasAMeasureOfMemoryThatMeasures) {
  auto const outcome = in_child([] {
    std::vector<char> const block(200'000'000, 'x');
    throw Error(std::string(1, block[block.size() / 2]));
  });
  EXPECT_EQ(outcome.error, "x");
  EXPECT_GT(outcome.megabytes, 80);
}

TEST(MatrixMarket, RefusesHostileFilesCheaply) {
  Hostile const cases[] = {
      {"nnz = INT64_MAX", general + "3 3 9223372036854775807\n1 1 1\n",
       "the header promises at least 9223372036854775807 entries"},
      {"nnz = INT64_MAX in a huge matrix",
       general + "9223372036854775807 9223372036854775807 9223372036854775807\n1 1 1\n",
       "the header promises at least 9223372036854775807 entries"},
      {"nnz = 4e8 with one line", symmetric + "100000 100000 400000000\n1 1 1\n",
       "the header promises 400000000 entries"},
      {"the same in gzip", gzip(symmetric + "100000 100000 400000000\n1 1 1\n"),
       "the file has (inflated) at most 4194304 bytes"},
      {"array 2^32 x 2^32", array_general + "4294967296 4294967296\n1\n",
       "the header promises at least 9223372036854775807 entries"},
      {"symmetric array 2^32", array_symmetric + "4294967296 4294967296\n1\n",
       "the header promises at least 9223372036854775807 entries"},
      {"index 0", general + "3 3 1\n0 1 1\n", ":3: row index 0 is outside 1 to 3"},
      {"index n+1", general + "3 3 1\n1 4 1\n", ":3: column index 4 is outside 1 to 3"},
      {"symmetric non-square", symmetric + "3 4 1\n1 1 1\n",
       "a symmetric matrix is square, this one is 3 x 4"},
      {"both triangles in symmetric", symmetric + "3 3 2\n3 2 1\n1 3 1\n",
       ":4: entry (1, 3) is above the diagonal"},
      {"NaN", general + "3 3 1\n1 1 NaN\n", ":3: value 'NaN' is not finite"},
      {"1e400", general + "3 3 1\n1 1 1e400\n", ":3: value '1e400' is outside the range of fp64"},
      {"truncated", general + "3 3 3\n1 1 1\n2 2 2",
       "expected 3 entries, found 2; the file ends at line 4"},
      {"truncated gzip", gzip(general + "3 3 1\n1 1 1\n").substr(0, 40),
       "the gzip stream ends early"},
      {"gzip bomb of blank lines", bomb(general + "3 3 1\n1 1 1\n", "\n", 64),
       "the largest ratio allowed is 200"},
      {"gzip bomb of one line", bomb(general + "3 3 1\n", " ", 64),
       ":3: a line of more than 65536 bytes"},
      {"gzip bomb of entries", bomb(array_general + "40000000 1\n", "1\n", 64),
       "the largest ratio allowed is 200"},
      {".npy with a header of 2^32 bytes", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13),
       "a .npy header of 4294967295 bytes; the limit is 65536"},
  };
  TemporaryFolder const folder;
  for (auto const& [name, bytes, expected] : cases) {
    SCOPED_TRACE(name);
    auto const path = put(folder / "hostile", bytes);
    expect_refused_cheaply(in_child([&] { read_symmetric_matrix(path); }), expected);
  }
}

// ---- what is written

TEST(MatrixMarketWriter, ReadsBackEveryBitOfADenseMatrix) {
  TemporaryFolder const folder;
  auto const A = matrix_of_extremes();
  for (auto const compression : {Compression::None, Compression::Gzip}) {
    auto const path = folder / "A.mtx";
    write_matrix_market(path, A, {.compression = compression});
    expect_same_bits(to_dense(read_matrix_market(path)), A);
    EXPECT_EQ(get(path)[0], compression == Compression::Gzip ? '\x1f' : '%');
  }
  EXPECT_EQ(folder.files(), 1u);
}

TEST(MatrixMarketWriter, ReadsBackEveryBitOfAListOfEntries) {
  TemporaryFolder const folder;
  CoordinateMatrix A{400, 500, false, {}, {}, extremes()};
  for (std::int64_t k = 0; k < 400; ++k) {
    A.row.push_back((7 * k) % 400);
    A.col.push_back(499 - k);
  }
  for (auto const compression : {Compression::None, Compression::Gzip}) {
    write_matrix_market(folder / "A", A, compression);
    auto const B = std::get<CoordinateMatrix>(read_matrix_market(folder / "A"));
    EXPECT_EQ(B.rows, A.rows);
    EXPECT_EQ(B.cols, A.cols);
    EXPECT_EQ(B.row, A.row);
    EXPECT_EQ(B.col, A.col);
    for (std::size_t k = 0; k < 400; ++k) ASSERT_TRUE(same_bits(A.value[k], B.value[k]));
  }
}

TEST(MatrixMarketWriter, WritesTheLowerTriangleOfASymmetricMatrix) {
  TemporaryFolder const folder;
  auto const A = allocate_host_matrix("strata::test", 2, 2);
  A(0, 0) = 4, A(1, 0) = A(0, 1) = 0.1, A(1, 1) = 5;
  write_matrix_market(folder / "A", A, {.symmetry = Symmetry::Symmetric});
  EXPECT_EQ(get(folder / "A"), array_symmetric + "2 2\n4\n0.1\n5\n");
  expect_same_bits(to_dense_symmetric(read_matrix_market(folder / "A")), A);
  write_matrix_market(folder / "A", CoordinateMatrix{2, 2, true, {0, 1}, {0, 0}, {4, 0.1}});
  EXPECT_EQ(get(folder / "A"), symmetric + "2 2 2\n1 1 4\n2 1 0.1\n");
}

TEST(MatrixMarketWriter, WritesAViewWithPaddingAndOnesWithoutElements) {
  TemporaryFolder const folder;
  auto const whole = matrix_of_extremes();
  HostMatrix const part = Kokkos::subview(whole, std::pair(3, 9), std::pair(2, 5));
  write_matrix_market(folder / "A", part);
  expect_same_bits(to_dense(read_matrix_market(folder / "A")), part);
  write_matrix_market(folder / "A", allocate_host_matrix("strata::test", 0, 3));
  EXPECT_EQ(get(folder / "A"), array_general + "0 3\n");
}

TEST(MatrixMarketWriter, RefusesWhatCouldNotBeReadBackBeforeThereIsAFile) {
  TemporaryFolder const folder;
  auto const path = folder / "A";
  auto const A = allocate_host_matrix("strata::test", 2, 2);
  A(0, 0) = A(1, 1) = A(1, 0) = 1, A(0, 1) = 2;
  auto const refusal = [&](CoordinateMatrix const& C) {
    return message_of<Error>([&] { write_matrix_market(path, C); });
  };
  EXPECT_EQ(message_of<ValueError>(
                [&] { write_matrix_market(path, A, {.symmetry = Symmetry::Symmetric}); }),
            "write_matrix_market: A(2, 1) = 1 but A(1, 2) = 2, not symmetric");
  A(0, 1) = NAN;
  EXPECT_EQ(message_of<ValueError>([&] { write_matrix_market(path, A); }),
            "write_matrix_market: A(1, 2) = nan is not finite");
  EXPECT_EQ(refusal({2, 2, false, {0}, {0}, {INFINITY}}),
            "write_matrix_market: entry 0 = inf is not finite");
  EXPECT_EQ(refusal({2, 2, false, {2}, {0}, {1}}),
            "write_matrix_market: entry 0 is at (2, 0), outside the matrix of 2 x 2");
  EXPECT_EQ(refusal({2, 2, true, {0}, {1}, {1}}),
            "write_matrix_market: entry 0 is at (0, 1), outside the lower triangle of 2 x 2");
  EXPECT_EQ(refusal({2, 3, true, {}, {}, {}}),
            "write_matrix_market: a 2 x 3 matrix, which is to be symmetric");
  EXPECT_EQ(refusal({2, 2, false, {0}, {}, {1}}),
            "write_matrix_market: 1 rows, 0 columns and 1 values");
  EXPECT_EQ(refusal({2, 2, false, {1, 0, 1}, {1, 0, 1}, {1, 2, 3}}),
            "write_matrix_market: entries 0 and 2 are both at (1, 1)");
  EXPECT_EQ(folder.files(), 0u);
}

TEST(MatrixMarketWriter, SaysWhyAFileCannotBeWritten) {
  auto const A = matrix_of_extremes();
  TemporaryFolder const folder;
  auto const path = folder / "missing/A.mtx";
  EXPECT_EQ(message_of<IoError>([&] { write_matrix_market(path, A); }),
            path + ": cannot create: No such file or directory (errno 2)");
  EXPECT_EQ(message_of<IoError>([&] { write_matrix_market(folder / ".", A); }),
            (folder / ".") + ": cannot create: Is a directory (errno 21)");
  auto const full = message_of<IoError>([&] { write_matrix_market("/dev/full", A); });
  EXPECT_EQ(full.find("/dev/full: wrote 0 of "), 0u) << full;
  EXPECT_NE(full.find("No space left on device (errno 28)"), std::string::npos) << full;
}

TEST(MatrixMarketWriter, LeavesTheOldFileWhenTheNewOneDoesNotFit) {
  TemporaryFolder const folder;
  auto const path = put(folder / "A.mtx", "old");
  auto const A = matrix_of_extremes();
  auto const outcome = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit const small{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &small);
    write_matrix_market(path, A);
  });
  EXPECT_NE(outcome.error.find("File too large"), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.error.find(path + ": wrote 4096 of "), 0u) << outcome.error;
  EXPECT_EQ(get(path), "old");
  EXPECT_EQ(folder.files(), 1u);
}

TEST(MatrixMarketWriter, ReplacesTheFileBehindASymbolicLinkAndKeepsTheLink) {
  TemporaryFolder const folder;
  put(folder / "target", "old");
  std::filesystem::create_symlink(folder / "target", folder / "link");
  auto const A = matrix_of_extremes();
  write_matrix_market(folder / "link", A);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  expect_same_bits(to_dense(read_matrix_market(folder / "target")), A);
  EXPECT_EQ(folder.files(), 2u);
}

}  // namespace
