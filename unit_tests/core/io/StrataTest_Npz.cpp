// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Files.hpp"
#include "StrataTest_Zip.hpp"
#include <core/io/Strata_Npz.hpp>
#include <core/io/detail/Strata_ZipArchive.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

strata::detail::ZipArchive archive(std::string const& bytes) {
  return strata::detail::ZipArchive(
      strata::detail::placed_bytes("A.npz", bytes.data(), bytes.size()));
}
CoordinateMatrix sparse_of(std::string const& bytes, ReadOptions const& options = {}) {
  return strata::detail::read_sparse_npz(archive(bytes), options);
}
std::string shape(std::int64_t rows, std::int64_t cols) {
  return raw(std::vector<std::int64_t>{rows, cols});
}
// 1 2 0
// 0 0 3
std::vector<ZipMember> csr() { return scipy("csr", shape(2, 3), {0, 2, 3}, {0, 1, 2}, {1, 2, 3}); }
std::vector<ZipMember> changed(std::vector<ZipMember> members, std::string const& name,
                               std::string const& data) {
  for (auto& member : members)
    if (member.name == name) member.data = data;
  return members;
}

void expect_refused(std::string const& part, std::string const& bytes) {
  EXPECT_TRUE(throws_with<IoError>(part, [&] { (void)sparse_of(bytes); })) << part;
}

TEST(Npz, ReadsSparseMatricesOfSciPyStoredAndDeflated) {
  auto const csc = scipy("csc", shape(2, 3), {0, 1, 2, 3}, {0, 0, 1}, {1, 2, 3});
  auto const coo = scipy("coo", shape(2, 3), {0, 0, 1}, {0, 1, 2}, {1, 2, 3});
  for (auto members : {csr(), csc, coo})
    for (int const how : {0, 1, 2, 3}) {
      for (auto& member : members) member.is_deflated = how & 1, member.is_wide = how & 2;
      for (bool const is_wide : {false, true}) {
        auto const A = sparse_of(zip(members, is_wide));
        EXPECT_EQ(A.rows, 2);
        EXPECT_EQ(A.cols, 3);
        EXPECT_FALSE(A.symmetric);
        EXPECT_EQ(A.row, (std::vector<std::int64_t>{0, 0, 1}));
        EXPECT_EQ(A.col, (std::vector<std::int64_t>{0, 1, 2}));
        EXPECT_EQ(A.value, (std::vector<double>{1, 2, 3}));
      }
    }
}

TEST(Npz, ReadsOtherTypesOfIndicesAndValues) {
  auto members = csr();
  auto const vector = std::vector<std::int64_t>{0, 1, 2};
  members = changed(members, "indices.npy", npy_of("<i8", "(3,)", raw(vector)));
  members =
      changed(members, "data.npy", npy_of("<f4", "(3,)", raw(std::vector<float>{0.5F, 1.5F, -2})));
  members =
      changed(members, "format.npy", npy_of("<U3", "()", std::string("c\0\0\0s\0\0\0r\0\0\0", 12)));
  auto const A = sparse_of(zip(members));
  EXPECT_EQ(A.col, vector);
  EXPECT_EQ(A.value, (std::vector<double>{0.5, 1.5, -2}));
}

TEST(Npz, AddsEntriesAtOnePositionAndSaysSo) {
  std::string said;
  ReadOptions options;
  options.on_remark = [&](std::string const& text) { said = text; };
  auto const bytes = zip(scipy("coo", shape(2, 2), {0, 1, 0}, {0, 1, 0}, {1, 2, 3}));
  auto const A = sparse_of(bytes, options);
  EXPECT_EQ(A.added, 1);
  EXPECT_EQ(A.value, (std::vector<double>{4, 2}));
  EXPECT_NE(said.find("1 of 3 entries are at positions listed before"), std::string::npos) << said;
}

TEST(Npz, ReadsOneArray) {
  TemporaryFolder const folder;
  auto const array = npy_of("<f8", "(2, 1)", raw(std::vector<double>{5, 7}));
  auto const path = put(folder / "b.npz", zip({{"arr_0.npy", array, true}}));
  EXPECT_EQ(read_npz_header(path).cols, 1);
  auto const b = read_matrix(path);
  ASSERT_EQ(b.extent(0), 2u);
  EXPECT_EQ(b(1, 0), 7);
  put(path, zip({{"arr_0.npy", array}, {"arr_1.npy", array}}));
  EXPECT_TRUE(throws_with<IoError>("an archive of 2 members (arr_0.npy, arr_1.npy)",
                                   [&] { (void)read_matrix(path); }));
  put(path, zip(csr()));
  auto const header = read_npz_header(path);
  EXPECT_TRUE(header.is_sparse);
  EXPECT_EQ(header.entries, 3);
  EXPECT_EQ(read_matrix(path)(1, 2), 3);
}

