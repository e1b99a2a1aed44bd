// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What is taken up from a folder, and what is refused.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_PlainTiles.hpp"
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>
#include <ooc/tiles/detail/Strata_Checkpoint.hpp>
#include <ooc/tiles/detail/Strata_TileCheckpoint.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::test;

constexpr std::size_t header_bytes = 168;

template <class Exec>
class CheckpointOn : public testing::Test {
 public:
  CheckpointOn()
      : folder_(std::filesystem::temp_directory_path() /
                ("strata_checkpoint_" + std::to_string(::getpid()))) {}
  ~CheckpointOn() override { std::filesystem::remove_all(folder_); }

 protected:
  std::filesystem::path folder_;
};
TYPED_TEST_SUITE(CheckpointOn, Spaces, SpaceNames);

struct Killed {};

// Ended after any task, and gone on with on another number of devices, it gives the same bits.
TYPED_TEST(CheckpointOn, GoesOnWhereItWasEnded) {
  for (PrecisionRule const& rule : {PrecisionRule{}, PrecisionRule{1e-5}}) {
    auto const whole = cholesky(devices_of<TypeParam>(1), field<TypeParam>(100, 16, rule));
    HostMatrix const expected = stored_matrix(whole.matrix());
    for (int kill_at = 1; kill_at < 28; kill_at += 4) {
      std::filesystem::remove_all(this->folder_);
      CholeskyOptions options;
      options.checkpoint.folder = this->folder_;
      options.streams = 2;
      std::atomic<int> count{0};
      std::int64_t first = 0;
      for (int const devices : {2, 3, 1}) {  // killed twice
        count = 0;
        options.on_task = [&](Task const&) {
          if (devices != 1 && ++count > kill_at) throw Killed();
        };
        try {
          auto const factor =
              cholesky(devices_of<TypeParam>(devices), field<TypeParam>(100, 16, rule), options);
          EXPECT_GE(factor.report().first_column, first);
          first = factor.report().first_column;
          EXPECT_TRUE(same_bits(stored_matrix(factor.matrix()), expected));
        } catch (Killed const&) {
        }
      }
      options.on_task = [](Task const&) { FAIL() << "all columns are there"; };
      auto const again =
          cholesky(devices_of<TypeParam>(2), field<TypeParam>(100, 16, rule), options);
      EXPECT_EQ(again.report().first_column, 7);
      EXPECT_TRUE(same_bits(stored_matrix(again.matrix()), expected));
    }
  }
}

TYPED_TEST(CheckpointOn, RefusesAFileThatIsDamaged) {
  CholeskyOptions options;
  options.checkpoint.folder = this->folder_;
  (void)cholesky(devices_of<TypeParam>(1), field<TypeParam>(40, 16), options);
  std::string const path = ooc::detail::column_path(this->folder_, {1});
  auto const read = [&] {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  };
  auto const write = [&](std::string const& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  };
  auto const resumed = [&] {
    (void)cholesky(devices_of<TypeParam>(1), field<TypeParam>(40, 16), options);
  };
  std::string const good = read();
  for (std::size_t const position :
       {header_bytes + 12, good.size() / 2, good.size() - 20, good.size() - 1}) {
    std::string bad = good;
    bad[position] = static_cast<char>(bad[position] ^ 4);
    write(bad);
    EXPECT_TRUE(throws_with<IoError>("is damaged: CRC-32", resumed)) << position;
    EXPECT_TRUE(throws_with<IoError>("without this file the run goes on from column 1", resumed));
  }
  for (std::size_t const size : {std::size_t(0), std::size_t(20), header_bytes, good.size() - 1}) {
    write(good.substr(0, size));
    EXPECT_TRUE(throws_with<IoError>(size < header_bytes ? "ends at byte " + std::to_string(size)
                                                         : "has " + std::to_string(size) + " bytes",
                                     resumed));
  }
  write(good + "x");
  EXPECT_TRUE(throws_with<IoError>(std::to_string(good.size()) + " are expected", resumed));
  write("STRATAL1" + good.substr(8));
  EXPECT_TRUE(throws_with<IoError>("not a checkpoint of this version", resumed));
  write(good);
  resumed();  // what was refused left the files alone
  write("nothing");
  std::filesystem::remove(path);
  auto const again = cholesky(devices_of<TypeParam>(1), field<TypeParam>(40, 16), options);
  EXPECT_EQ(again.report().first_column, 1);
  EXPECT_EQ(read(), good);
}

TYPED_TEST(CheckpointOn, UsesItsFolderAlone) {
  CholeskyOptions options;
  options.checkpoint.folder = this->folder_;
  auto const factor = [&] {
    (void)cholesky(devices_of<TypeParam>(1), field<TypeParam>(40, 16), options);
  };
  {
    ooc::detail::CheckpointFolder const used(this->folder_);
    EXPECT_TRUE(throws_with<IoError>("another factorisation uses this checkpoint", factor));
  }
  std::ofstream(this->folder_ / "column_000001.strata.12ab.tmp") << "half written";
  std::ofstream(this->folder_ / "notes.tmp") << "someone else's";
  factor();
  EXPECT_FALSE(std::filesystem::exists(this->folder_ / "column_000001.strata.12ab.tmp"));
  EXPECT_TRUE(std::filesystem::exists(this->folder_ / "notes.tmp"));
  options.checkpoint.folder = (this->folder_ / "notes.tmp" / "deeper").string();
  EXPECT_TRUE(throws_with<IoError>("cannot create the checkpoint's folder", factor));
}

