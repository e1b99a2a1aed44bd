// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A matrix in a file that all ranks see: each reads its part of the check and its tiles, and all
// hear of what is wrong.
#include "StrataTest_Matchers.hpp"
#include "ooc/StrataTest_RankTiles.hpp"
#include <core/io/Strata_Npy.hpp>
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>
#include <ooc/tiles/Strata_TileSources.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::test;

// That this process has read from files of any kind; -1 where the system does not say.
std::int64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string key;
  std::int64_t bytes = -1;
  file >> key >> bytes;
  return key == "rchar:" ? bytes : -1;
}

// One file for all ranks, written by the first.
class RankFiles : public testing::Test {
 public:
  RankFiles()
      : path_(std::filesystem::temp_directory_path() /
              ("strata_rank_file_" + std::to_string(comm_.gather(::getpid()).front()) + ".bin")) {}
  ~RankFiles() override {
    comm_.barrier();
    if (comm_.rank() == 0)
      for (char const* const ending : {"", ".json"}) std::filesystem::remove(path_ + ending);
  }

 protected:
  // Raw numbers by columns.
  void write(std::vector<double> const& A, std::int64_t n) {
    comm_.barrier();
    if (comm_.rank() == 0) {
      std::ofstream(path_, std::ios::binary)
          .write(reinterpret_cast<char const*>(A.data()),
                 static_cast<std::streamsize>(A.size() * sizeof(double)));
      std::ofstream(path_ + ".json") << R"({"dtype": "float64", "n": )" << n << "}";
    }
    comm_.barrier();
  }

  Communicator const comm_ = test_ranks();
  std::string const path_;
};

std::vector<double> identity(std::int64_t n) {
  std::vector<double> A(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) A[static_cast<std::size_t>(i * n + i)] = 1;
  return A;
}

TEST_F(RankFiles, EachRankReadsItsPartOfTheCheckAndItsTiles) {
  if (bytes_read() < 0) GTEST_SKIP() << "no /proc/self/io";
  using Exec = Kokkos::DefaultHostExecutionSpace;
  std::int64_t const n = 1024, all = n * n * 8;
  write(identity(n), n);
  auto const file = std::make_shared<MatrixBlocks const>(path_);
  auto const before = bytes_read();
  require_symmetric(comm_, *file, 64);
  auto const checked = bytes_read();
  TileMatrixOptions options(PrecisionRule{});
  options.comm = all_ranks();
  options.grid = {comm_.size(), 1};
  auto const A = TileMatrix<Exec>::generate(Exec(), n, 32, file_tiles<Exec>(file), options);
  auto const filled = bytes_read();
  auto const part = static_cast<double>(all / comm_.size());
  EXPECT_NEAR(static_cast<double>(checked - before), part, 0.15 * part);
  auto const own = static_cast<double>(A.report().bytes);
  EXPECT_GE(static_cast<double>(filled - checked), own);
  EXPECT_LE(static_cast<double>(filled - checked),
            1.05 * own + 32 * n * 8);  // and the diagonal tiles
  auto const together = comm_.gather(checked - before);
  EXPECT_NEAR(std::accumulate(together.begin(), together.end(), 0.0), static_cast<double>(all),
              0.02 * static_cast<double>(all));
}

TEST_F(RankFiles, AllHearOfTheFirstPairThatDiffers) {
  // 15 pairs of blocks of 8; those of the first block column are 0 to 4
  std::int64_t const n = 40;
  auto A = identity(n);
  for (int block = 4; block >= 0; --block) {
    std::int64_t const row = 8 * block + 7;
    A[static_cast<std::size_t>(row)] = 2;
    write(A, n);
    MatrixBlocks const file(path_);
    std::string const place = std::to_string(row + 1);
    EXPECT_TRUE(throws_with<IoError>(from(comm_, block % comm_.size()) + path_ +
                                         ": the matrix is not symmetric: A(" + place +
                                         ", 1) = 2 but A(1, " + place + ") = 0",
                                     [&] { require_symmetric(comm_, file, 8); }));
  }
}

TEST_F(RankFiles, AllHearOfAFileThatOneCannotRead) {
  std::int64_t const n = 40;
  write(identity(n), n);
  MatrixBlocks const file(path_);
  EXPECT_TRUE(throws_with<ValueError>(from(comm_, 0) + "find_asymmetry: blocks of 0",
                                      [&] { require_symmetric(comm_, file, 0); }));
  require_symmetric(comm_, file, 8);
  comm_.barrier();
  if (comm_.rank() == 0) std::filesystem::resize_file(path_, 8 * n * 8);  // the first block column
  comm_.barrier();
  EXPECT_TRUE(throws_with<IoError>("the file has become shorter",
                                   [&] { require_symmetric(comm_, file, 8); }));
}

}  // namespace
