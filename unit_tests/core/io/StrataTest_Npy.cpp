// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Files.hpp"
#include <core/io/Strata_Npy.hpp>
#include <core/io/detail/Strata_NpyStream.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

// A .npy file from its parts; NumPy pads the dict, which is not required.
std::string npy(std::string const& dict, std::string const& data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0'};
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k)
    bytes += static_cast<char>(dict.size() >> (8 * k) & 0xff);
  return bytes + dict + data;
}

std::string dict(std::string const& descr, std::string const& order, std::string const& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape +
         ", }      \n";
}

template <class T>
std::string bytes_of(std::vector<T> const& values, bool big_endian) {
  bool const swap = big_endian != (std::endian::native == std::endian::big);
  std::string result;
  for (T const value : values) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof bytes);
    if (swap) std::reverse(std::begin(bytes), std::end(bytes));
    result.append(bytes, sizeof bytes);
  }
  return result;
}

NpyMatrix parse(std::string const& bytes, ReadOptions const& options = {}) {
  strata::MemorySource source("A.npy", bytes.data(), bytes.size());
  return detail::read_npy(source, options);
}

HostMatrix numbered(std::size_t rows, std::size_t cols) {
  auto const A = allocate_host_matrix("strata::test", static_cast<std::int64_t>(rows),
                                      static_cast<std::int64_t>(cols));
  for (std::size_t j = 0; j < cols && rows > 0; ++j)
    for (std::size_t i = 0; i < rows; ++i) A(i, j) = double(i) + 1e-6 * double(j);
  return A;
}

void expect_equal(ConstHostMatrix const& A, ConstHostMatrix const& B) {
  ASSERT_EQ(A.extent(0), B.extent(0));
  ASSERT_EQ(A.extent(1), B.extent(1));
  for (std::size_t j = 0; j < A.extent(1) && A.size() > 0; ++j)
    for (std::size_t i = 0; i < A.extent(0); ++i)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(A(i, j)), std::bit_cast<std::uint64_t>(B(i, j)))
          << i << ' ' << j;
}

// ---- what is read

TEST(Npy, ReadsEveryTypeOrderAndVersion) {
  std::vector<double> const values{1, -2.5, 3, 1024, 5, 0.0625};
  for (std::string const dtype : {"<f4", "<f8", ">f4", ">f8"})
    for (bool const fortran : {false, true})
      for (int const version : {1, 2, 3}) {
        SCOPED_TRACE(dtype + (fortran ? " Fortran " : " C ") + std::to_string(version));
        bool const big = dtype[0] == '>';
        auto const data = dtype[2] == '8'
                              ? bytes_of(values, big)
                              : bytes_of(std::vector<float>(values.begin(), values.end()), big);
        auto const A = parse(npy(dict(dtype, fortran ? "True" : "False", "(2, 3)"), data, version));
        EXPECT_EQ(A.header.dtype, dtype);
        EXPECT_EQ(A.header.fortran_order, fortran);
        EXPECT_EQ(A.header.rank, 2);
        ASSERT_EQ(A.values.extent(0), 2u);
        ASSERT_EQ(A.values.extent(1), 3u);
        for (std::size_t i = 0; i < 2; ++i)
          for (std::size_t j = 0; j < 3; ++j)
            EXPECT_EQ(A.values(i, j), values[fortran ? i + 2 * j : 3 * i + j]);
      }
}

TEST(Npy, ReadsAVectorAsOneColumn) {
  auto const A = parse(npy(dict("<f8", "False", "(3,)"), bytes_of<double>({1, 2, 3}, false)));
  EXPECT_EQ(A.header.rank, 1);
  EXPECT_EQ(A.values.extent(0), 3u);
  EXPECT_EQ(A.values.extent(1), 1u);
  EXPECT_EQ(A.values(2, 0), 3);
}

TEST(Npy, ReadsArraysWithoutElements) {
  EXPECT_EQ(parse(npy(dict("<f8", "False", "(0,)"), "")).values.extent(0), 0u);
  EXPECT_EQ(parse(npy(dict("<f8", "True", "(0, 5)"), "")).values.extent(1), 5u);
  EXPECT_EQ(parse(npy(dict("<f4", "False", "(5, 0)"), "")).values.extent(0), 5u);
}

