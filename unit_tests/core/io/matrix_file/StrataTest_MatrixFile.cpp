// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Reference.hpp"
#include "core/io/StrataTest_Files.hpp"
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/Strata_Npy.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

void expect_same_bits(HostMatrix const& A, HostMatrix const& B) {
  ASSERT_EQ(A.extent(0), B.extent(0));
  ASSERT_EQ(A.extent(1), B.extent(1));
  EXPECT_EQ(std::memcmp(A.data(), B.data(), A.size() * sizeof(double)), 0);
}

TEST(MatrixFile, WritesTheFormatThatTheNameSaysAndReadsItBack) {
  TemporaryFolder const folder;
  for (char const* name : {"x.npy", "x.mtx", "x.mtx.gz", "x.csv", "x.txt"})
    for (std::int64_t const cols : {1, 3}) {
      HostMatrix const A = reference::random(4, cols, 5);
      A(2, 0) = -1.25e-300, A(1, cols - 1) = 0x1.fffffffffffffp1023;
      std::string const path = folder / name;
      write_matrix(path, A);
      expect_same_bits(read_matrix(path), A);
    }
  EXPECT_EQ(get(folder / "x.mtx").substr(0, 43), "%%MatrixMarket matrix array real general\n4 ");
  EXPECT_EQ(get(folder / "x.npy").substr(1, 5), "NUMPY");
  EXPECT_EQ(get(folder / "x.mtx.gz").substr(0, 2), "\x1f\x8b");
  HostMatrix const B = reference::generate(2, 2, [](auto i, auto j) { return 1.5 * i - j; });
  write_matrix(folder / "B.csv", B);
  write_matrix(folder / "B.txt", B);
  EXPECT_EQ(get(folder / "B.csv"), "0,-1\n1.5,0.5\n");
  EXPECT_EQ(get(folder / "B.txt"), "0 -1\n1.5 0.5\n");
  HostMatrix const b = reference::generate(3, 1, [](auto i, auto) { return 1.0 * i; });
  write_matrix(folder / "b.npy", b);
  EXPECT_EQ(read_npy_header(folder / "b.npy").rank, 1);
}

TEST(MatrixFile, TellsWhatPartIsReadAndWritten) {
  TemporaryFolder const folder;
  HostMatrix const A = reference::random(300, 300, 5);
  for (char const* name : {"x.npy", "x.mtx", "x.mtx.gz", "x.csv", "x.txt"}) {
    std::vector<double> written, read;
    write_matrix(folder / name, A, [&](double part) { written.push_back(part); });
    auto const back =
        read_matrix(folder / name, {.on_progress = [&](double part) { read.push_back(part); }});
    expect_same_bits(back, A);
    for (auto const& parts : {written, read}) {
      ASSERT_FALSE(parts.empty()) << name;
      EXPECT_TRUE(std::ranges::is_sorted(parts)) << name;
      EXPECT_GT(parts.front(), 0) << name;
      EXPECT_LE(parts.back(), 1) << name;
    }
    EXPECT_GT(written.back(), 0.95) << name;  // it is told each few thousand numbers
    EXPECT_GE(written.size(), 20U) << name;
    EXPECT_EQ(read.back(), 1) << name;
  }
  put(folder / "x.bin", std::string(reinterpret_cast<char const*>(A.data()), 300 * 300 * 8));
  put(folder / "x.bin.json", R"({"dtype": "float64", "n": 300})");
  std::vector<double> read;
  expect_same_bits(
      read_matrix(folder / "x.bin", {.on_progress = [&](double part) { read.push_back(part); }}),
      A);
  EXPECT_EQ(read, (std::vector<double>{64.0 / 300, 128.0 / 300, 192.0 / 300, 256.0 / 300, 1}));
}

TEST(MatrixFile, WhatAListenerThrowsEndsTheCall) {
  TemporaryFolder const folder;
  HostMatrix const A = reference::random(300, 300, 5);
  auto const enough = [](double) { throw ValueError("enough"); };
  EXPECT_TRUE(
      throws_with<ValueError>("enough", [&] { write_matrix(folder / "x.mtx", A, enough); }));
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));  // a file is there whole or not at all
  write_matrix(folder / "x.csv", A);
  EXPECT_THROW((void)read_matrix(folder / "x.csv", {.on_progress = enough}), Error);
}

