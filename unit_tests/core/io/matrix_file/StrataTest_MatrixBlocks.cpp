// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "core/io/StrataTest_Files.hpp"
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/Strata_Npy.hpp>
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

HostMatrix symmetric(std::int64_t n) {
  auto const A = allocate_host_matrix("strata::test::A", n, n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      A(i, j) = static_cast<double>(std::max(i, j) * 100 + std::min(i, j)) + (i == j ? 0.25 : 0.5);
  return A;
}

// Every block of every size at a few positions holds the matrix's numbers, of its lower triangle at
// least.
void expect_blocks(MatrixBlocks const& blocks, HostMatrix const& A) {
  std::int64_t const n = static_cast<std::int64_t>(A.extent(0));
  ASSERT_EQ(blocks.order(), n);
  for (std::int64_t const size : {std::int64_t{1}, std::int64_t{3}, std::int64_t{10}, n}) {
    for (std::int64_t row = 0; row + size <= n; row += 2)
      for (std::int64_t col = 0; col + size <= n; col += 3) {
        std::vector<double> values(static_cast<std::size_t>(size * size), -1);
        HostBlock const B(values.data(), size, size);
        blocks.read(row, col, B);
        for (std::int64_t j = 0; j < size; ++j)
          for (std::int64_t i = 0; i < size; ++i) {
            bool const known = !blocks.is_lower() || row + i >= col + j;
            ASSERT_EQ(B(i, j), known ? A(row + i, col + j) : 0) << row << ' ' << col;
          }
      }
  }
  std::vector<double> values(7 * 2);
  blocks.read(n - 7, 1, HostBlock(values.data(), 7, 2));  // a ragged one
  EXPECT_EQ(values[13], A(n - 1, 2));
  blocks.require_symmetric(4);
}

std::string raw_bytes(HostMatrix const& A, std::int64_t ld, bool single, bool by_rows, bool big) {
  std::string bytes;
  auto const add = [&](auto value) {
    char text[sizeof value];
    std::memcpy(text, &value, sizeof value);
    if (big) std::reverse(text, text + sizeof value);
    bytes.append(text, sizeof value);
  };
  auto const n = static_cast<std::int64_t>(A.extent(0));
  for (std::int64_t major = 0; major < n; ++major)
    for (std::int64_t minor = 0; minor < ld; ++minor) {
      double const value = minor >= n ? -7 : by_rows ? A(major, minor) : A(minor, major);
      single ? add(static_cast<float>(value)) : add(value);
    }
  return bytes;
}

TEST(MatrixBlocks, ReadsNumpyFilesOfEitherOrder) {
  TemporaryFolder const folder;
  auto const A = symmetric(23);
  for (NpyOrder const order : {NpyOrder::C, NpyOrder::Fortran}) {
    write_npy(folder / "A.npy", A, {.order = order});
    MatrixBlocks const blocks(folder / "A.npy");
    expect_blocks(blocks, A);
    EXPECT_EQ(blocks.format(),
              order == NpyOrder::C ? "NumPy <f8, C order" : "NumPy <f8, Fortran order");
    EXPECT_EQ(blocks.scratch_bytes(), 0u);
    EXPECT_EQ(blocks.file_bytes(), get(folder / "A.npy").size());
  }
  A(20, 3) = 0;  // the upper triangle keeps another number: which one is read?
  write_npy(folder / "A.npy", A, {.order = NpyOrder::C});
  double value = -1;
  MatrixBlocks(folder / "A.npy").read(20, 3, HostBlock(&value, 1, 1));
  EXPECT_EQ(value, 0);
}

TEST(MatrixBlocks, ReadsRawNumbersAsTheirSidecarSays) {
  TemporaryFolder const folder;
  auto const A = symmetric(23);
  for (bool const single : {false, true})
    for (bool const by_rows : {false, true})
      for (bool const big : {false, true})
        for (std::int64_t const ld : {23, 30}) {
          std::string const bytes = raw_bytes(A, ld, single, by_rows, big);
          char crc[9];
          std::snprintf(
              crc, sizeof crc, "%08lx",
              crc32_z(0, reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size()));
          put(folder / "A.bin", bytes);
          put(folder / "A.bin.json", std::string(R"({"n": 23, "dtype": ")") +
                                         (single ? "float32" : "float64") + R"(", "order": ")" +
                                         (by_rows ? "row" : "column") + R"(", "endian": ")" +
                                         (big ? "big" : "little") + R"(", "ld": )" +
                                         std::to_string(ld) + R"(, "crc32": ")" + crc + "\"}");
          expect_blocks(MatrixBlocks(folder / "A.bin"), A);
          auto const whole = read_symmetric_matrix(folder / "A.bin");
          EXPECT_EQ(whole(22, 4), A(22, 4));
        }
  put(folder / "A.bin", raw_bytes(A, 30, false, false, false).substr(0, 8 * (22 * 30 + 23)));
  put(folder / "A.bin.json", R"({"n": 23, "dtype": "float64", "ld": 30})");
  expect_blocks(MatrixBlocks(folder / "A.bin"), A);  // the last column ends with the matrix
}