TEST(Npz, RefusesMatricesThatAreNotSound) {
  auto const with = [](std::string const& name, std::string const& data) {
    return zip(changed(csr(), name, data));
  };
  auto const indices = [](std::vector<std::int32_t> const& numbers) {
    return npy_of("<i4", "(" + std::to_string(numbers.size()) + ",)", raw(numbers));
  };
  expect_refused("format 'bsr' is not read, only csr, csc and coo",
                 with("format.npy", npy_of("|S3", "()", "bsr")));
  expect_refused("entry 1 has the column 3, there are 3", with("indices.npy", indices({0, 3, 2})));
  expect_refused("entry 0 has the column -1", with("indices.npy", indices({-1, 1, 2})));
  expect_refused("3 rows and 2 columns for 3 values", with("indices.npy", indices({0, 1})));
  expect_refused("indptr has 2 numbers, from 0 to 3, for 2 lines",
                 with("indptr.npy", indices({0, 3})));
  expect_refused("line 0 is from 0 to 4 of 3", with("indptr.npy", indices({0, 4, 3})));
  expect_refused("line 0 is from 0 to -1 of 3", with("indptr.npy", indices({0, -1, 3})));
  expect_refused("a shape of 1 numbers",
                 with("shape.npy", npy_of("<i8", "(1,)", raw(std::vector<std::int64_t>{2}))));
  expect_refused("a shape of 2 numbers", with("shape.npy", npy_of("<i8", "(2,)", shape(-2, 3))));
  double const infinity = std::numeric_limits<double>::infinity();
  expect_refused("is not finite",
                 with("data.npy", npy_of("<f8", "(3,)", raw(std::vector<double>{1, infinity, 3}))));
  expect_refused("dtype '<c16' is not supported",
                 with("data.npy", npy_of("<c16", "(3,)", std::string(48, '\0'))));
  expect_refused("must have rank 0 or 1 and 'i4' or 'i8'",
                 with("indices.npy", npy_of("<f8", "(3,)", std::string(24, '\0'))));
  auto without = csr();
  without.erase(without.begin());
  expect_refused("has a member indices.npy, the archive has none", zip(without));
  expect_refused("an archive without format.npy", zip({{"a.npy", "x"}}));
}

TEST(Npz, RefusesHostileArchives) {
  auto const whole = zip(csr());
  expect_refused("an archive without a directory at its end", whole.substr(0, whole.size() - 30));
  expect_refused("the directory of the archive is at byte", whole.substr(100));
  auto const first = [](auto const& change) {
    auto members = csr();
    for (auto& member : members) change(member);
    return zip(members);
  };
  expect_refused("the checksum is", first([](auto& member) { member.wrong_crc = 1; }));
  expect_refused("is encrypted", first([](auto& member) { member.flags = 1; }));
  ZipMember member{"a.npy", "0123456789", true};
  member.more = -1;
  auto const longer = zip({member});
  auto const opened = archive(longer);
  auto const source = opened.open(opened.members().front(), 1000);
  char text[16];
  EXPECT_TRUE(throws_with<IoError>("more than the 9 bytes",
                                   [&] { (void)source->read(text, sizeof text); }));
  expect_refused("has ", first([](auto& member) {
                   member.is_deflated = true;
                   member.more = 1;
                 }));
  expect_refused("would inflate to", first([](auto& member) {
                   member.is_deflated = true;
                   member.more = std::int64_t{1} << 40;
                   member.is_wide = true;
                 }));
  std::string bomb = npy_of("<f8", "(2000000,)", std::string(16000000, '\0'));
  auto members = changed(csr(), "data.npy", bomb);
  for (auto& member : members) member.is_deflated = true;
  ReadOptions options;
  options.max_gz_ratio = 100;
  auto const bytes = zip(members);
  EXPECT_TRUE(throws_with<IoError>("the largest ratio allowed is 600",
                                   [&] { (void)sparse_of(bytes, options); }));
  options = {};
  options.max_bytes = 60;
  EXPECT_TRUE(throws_with<MemoryError>("3 entries need 40 bytes each; the limit is 60",
                                       [&] { (void)sparse_of(zip(csr()), options); }));
}

// Deflate may have taken its last byte before its last numbers are out.
TEST(Npz, ReadsEqualNumbersOfAnyCount) {
  TemporaryFolder const folder;
  for (int n = 16385; n < 16420; ++n) {
    auto const ones = raw(std::vector<double>(static_cast<std::size_t>(n), 1.0));
    auto const array = npy_of("<f8", "(" + std::to_string(n) + ",)", ones);
    auto const path = put(folder / "b.npz", zip({{"arr_0.npy", array, true}}));
    ASSERT_EQ(read_matrix(path)(n - 1, 0), 1) << n;
  }
  auto const many = npy_of("<f8", "(700000,)", raw(std::vector<double>(700000, 1.0)));
  EXPECT_EQ(read_matrix(put(folder / "c.npz", zip({{"arr_0.npy", many, true}}))).extent(0),
            700000u);
}

// No cut of a file and no change of a byte does anything but throw an Error, or read.
TEST(Npz, NoDamageDoesHarm) {
  auto members = csr();
  for (auto& member : members) member.is_deflated = true;
  auto const whole = zip(members);
  auto const survive = [](std::string const& bytes) {
    try {
      (void)sparse_of(bytes, {.max_bytes = 1 << 20});
    } catch (Error const& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  };
  for (std::size_t k = 0; k < whole.size(); ++k) {
    survive(whole.substr(0, k));
    for (int const flip : {1, 0x80, 0xff}) {
      auto damaged = whole;
      damaged[k] = static_cast<char>(damaged[k] ^ flip);
      survive(damaged);
    }
  }
}

}  // namespace