// A matrix and what it is turned into: as little as changes it.
struct Change {
  char const* what;
  std::function<void(HostMatrix const&)> make;
};

std::vector<Change> changes(std::int64_t n) {
  auto const last_bit = [](double& x) {
    x = std::nextafter(x, std::numeric_limits<double>::infinity());
  };
  return {
      {"one sign below the diagonal", [=](auto& A) { A(n - 3, 2) = -A(n - 3, 2); }},
      {"one sign in a tile of the diagonal", [=](auto& A) { A(2, 1) = -A(2, 1); }},
      {"the last bit of an entry", [=](auto& A) { last_bit(A(n - 1, 0)); }},
      {"the last bit of the diagonal", [=](auto& A) { last_bit(A(n - 1, n - 1)); }},
      {"two entries that change places", [=](auto& A) { std::swap(A(n - 1, 1), A(n - 2, 1)); }},
      {"two tiles that change places",
       [=](auto& A) {
         for (std::int64_t i = 0; i < 8; ++i) std::swap(A(n - 8 + i, 3), A(n - 16 + i, 3));
       }},
      {"the signs of D A D",
       [=](auto& A) {
         auto const sign = [](std::int64_t i) { return i % 3 == 0 ? -1 : 1; };
         for (std::int64_t j = 0; j < n; ++j)
           for (std::int64_t i = 0; i < n; ++i) A(i, j) *= sign(i) * sign(j);
       }},
      {"a scale of four, that D takes away",
       [=](auto& A) {
         for (std::int64_t j = 0; j < n; ++j)
           for (std::int64_t i = 0; i < n; ++i) A(i, j) *= 4;
       }},
  };
}

// Whole or half there, it is for no other matrix, and for the one that it is of as before.
template <class Exec>
void refuses_other_matrices(std::string const& folder, PrecisionRule const& rule) {
  Exec const exec;
  std::int64_t const n = 64, nb = 8;
  auto const factored = [&](Change const* change) {
    HostMatrix const A = matern_matrix(n, 0.1);
    if (change) change->make(A);
    CholeskyOptions options;
    options.checkpoint.folder = folder;
    return cholesky(devices_of<Exec>(2),
                    TileMatrix<Exec>::from_view(exec, on_space<Exec>(A), nb, rule), options);
  };
  HostMatrix const expected = stored_matrix(factored(nullptr).matrix());
  for (std::int64_t const kept : {std::int64_t{8}, std::int64_t{3}}) {
    for (std::int64_t column = kept; column < n / nb; ++column)
      std::filesystem::remove(ooc::detail::column_path(folder, {column}));
    for (Change const& change : changes(n)) {
      SCOPED_TRACE(change.what);
      EXPECT_TRUE(throws_with<IoError>("of another matrix: the digest of its entries is ",
                                       [&] { (void)factored(&change); }));
    }
  }
  auto const again = factored(nullptr);
  EXPECT_EQ(again.report().first_column, 3);
  EXPECT_TRUE(same_bits(stored_matrix(again.matrix()), expected));
}
TYPED_TEST(CheckpointOn, RefusesAMatrixThatDiffersInABit) {
  refuses_other_matrices<TypeParam>(this->folder_, {});
  std::filesystem::remove_all(this->folder_);
  refuses_other_matrices<TypeParam>(this->folder_, PrecisionRule{1e-4});
}

// Each setting that differs is named, with both values.
TYPED_TEST(CheckpointOn, SaysWhichSettingDiffers) {
  CholeskyOptions options;
  options.checkpoint.folder = this->folder_;
  auto const made = [&](std::int64_t n, std::int64_t nb, PrecisionRule const& rule) {
    return cholesky(devices_of<TypeParam>(1), field<TypeParam>(n, nb, rule), options);
  };
  auto const says = [&](std::string const& text, std::int64_t n, std::int64_t nb,
                        PrecisionRule const& rule) {
    EXPECT_TRUE(throws_with<IoError>(": the checkpoint is of another run: " + text,
                                     [&] { (void)made(n, nb, rule); }));
  };
  PrecisionRule const rule{1e-5};
  HostMatrix const expected = stored_matrix(made(40, 8, rule).matrix());
  says("n is 40, not 41", 41, 8, rule);
  says("the tile size is 8, not 16", 40, 16, rule);
  says("the accuracy (epsilon) is 1e-05, not 1e-07", 40, 8, PrecisionRule{1e-7});
  says("the accuracy (epsilon) is 1e-05, not 0", 40, 8, {});
  says("the accuracy (epsilon) is 1e-05, not 1.0000000000000003e-05", 40, 8,
       PrecisionRule{1.0000000000000003e-05});
  PrecisionRule two = rule, unbound = rule;
  two.precisions = {Precision::fp64, Precision::fp32};
  says("the list of precisions is fp64,fp32,fp16,fp8_e4m3, not fp64,fp32", 40, 8, two);
  unbound.operand_rule = false;
  says(
      "the list of precisions is fp64,fp32,fp16,fp8_e4m3, not "
      "fp64,fp32,fp16,fp8_e4m3 without the operand rule",
      40, 8, unbound);
  std::filesystem::copy_file(ooc::detail::column_path(this->folder_, {3}),
                             ooc::detail::column_path(this->folder_, {2}),
                             std::filesystem::copy_options::overwrite_existing);
  says("the column is 3, not 2", 40, 8, rule);
  std::filesystem::remove(ooc::detail::column_path(this->folder_, {2}));
  auto const again = made(40, 8, rule);
  EXPECT_EQ(again.report().first_column, 2);
  EXPECT_TRUE(same_bits(stored_matrix(again.matrix()), expected));
}