TEST(MatrixBlocks, UnpacksMatrixMarketArrays) {
  TemporaryFolder const folder, scratch;
  auto const A = symmetric(23);
  for (Symmetry const symmetry : {Symmetry::General, Symmetry::Symmetric})
    for (Compression const compression : {Compression::None, Compression::Gzip}) {
      write_matrix_market(folder / "A.mtx", A, {symmetry, compression});
      MatrixBlocks const blocks(folder / "A.mtx", {.scratch_folder = scratch / ""});
      expect_blocks(blocks, A);
      EXPECT_EQ(blocks.is_lower(), symmetry == Symmetry::Symmetric);
      EXPECT_EQ(blocks.format(), symmetry == Symmetry::Symmetric
                                     ? "Matrix Market, array real symmetric"
                                     : "Matrix Market, array real general");
      EXPECT_EQ(blocks.scratch_bytes(), 23u * 23 * 8);
      EXPECT_EQ(scratch.files(), 0u);  // it has no name
    }
  put(folder / "A.mtx", "%%MatrixMarket matrix array integer symmetric\n2 2\n3\n1\n4\n");
  std::vector<double> values(4);
  MatrixBlocks(folder / "A.mtx").read(0, 0, HostBlock(values.data(), 2, 2));
  EXPECT_EQ(values, (std::vector<double>{3, 1, 0, 4}));
}

// In a process of its own: a file of 200 MB, and little memory.
TEST(MatrixBlocks, NeverHoldsTheMatrix) {
  TemporaryFolder const folder;
  std::int64_t const n = 5000;
  std::string const path = folder / "A.bin";
  put(path, "");
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(n * n * 8));  // zeros, no disk
  put(path + ".json", R"({"n": 5000, "dtype": "float64"})");
  auto const outcome = in_child([&] {
    MatrixBlocks const blocks(path);
    blocks.require_symmetric(256);
    std::vector<double> values(64 * 64, 1);
    blocks.read(n - 64, 17, HostBlock(values.data(), 64, 64));
    STRATA_REQUIRE(Error, values[5] == 0, "not read");
  });
  EXPECT_EQ(outcome.error, "");
  EXPECT_LT(outcome.megabytes, 30);
}