TEST(Npy, ReadsTheHeaderAsPythonWouldWriteItOtherwise) {
  auto const data = bytes_of<double>({1, 2}, false);
  for (std::string const text :
       {"{\"shape\":(1,2),\"descr\":\"<f8\",\"fortran_order\":True}",
        "{ 'shape' : ( 1 , 2 , ) ,'fortran_order':False,\n'descr':'<f8'}\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2)}"})
    EXPECT_EQ(parse(npy(text, data)).values(0, 1), 2) << text;
}

TEST(Npy, ReadsArraysLargerThanAChunk) {
  // rows that fit a chunk of 2^19 elements in number, and a row that does not fit one
  for (auto const& [rows, cols] :
       {std::pair<std::size_t, std::size_t>{1031, 1033}, {3, (1 << 19) + 5}, {(1 << 19) + 5, 3}}) {
    auto const A = numbered(rows, cols);
    for (auto const order : {NpyOrder::C, NpyOrder::Fortran}) {
      strata::MemorySink sink;
      detail::write_npy(sink, A, {.order = order});
      expect_equal(parse(sink.bytes).values, A);
    }
  }
}

// ---- what is refused, by its message

TEST(Npy, RefusesEachBreachOfTheHeader) {
  auto const with = [](std::string const& text) { return npy(text, std::string(8, '\0')); };
  auto const shape = [&](std::string const& tuple) { return with(dict("<f8", "False", tuple)); };
  std::pair<std::string, std::string> const cases[] = {
      {"", "A.npy: not a .npy file: it does not begin with \\x93NUMPY"},
      {"%%MatrixMarket", "not a .npy file"},
      {gzip(shape("(1,)")),
       "not a .npy file: it does not begin with \\x93NUMPY (it is a gzip file; inflate it first)"},
      {npy("{}", "", 4), ".npy version 4.0 is not supported"},
      {npy("{}", "", 0), ".npy version 0.0 is not supported"},
      {std::string("\x93NUMPY\x01\x01\x02\x00{}", 12), ".npy version 1.1 is not supported"},
      {std::string("\x93NUMPY\x02\x00\x02", 9), "expected 4 bytes of the header's length, found 1"},
      {std::string("\x93NUMPY\x01\x00\xff\x00{}", 12),
       "expected a .npy header of 255 bytes, the file has 2 left"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14),
       "a .npy header of 4294967295 bytes; the limit is 65536"},
      {npy(std::string(65537, ' '), "", 2), "a .npy header of 65537 bytes; the limit is 65536"},
      {with(""), "expected '{' at byte 0 of the .npy header, found ''"},
      {with("{'descr': '<f8', 'fortran_order': False}"), "the .npy header has no 'shape'"},
      {with("{'descr': '<f8', 'shape': (1,)}"), "the .npy header has no 'fortran_order'"},
      {with("{'descr': '<f8', 'descr': '<f8'}"), "key 'descr' twice in the .npy header"},
      {with("{'evil': 1}"), "unknown key 'evil' in the .npy header"},
      {with("{'descr'  '<f8'}"), "expected ':' at byte 10"},
      {with("{'descr': '<f8' 'shape': (1,)}"), "expected ',' at byte 16"},
      {with("{'descr: "), "expected a closed string at byte 2"},
      {with("{descr: 1}"), "expected a string at byte 1"},
      {with(dict("<f8", "False", "(1,)") + "x"), "expected the end at byte 64"},
      {with(dict("<f8", "False", "(1,)") + '\0'),
       "expected the end at byte 64 of the .npy header, found '?'"},
      {with(dict("|O", "False", "(1,)")),
       "dtype '|O' is not supported, only '<f4', '<f8', '>f4' and '>f8'"},
      {with(dict("<i8", "False", "(1,)")),
       "dtype '<i8' is not supported, only '<f4', '<f8', '>f4' and '>f8'; numpy.save(FILE, "
       "A.astype(float)) writes one of these"},
      {with(dict("<c16", "False", "(1,)")), "dtype '<c16' is not supported"},
      {with(dict("=f8", "False", "(1,)")), "dtype '=f8' is not supported"},
      {with("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}"),
       "structured .npy arrays are not supported"},
      {with(dict("<f8", "false", "(1,)")), "expected True or False before this position"},
      {with(dict("<f8", "1", "(1,)")), "expected True or False before this position"},
      {shape("()"), "a .npy array of rank 0; only 1 and 2 are supported"},
      {shape("(1, 1, 1)"), "a .npy array of rank above 2; only 1 and 2 are supported"},
      {shape("(1)"), "expected a tuple, with a comma, before this position"},
      {shape("(-1,)"), "expected an extent at byte"},
      {shape("(,)"), "expected an extent at byte"},
      {shape("(1L,)"), "expected ',' or ')'"},
      {shape("(1 1)"), "expected ',' or ')'"},
      {shape("(99999999999999999999,)"), "expected an extent of 63 bits before this position"},
      {shape("1"), "expected '('"},
      {shape("(2,)"), "a 2 x 1 array of '<f8' needs 16 bytes, the file has 8 after its header"},
      {shape("(0,)"), "a 0 x 1 array of '<f8' needs 0 bytes, the file has 8 after its header"},
      {with(dict("<f4", "False", "(1,)")),
       "a 1 x 1 array of '<f4' needs 4 bytes, the file has 8 after its header"},
      {shape("(4294967296, 4294967296)"),
       "a 4294967296 x 4294967296 array of '<f8' needs 1.47574e+20 bytes"},
      {shape("(2305843009213693953, 8)"), "the file has 8 after its header"},
      {npy(dict("<f8", "False", "(0, 4611686018427387904)"), ""),
       "an array without elements of 0 x 4611686018427387904"},
  };
  for (auto const& [bytes, expected] : cases) {
    auto const found = message_of<IoError>([&] { parse(bytes); });
    EXPECT_EQ(found.find("A.npy: "), 0u) << found;
    EXPECT_NE(found.find(expected), std::string::npos) << found << "\ninstead of\n" << expected;
    EXPECT_EQ(found.find('\n'), std::string::npos);
  }
}