// Bytes that no text shows.
TYPED_TEST(CheckpointOn, SaysThatAHeaderIsDamagedBehindAText) {
  CholeskyOptions options;
  options.checkpoint.folder = this->folder_;
  auto const made = [&] {
    return cholesky(devices_of<TypeParam>(1), field<TypeParam>(40, 8), options);
  };
  (void)made();
  std::fstream file(ooc::detail::column_path(this->folder_, {0}),
                    std::ios::in | std::ios::out | std::ios::binary);
  std::string header(168, ' ');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  auto const text = header.find("fp64");
  ASSERT_NE(text, std::string::npos);
  file.seekp(static_cast<std::streamoff>(text + 60)).put('\1');
  file.close();
  EXPECT_TRUE(throws_with<IoError>(
      "header is damaged: the list of precisions has other bytes behind its text", made));
}

// Entries that another kind of device has evaluated are another matrix's, unless they are the same.
TYPED_TEST(CheckpointOn, SaysWhereEntriesWereEvaluated) {
  CholeskyOptions options;
  options.checkpoint.folder = this->folder_;
  auto const made = [&] {
    return cholesky(devices_of<TypeParam>(1), field<TypeParam>(40, 8), options);
  };
  auto const factor = made();
  auto header = ooc::detail::header_of(factor.matrix(), {0});
  EXPECT_EQ(std::string(header.backend.data()), TypeParam::name());
  header.backend = {"Abacus"};
  auto const tiles = ooc::detail::tiles_of(factor.matrix(), {0});
  ooc::detail::write_column(this->folder_, header, tiles);
  EXPECT_EQ(made().report().first_column, 5);
  header.digest ^= 1;
  ooc::detail::write_column(this->folder_, header, tiles);
  EXPECT_TRUE(throws_with<IoError>(
      std::string("they were evaluated by Abacus and now by ") + TypeParam::name() +
          ", whose functions round otherwise: go on there, or from the first column in another "
          "folder",
      [&] { (void)made(); }));
  header.digest ^= 1;
  header.map ^= 1;
  ooc::detail::write_column(this->folder_, header, tiles);
  EXPECT_TRUE(throws_with<IoError>("the precisions of its tiles differ; they were evaluated by",
                                   [&] { (void)made(); }));
}

// A refusal leaves the matrix as it was, for another folder.
TYPED_TEST(CheckpointOn, LeavesAMatrixThatItRefuses) {
  CholeskyOptions options;
  options.checkpoint.folder = this->folder_;
  (void)cholesky(devices_of<TypeParam>(1), field<TypeParam>(40, 8), options);
  auto matrix = field<TypeParam>(40, 8, {}, 0.06);
  EXPECT_TRUE(throws_with<IoError>("of another matrix", [&] {
    (void)cholesky(devices_of<TypeParam>(1), std::move(matrix), options);
  }));
  EXPECT_TRUE(matrix.is_filled());
  auto const expected = cholesky(devices_of<TypeParam>(1), field<TypeParam>(40, 8, {}, 0.06));
  auto const factor = cholesky(devices_of<TypeParam>(1), std::move(matrix));
  EXPECT_TRUE(same_bits(stored_matrix(factor.matrix()), stored_matrix(expected.matrix())));
}

// Where folders can't be locked, another run may be writing what looks half written.
TYPED_TEST(CheckpointOn, LeavesOthersFilesWhereItCantLock) {
  std::filesystem::create_directories(this->folder_);
  auto const half = this->folder_ / "column_000001.strata.12ab.tmp";
  std::ofstream(half) << "half written";
  auto const no_locks = [](int, int) {
    errno = ENOLCK;
    return -1;
  };
  {
    ooc::detail::CheckpointFolder const used(this->folder_, no_locks);
  }
  EXPECT_TRUE(std::filesystem::exists(half));
  {
    ooc::detail::CheckpointFolder const used(this->folder_);
  }
  EXPECT_FALSE(std::filesystem::exists(half));
}

}  // namespace