TEST(MatrixFile, RefusesNamesThatItKnowsNoFormatFor) {
  TemporaryFolder const folder;
  HostMatrix const A = reference::random(2, 2, 5);
  for (char const* name : {"x.dat", "x", "x.npz", "x.MTX", "npy", "x.csv.gz"}) {
    std::string const path = folder / name;
    EXPECT_TRUE(throws_with<ValueError>(path + ": no format is known by this name; a matrix is "
                                               "written as .npy, .mtx, .mtx.gz, .csv or .txt",
                                        [&] { write_matrix(path, A); }));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST(MatrixFile, NameAndContentAgree) {
  TemporaryFolder const folder;
  HostMatrix const A = reference::random(2, 2, 5);
  write_npy(folder / "A.npy", A);
  write_matrix_market(folder / "A.mtx", A);
  std::string const npy = get(folder / "A.npy"), market = get(folder / "A.mtx");
  struct Case {
    char const* name;
    std::string content, message;
  };
  for (auto const& [name, content, message] : {
           Case{"B.mtx", npy,
                "by its name a Matrix Market file, by its content a .npy file of NumPy: rename it"},
           Case{"B.mtx.gz", npy, "by its name a Matrix Market file, by its content a .npy file"},
           Case{"B.csv", npy, "by its name columns of numbers, by its content a .npy file"},
           Case{"B.txt", market,
                "by its name columns of numbers, by its content a Matrix Market file"},
           Case{"B.npy", market,
                "by its name a .npy file of NumPy, by its content a Matrix Market file"},
           Case{"B.npy", "1 2\n", "by its name a .npy file of NumPy, but it does not begin as one"},
           Case{"B.npy", "", "by its name a .npy file of NumPy, but it does not begin as one"},
           Case{"B.npy", "PK\x03\x04zip",
                "by its name a .npy file of NumPy, by its content a .npz archive of NumPy"},
           Case{"B.npz", "1 2\n",
                "by its name a .npz archive of NumPy, but it does not begin as one"},
           Case{"B.mtx", "BZh91AY", "compressed by bzip2; bunzip2 it"},
           Case{"B.mtx",
                "\xfd"
                "7zXZ",
                "compressed by xz; unxz it"},
           Case{"B.mat", "MATLAB 5.0 MAT-file",
                "a file of MATLAB (.mat); this writes it as .mtx: python3 -c \"import "
                "scipy.io; scipy.io.mmwrite('B.mtx', scipy.io.loadmat('"},
           Case{"B.mat", "\x89HDF",
                "a file of HDF5 (.mat of version 7.3, .h5); in MATLAB save it by save("},
           Case{"B.mtx", std::string("\0\x12\x7b\x50\0", 5),
                "by its name a Matrix Market file, by its content a binary file of PETSc"},
       }) {
    std::string const path = folder / name;
    put(path, content);
    EXPECT_TRUE(throws_with<IoError>(path + ": " + message, [&] { (void)read_matrix(path); }))
        << name;
    EXPECT_TRUE(
        throws_with<IoError>(path + ": " + message, [&] { (void)matrix_file_format(path); }));
  }
  put(folder / "C", npy), put(folder / "D", market), put(folder / "E.dat", "1 2");
  expect_same_bits(read_matrix(folder / "C"), A);
  expect_same_bits(read_matrix(folder / "D"), A);
  EXPECT_TRUE(throws_with<IoError>("not a Matrix Market file",
                                   [&] { (void)read_matrix(folder / "E.dat"); }));
}

TEST(MatrixFile, ReadsColumnsOfText) {
  TemporaryFolder const folder;
  std::string const path = folder / "A.csv";
  put(path, "# a comment\n\n1, +2.5\t,-3\r\n  4,5e-1,6");
  HostMatrix const A = read_matrix(path);
  ASSERT_EQ(A.extent(0), 2);
  ASSERT_EQ(A.extent(1), 3);
  EXPECT_EQ(A(0, 1), 2.5);
  EXPECT_EQ(A(1, 0), 4);
  EXPECT_EQ(A(1, 1), 0.5);
  put(path, " 1\t2\n3  4 \n");
  EXPECT_EQ(read_matrix(path)(1, 1), 4);
  for (auto const& [text, message] : {
           std::pair{"", ": expected a line of numbers; the file ends at line 0"},
           std::pair{"# 1\n", ": expected a line of numbers"},
           std::pair{"a,b\n1,2\n", ":1: number 1: 'a' is not a number; leave a line of names out"},
           std::pair{"1,2\n3\n", ":2: expected 2 numbers, found 1"},
           std::pair{"1 2\n3 4 5\n", ":2: expected 2 numbers, found 3"},
           std::pair{"1,2,\n", ":1: number 3: '' is empty"},
           std::pair{"1,,2\n", ":1: number 2: '' is empty"},
           std::pair{"1 2,3\n", ":1: expected ',' between numbers"},
           std::pair{"1;2\n", ":1: number 1: '1;2' is not a number; numbers are separated by"},
           std::pair{"1 2\n3,5;4\n", "put ',' for ';', after '.' for decimal ','"},
           std::pair{"1,2; \r\n",
                     ":1: number 2: '2;' is not a number; leave out the ';' at the ends"},
           std::pair{"1\nnan\n", ":2: number 1: 'nan' is not finite"},
           std::pair{"1e400\n", "is outside the range of fp64"},
       }) {
    put(path, text);
    EXPECT_TRUE(throws_with<IoError>(message, [&] { (void)read_matrix(path); })) << text;
  }
  put(path, "1,2\n3,4\n");
  EXPECT_TRUE(throws_with<MemoryError>("the limit is 40 bytes",
                                       [&] { (void)read_matrix(path, {.max_bytes = 40}); }));
}

TEST(MatrixFile, ATriangleAloneIsNotTakenForASymmetricMatrix) {
  TemporaryFolder const folder;
  write_npy(folder / "L.npy",
            reference::generate(3, 3, [](auto i, auto j) { return i >= j ? 1.0 + i : 0.0; }));
  EXPECT_TRUE(
      throws_with<IoError>("A(2, 1) = 2 but A(1, 2) = 0 (one triangle is enough in Matrix Market "
                           "files that say symmetric)",
                           [&] { (void)read_symmetric_matrix(folder / "L.npy"); }));
}

}  // namespace
