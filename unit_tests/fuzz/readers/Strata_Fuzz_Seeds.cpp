// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// strata_fuzz_seeds FOLDER: write the seeds of each reader's fuzz target to FOLDER/<reader>/.
#include <core/io/files/Strata_ByteSink.hpp>

#include <unit_tests/core/io/StrataTest_Zip.hpp>

#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Seeds = std::vector<std::string>;

std::string gzip(std::string const& bytes) {
  strata::MemorySink result;
  strata::DeflateSink sink(result);
  sink.write(bytes.data(), bytes.size());
  sink.finish();
  return result.bytes;
}

Seeds matrix_market() {
  std::string const banner = "%%MatrixMarket matrix ";
  auto const coordinate = [&](std::string const& rest) {
    return banner + "coordinate real " + rest;
  };
  std::string const valid =
      coordinate("symmetric\n% comment\n3 3 4\n1 1 4.5\n2 1 -1e-3\n2 2 5\n\n3 3 +6\n");
  Seeds seeds{
      valid,
      coordinate("general\r\n2 3 2\r\n1 3 5e-324\r\n2 1 1.7976931348623157e308"),
      banner + "array real general\n2 2\n1\n2\n2\n3\n",
      banner + "array integer symmetric\n2 2\n1\n-2\n3\n",
      coordinate("general\n3 3 9223372036854775807\n1 1 1\n"),
      coordinate("symmetric\n100000 100000 400000000\n1 1 1\n"),
      banner + "array real general\n4294967296 4294967296\n1\n",
      coordinate("general\n2 2 1\n0 1 1\n"),
      coordinate("general\n2 2 1\n3 1 1\n"),
      coordinate("symmetric\n2 3 1\n1 1 1\n"),
      coordinate("symmetric\n2 2 1\n1 2 1\n"),
      coordinate("general\n2 2 2\n1 1 nan\n2 2 1e400\n"),
      coordinate("general\n2 2 2\n1 1 1\n"),
      coordinate("general\n2 2 2\n1 1 1\n1 1 2\n"),
      gzip(valid),
      gzip(valid).substr(0, 50),
      gzip(std::string(1 << 20, '\n')),
  };
  return seeds;
}

Seeds npy() {
  auto const file = [](char version, std::string const& dict, std::size_t data) {
    std::string bytes = "\x93NUMPY";
    bytes += {version, '\0', static_cast<char>(dict.size()), '\0'};
    if (version > 1) bytes.append(2, '\0');
    return bytes + dict + std::string(data, '\x3f');
  };
  auto const dict = [](std::string const& dtype, std::string const& order,
                       std::string const& shape) {
    return "{'descr': '" + dtype + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  };
  return {
      file(1, dict("<f8", "False", "(2, 3)"), 48),
      file(2, dict(">f8", "True", "(2, 2)"), 32),
      file(3, dict("<f4", "False", "(4,)"), 16),
      file(1, dict(">f4", "True", "(0, 3)"), 0),
      file(1, dict("|O", "False", "(1,)"), 8),
      file(1, dict("<f8", "False", "(4294967296, 4294967296)"), 8),
      std::string("\x93NUMPY\x02\0\xff\xff\xff\xff{", 13),
  };
}

Seeds npz() {
  using namespace strata::test;
  auto const shape = raw(std::vector<std::int64_t>{2, 3});
  Seeds seeds;
  for (bool const is_deflated : {false, true}) {
    for (auto members : {scipy("csr", shape, {0, 2, 3}, {0, 1, 2}, {1, 2, 3}),
                         scipy("csc", shape, {0, 1, 2, 3}, {0, 0, 1}, {1, 2, 3}),
                         scipy("coo", shape, {0, 0, 1}, {0, 1, 2}, {1, 2, 3})}) {
      for (auto& member : members) member.is_deflated = member.is_wide = is_deflated;
      seeds.push_back(zip(members, is_deflated));
    }
    seeds.push_back(
        zip({{"arr_0.npy", npy_of("<f8", "(2,)", std::string(16, '\x3f')), is_deflated}}));
  }
  seeds.push_back(seeds[0].substr(0, seeds[0].size() - 30));
  return seeds;
}

Seeds petsc() {
  std::string const numbers("\0\0\0\2\0\0\0\3\0\0\0\3\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\2", 32),
      values(24, '\x3f');
  return {std::string("\0\x12\x7bP", 4) + numbers + values,
          std::string("\0\x12\x7bN\0\0\0\3", 8) + values,
          std::string("\0\0\0\0\0\x12\x7bN\0\0\0\0\0\0\0\3", 16) + values,
          std::string("\0\x12\x7bP\0\0\0\2\0\0\0\3\xff\xff\xff\xff", 16) + values};
}

Seeds csv() {
  Seeds seeds{
      "x,y,value\n1,2,3\n-4,5e-3,6\n",
      "# origin\n\"name\",lon,lat,value\n\"a \"\"b\"\", c\",-180,90,1\nd,360,-90,2\r\n",
      "lon,lat,value\n400,0,1\n",
      "x,y,value\n1,nan,1\n",
      "x,y,value,x\n1,2,3,4\n",
      "x,y,value\n1,2\n",
      "\xEF\xBB\xBFvalue,y,x\n1,2,3",
  };
  seeds.push_back(gzip(seeds[0]));
  return seeds;
}

Seeds columns() {
  Seeds seeds{"1,2\n3,4\n", "# b\n1\n2\n\n-3.5e-7\n", "1 2\t3\r\n4 5 6", "1,\n", "1 nan\n",
              "1,2\n3\n"};
  seeds.push_back(gzip(seeds[0]));
  return seeds;
}

Seeds raw() {
  auto const file = [](std::string const& sidecar, std::size_t data) {
    return sidecar + std::string(1, '\0') + std::string(data, '\x3f');
  };
  return {
      file(R"({"dtype":"float64","n":2})", 32),
      file(R"({"dtype":"float32","n":2,"ld":3,"order":"row","endian":"big"})", 24),
      file(R"({"dtype":"float64","n":2,"ld":4})", 48),
      file(R"({"dtype":"float64","n":1,"crc32":"00000000"})", 8),
      file(R"({"dtype":"float64","n":0})", 0),
      file(R"({"dtype":"float64","n":2147483648,"ld":2147483648})", 8),
      file(R"({"dtype":"float64","n":1e3})", 8),
      file("[1]", 8),
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: strata_fuzz_seeds FOLDER\n";
    return 2;
  }
  std::pair<char const*, Seeds> const readers[] = {{"MatrixMarket", matrix_market()},
                                                   {"Npy", npy()},
                                                   {"Npz", npz()},
                                                   {"Petsc", petsc()},
                                                   {"Csv", csv()},
                                                   {"Columns", columns()},
                                                   {"Raw", raw()}};
  for (auto const& [reader, seeds] : readers) {
    auto const folder = std::filesystem::path(argv[1]) / reader;
    std::filesystem::create_directories(folder);
    for (std::size_t k = 0; k < seeds.size(); ++k) {
      strata::AtomicFile file((folder / std::to_string(k)).string());
      file.write(seeds[k].data(), seeds[k].size());
      file.finish();
    }
  }
  return 0;
}