TEST(MatrixBlocks, IsReadBySeveralThreadsAtOnce) {
  TemporaryFolder const folder;
  auto const A = symmetric(60);
  write_npy(folder / "A.npy", A);
  MatrixBlocks const blocks(folder / "A.npy");
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      std::vector<double> values(10 * 10);
      for (std::int64_t k = 0; k < 200; ++k) {
        auto const row = (k * 7 + static_cast<std::int64_t>(t)) % 50, col = k * 11 % 50;
        blocks.read(row, col, HostBlock(values.data(), 10, 10));
        wrong[t] += values[12] != A(row + 2, col + 1);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(MatrixBlocks, FindsWhatIsNotSymmetric) {
  TemporaryFolder const folder;
  auto const A = symmetric(23);
  A(17, 4) *= 1 + 1e-15;  // rounding
  write_npy(folder / "A.npy", A);
  EXPECT_NO_THROW(MatrixBlocks(folder / "A.npy").require_symmetric());
  A(4, 17) = 3;
  write_npy(folder / "A.npy", A);
  for (std::int64_t const size : {1, 5, 8, 100})
    EXPECT_NE(message_of<IoError>([&] {
                MatrixBlocks(folder / "A.npy").require_symmetric(size);
              }).find("A.npy: the matrix is not symmetric: A(18, 5) = 1704.5 but A(5, 18) = 3"),
              std::string::npos);
  EXPECT_EQ(message_of<ValueError>([&] { MatrixBlocks(folder / "A.npy").require_symmetric(0); }),
            "find_asymmetry: blocks of 0");
}

// 16 eps sqrt(a_ii a_jj) are rounding, on both sides of it.
TEST(MatrixBlocks, TakesForAsymmetryWhatIsMoreThanRounding) {
  TemporaryFolder const folder;
  double const eps = std::numeric_limits<double>::epsilon();
  for (double const units : {8.0, 15.0, 17.0, 32.0, 150.0}) {
    HostMatrix const A("strata::test::A", 9, 9);
    for (std::int64_t i = 0; i < 9; ++i) A(i, i) = i == 2 ? 16 : 4;  // sqrt(16 * 4) = 8
    A(6, 2) = units * eps * 8;
    write_npy(folder / "A.npy", A);
    MatrixBlocks const blocks(folder / "A.npy");
    for (std::int64_t const size : {4, 100})
      EXPECT_EQ(blocks.find_asymmetry({.block_size = size}).has_value(), units > 16) << units;
  }
}

// Blocks of 5 in five columns: of (17, 4) number 3, of (19, 12) number 10, of (22, 22) number 14.
TEST(MatrixBlocks, ComparesTheBlocksOfAShare) {
  TemporaryFolder const folder;
  auto const A = symmetric(23);
  A(17, 4) = A(12, 19) = 0;
  write_npy(folder / "A.npy", A);
  MatrixBlocks const blocks(folder / "A.npy");
  for (std::int64_t const of : {1, 2, 3, 7, 20})
    for (std::int64_t share = 0; share < of; ++share) {
      auto const found = blocks.find_asymmetry({.block_size = 5, .share = share, .of = of});
      bool const has_first = 3 % of == share, has_second = 10 % of == share;
      ASSERT_EQ(found.has_value(), has_first || has_second) << share << " of " << of;
      if (!found) continue;
      EXPECT_EQ(found->block, has_first ? 3 : 10);
      EXPECT_NE(found->text.find(has_first ? "A(18, 5) = 0 but A(5, 18) = 1704.5"
                                           : "A(20, 13) = 1912.5 but A(13, 20) = 0"),
                std::string::npos)
          << found->text;
    }
  for (std::int64_t const share : {-1, 2})
    EXPECT_EQ(message_of<ValueError>([&] { (void)blocks.find_asymmetry({5, share, 2}); }),
              "find_asymmetry: share " + std::to_string(share) + " of 2");
}

TEST(MatrixBlocks, PassesOverWhatIsNotFinite) {
  TemporaryFolder const folder;
  for (double const value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (auto const& [row, col] : {std::pair{17, 4}, std::pair{4, 4}}) {
      auto const A = symmetric(23);
      A(row, col) = A(col, row) = value;
      A(18, 4) *= 1 + 1e-15;
      write_npy(folder / "A.npy", A);
      EXPECT_NO_THROW(MatrixBlocks(folder / "A.npy").require_symmetric(5));
    }
}

TEST(MatrixBlocks, VerifiesAChecksumUnlessAskedNotTo) {
  TemporaryFolder const folder;
  put(folder / "A.bin", std::string(32, '\0'));
  put(folder / "A.bin.json", R"({"n": 2, "dtype": "float64", "crc32": "00000000"})");
  EXPECT_NE(message_of<IoError>([&] { MatrixBlocks(folder / "A.bin"); }).find("CRC-32"),
            std::string::npos);
  MatrixBlocksOptions options;
  options.verify_checksum = false;
  EXPECT_EQ(MatrixBlocks(folder / "A.bin", options).order(), 2);
}

TEST(MatrixBlocks, RefusesBlocksOutsideTheMatrix) {
  TemporaryFolder const folder;
  write_npy(folder / "A.npy", symmetric(8));
  MatrixBlocks const blocks(folder / "A.npy");
  std::vector<double> values(9);
  HostBlock const B(values.data(), 3, 3);
  for (auto const& [row, col] :
       {std::pair(6, 0), std::pair(0, 6), std::pair(-1, 0), std::pair(0, -1)})
    EXPECT_NE(message_of<ShapeError>([&, row = row, col = col] {
                blocks.read(row, col, B);
              }).find("a block of 3 x 3 at (" + std::to_string(row)),
              std::string::npos);
  std::filesystem::resize_file(folder / "A.npy", 300);
  EXPECT_NE(message_of<IoError>([&] { blocks.read(5, 5, B); }).find("has become shorter"),
            std::string::npos);
}

TEST(MatrixBlocks, RefusesFilesThatAreNoSquareMatrix) {
  TemporaryFolder const folder;
  auto const refused = [&](std::string const& bytes, std::string const& expected) {
    put(folder / "A", bytes);
    auto const text = message_of<IoError>([&] { MatrixBlocks(folder / "A"); });
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  };
  write_npy(folder / "B.npy", allocate_host_matrix("strata::test::B", 3, 2));
  refused(get(folder / "B.npy"), "the matrix is 3 x 2, must be square");
  write_npy(folder / "B.npy", allocate_host_matrix("strata::test::B", 1, 1), {.rank = 1});
  refused(get(folder / "B.npy"), "must be square");
  write_npy(folder / "B.npy", symmetric(4));
  refused(get(folder / "B.npy").substr(0, 200), "the file has");
  refused("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n", "2 x 3");
  refused("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
          "expected 4 entries, found 3");
  refused("%%MatrixMarket matrix array real general\n1 1\nnan\n", "value");
  refused("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 5\n", "a coordinate file");
  refused("", "expected a Matrix Market file");
  refused("plain numbers", "not a Matrix Market file");
  EXPECT_NE(message_of<IoError>([&] { MatrixBlocks(folder / "none"); }).find("cannot open"),
            std::string::npos);
  put(folder / "C.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n");
  EXPECT_NE(message_of<IoError>([&] {
              MatrixBlocks(folder / "C.mtx", {.scratch_folder = folder / "no/folder"});
            }).find("cannot create a scratch file"),
            std::string::npos);
}

TEST(MatrixBlocks, RefusesSidecarsThatAreNotRight) {
  TemporaryFolder const folder;
  put(folder / "A.bin", std::string(4 * 8, '\0'));
  auto const refused = [&](std::string const& json, std::string const& expected) {
    put(folder / "A.bin.json", json);
    auto const outcome = in_child([&] { MatrixBlocks(folder / "A.bin"); });
    expect_refused_cheaply(outcome, expected);
  };
  refused("", "A.bin.json: not a JSON object");
  refused("[1]", "not a JSON object");
  refused(R"({"n": 2, "dtype": "float64")", "not a JSON object");
  refused(R"({"n": 2})", "'dtype' must be \"float64\" or \"float32\"");
  refused(R"({"n": 2, "dtype": "int32"})", "'dtype' must be");
  refused(R"({"dtype": "float64"})", "'n' must be there, an integer");
  refused(R"({"n": 2.5, "dtype": "float64"})", "'n' must be there, an integer");
  refused(R"({"n": -1, "dtype": "float64"})", "'n' is -1, must be from 0 to 2147483648");
  refused(R"({"n": 18446744073709551615, "dtype": "float64"})", "'n' is 18446744073709551615");
  refused(R"({"n": 2147483648, "dtype": "float64"})", "the file has 32");
  refused(R"({"n": 3, "dtype": "float64"})", "needs 72 bytes, the file has 32");
  refused(R"({"n": 1, "dtype": "float64"})", "needs 8 bytes, the file has 32");
  refused(R"({"n": 2, "dtype": "float64", "ld": 1})", "'ld' is 1, must be from 2");
  refused(R"({"n": 2, "dtype": "float64", "order": "C"})", "'order' must be \"column\" or \"row\"");
  refused(R"({"n": 2, "dtype": "float64", "endian": 1})", "'endian' must be \"little\" or \"big\"");
  refused(R"({"n": 2, "dtype": "float64", "crc32": 1})", "8 hexadecimal digits");
  refused(R"({"n": 2, "dtype": "float64", "crc32": "0x123456"})", "8 hexadecimal digits");
  for (char const* const digits : {"1234567", "123456789", "12345678zz", "1234567z", ""})
    refused(R"({"n": 2, "dtype": "float64", "crc32": ")" + std::string(digits) + "\"}",
            "8 hexadecimal digits");
  refused(R"({"n": 2, "dtype": "float64", "crc32": "00000000"})", "the sidecar says 0");
  refused(R"({"n": 2, "dtype": "float64", "rows": 2})", "unknown key 'rows'");
  refused(R"({"row\ns": 2})", "unknown key 'row");
  refused(std::string(1 << 17, ' '), "a sidecar of 131072 bytes; the limit is 65536");
}

TEST(MatrixBlocks, TakesAMatrixWithoutElements) {
  TemporaryFolder const folder;
  put(folder / "A.bin", "");
  put(folder / "A.bin.json", R"({"n": 0, "dtype": "float64"})");
  MatrixBlocks const blocks(folder / "A.bin");
  EXPECT_EQ(blocks.order(), 0);
  blocks.require_symmetric();
}

}  // namespace