TEST(Npy, RefusesNumbersThatAreNotFiniteWithTheirPosition) {
  for (double const bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
    auto const data = bytes_of<double>({1, 2, 3, 4, bad, 6}, false);
    EXPECT_NE(message_of<IoError>([&] {
                parse(npy(dict("<f8", "False", "(2, 3)"), data));
              }).find("A.npy: element (2, 2) = "),
              std::string::npos);
    EXPECT_NE(message_of<IoError>([&] {
                parse(npy(dict("<f8", "True", "(2, 3)"), data));
              }).find("A.npy: element (1, 3) = "),
              std::string::npos);
  }
  auto const single = bytes_of<float>({1, INFINITY}, true);
  EXPECT_EQ(message_of<IoError>([&] { parse(npy(dict(">f4", "True", "(2,)"), single)); }),
            "A.npy: element (2, 1) = inf is not finite");
}

TEST(Npy, RefusesMoreThanTheMemoryLimit) {
  auto const bytes = npy(dict("<f4", "False", "(2,)"), std::string(8, '\0'));
  EXPECT_NO_THROW(parse(bytes, {.max_bytes = 16}));
  EXPECT_EQ(message_of<MemoryError>([&] { parse(bytes, {.max_bytes = 15}); }),
            "strata::read_npy: a dense 2 x 1 matrix of fp64 needs 16 bytes; the limit is 15");
}

TEST(Npy, RefusesHostileFilesCheaply) {
  TemporaryFolder const folder;
  std::pair<std::string, std::string> const cases[] = {
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13),
       "a .npy header of 4294967295 bytes; the limit is 65536"},
      {npy(dict("<f8", "True", "(4294967296, 4294967296)"), "12345678"),
       "the file has 8 after its header"},
      {npy(dict("<f8", "False", "(1000000, 1000000)"), "12345678"),
       "needs 8e+12 bytes, the file has 8 after its header"},
      {npy("{'shape': (" + std::string(60000, '('), "", 2), "expected an extent at byte 11"},
      {npy("{" + std::string(60000, ' '), "", 2), "expected a string at byte 60001"},
  };
  for (auto const& [bytes, expected] : cases) {
    auto const path = put(folder / "hostile.npy", bytes);
    expect_refused_cheaply(in_child([&] { read_npy(path); }), expected);
  }
}

// ---- what is written

TEST(NpyWriter, WritesVersionOneAsNumpyDoes) {
  TemporaryFolder const folder;
  auto const A = numbered(2, 3);
  write_npy(folder / "A.npy", A, {.order = NpyOrder::C});
  auto const bytes = get(folder / "A.npy");
  EXPECT_EQ(bytes.size(), 128u + 48u);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 61), "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }  ");
  EXPECT_EQ(bytes[127], '\n');
  auto const header = read_npy_header(folder / "A.npy");
  EXPECT_FALSE(header.fortran_order);
  EXPECT_EQ(header.rows, 2);
  EXPECT_EQ(header.cols, 3);
}

TEST(NpyWriter, ReadsBackEveryBit) {
  using limits = std::numeric_limits<double>;
  TemporaryFolder const folder;
  auto const A = numbered(7, 2);
  double const extremes[] = {-0.0,          limits::denorm_min(), -limits::denorm_min(),
                             limits::min(), limits::max(),        -limits::max(),
                             1.0 / 3};
  std::copy(std::begin(extremes), std::end(extremes), A.data());
  for (auto const order : {NpyOrder::C, NpyOrder::Fortran}) {
    write_npy(folder / "A.npy", A, {.order = order});
    expect_equal(read_npy(folder / "A.npy").values, A);
  }
}

TEST(NpyWriter, WritesVectorsPaddedViewsAndMatricesWithoutElements) {
  TemporaryFolder const folder;
  auto const whole = numbered(9, 5);
  HostMatrix const part = Kokkos::subview(whole, std::pair(2, 8), std::pair(1, 4));
  HostMatrix const column = Kokkos::subview(whole, Kokkos::ALL, std::pair(3, 4));
  for (auto const order : {NpyOrder::C, NpyOrder::Fortran}) {
    write_npy(folder / "A.npy", part, {.order = order});
    expect_equal(read_npy(folder / "A.npy").values, part);
    write_npy(folder / "A.npy", column, {.order = order, .rank = 1});
    auto const vector = read_npy(folder / "A.npy");
    EXPECT_EQ(vector.header.rank, 1);
    expect_equal(vector.values, column);
    for (auto const& [rows, cols] : {std::pair<std::size_t, std::size_t>{0, 0}, {0, 3}, {3, 0}}) {
      write_npy(folder / "A.npy", numbered(rows, cols), {.order = order});
      expect_equal(read_npy(folder / "A.npy").values, numbered(rows, cols));
    }
  }
}

TEST(NpyWriter, RefusesARankThatDoesNotFitBeforeThereIsAFile) {
  TemporaryFolder const folder;
  EXPECT_EQ(
      message_of<ShapeError>([&] { write_npy(folder / "A.npy", numbered(2, 2), {.rank = 1}); }),
      "write_npy: rank 1 of a 2 x 2 matrix");
  EXPECT_EQ(
      message_of<ShapeError>([&] { write_npy(folder / "A.npy", numbered(2, 1), {.rank = 3}); }),
      "write_npy: rank 3 of a 2 x 1 matrix");
  EXPECT_EQ(folder.files(), 0u);
}

TEST(NpyWriter, SaysWhyAFileCannotBeWrittenAndLeavesTheOldOne) {
  TemporaryFolder const folder;
  auto const A = numbered(100, 100);
  auto const missing = folder / "missing/A.npy";
  EXPECT_EQ(message_of<IoError>([&] { write_npy(missing, A); }),
            missing + ": cannot create: No such file or directory (errno 2)");
  EXPECT_EQ(message_of<IoError>([&] { write_npy("/dev/full", A); }),
            "/dev/full: wrote 0 of 128 bytes: No space left on device (errno 28)");
  auto const path = put(folder / "A.npy", "old");
  auto const outcome = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit const small{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &small);
    write_npy(path, A);
  });
  EXPECT_NE(outcome.error.find("File too large"), std::string::npos) << outcome.error;
  EXPECT_EQ(get(path), "old");
  EXPECT_EQ(folder.files(), 1u);
}

}  // namespace
