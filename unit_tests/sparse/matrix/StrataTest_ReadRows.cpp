// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "core/io/StrataTest_Files.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include <core/io/Strata_MatrixMarket.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <variant>
#include <vector>

// Files that all ranks read together, against the reader of the whole file on each rank.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;

// A file that all ranks see, which rank 0 writes and removes. Collective.
class SharedFile {
 public:
  SharedFile(Communicator const& comm, std::string const& bytes) : comm_(comm) {
    double first_process = ::getpid();
    comm.broadcast({&first_process, 1}, 0);
    path_ = (std::filesystem::temp_directory_path() /
             ("strata_read_rows_" + std::to_string(static_cast<std::int64_t>(first_process)) + "_" +
              std::to_string(++count)))
                .string();
    if (comm.rank() == 0) put(path_, bytes);
    comm.barrier();
  }
  ~SharedFile() {
    comm_.barrier();
    if (comm_.rank() == 0) std::filesystem::remove(path_);
  }
  std::string const& path() const { return path_; }

 private:
  static inline int count = 0;
  Communicator const& comm_;
  std::string path_;
};

std::string list(std::string const& symmetry, int n, int entries, unsigned seed) {
  std::mt19937 draw(seed);
  std::string text = "%%MatrixMarket matrix coordinate real " + symmetry + "\n" +
                     std::to_string(n) + ' ' + std::to_string(n) + ' ' + std::to_string(entries) +
                     "\n";
  for (int k = 0; k < entries; ++k) {
    auto i = draw() % static_cast<unsigned>(n), j = draw() % static_cast<unsigned>(n);
    if (symmetry != "general" && i < j) std::swap(i, j);
    text += std::to_string(i + 1) + ' ' + std::to_string(j + 1) + ' ' +
            std::to_string(static_cast<int>(draw() % 1000)) + "e-3\n";
  }
  return text;
}

std::vector<std::int64_t> uneven(int ranks, std::int64_t n) {
  std::vector<std::int64_t> first{0};
  for (int rank = 1; rank < ranks; ++rank)
    first.push_back(rank % 3 == 2 ? first.back() : n * rank / ranks);
  first.push_back(n);
  return first;
}

TEST(ReadRows, HaveTheBitsOfTheWholeFile) {
  auto const comm = test_ranks();
  auto const rank = static_cast<std::size_t>(comm.rank());
  for (std::string const symmetry : {"general", "symmetric"})
    for (int const n : {1, 2, 31}) {
      SharedFile const file(comm, list(symmetry, n, 10 * n, static_cast<unsigned>(n)));
      std::string remark, expected_remark;
      auto const first = uneven(comm.size(), n);
      auto const mine = read_rows(comm, file.path(), first,
                                  {.on_remark = [&](auto const& text) { remark = text; }});
      auto const all = host_rows(std::get<CoordinateMatrix>(read_matrix_market(
          file.path(), {.on_remark = [&](auto const& text) { expected_remark = text; }})));
      EXPECT_EQ(remark, comm.rank() == 0 ? expected_remark : "");
      EXPECT_FALSE(expected_remark.empty());
      ASSERT_EQ(mine.rows(), first[rank + 1] - first[rank]);
      for (std::int64_t i = 0; i < mine.rows(); ++i) {
        auto const row = [](HostRows const& rows, std::int64_t r) {
          auto const begin = rows.begin[static_cast<std::size_t>(r)],
                     end = rows.begin[static_cast<std::size_t>(r) + 1];
          std::vector<std::pair<std::int64_t, double>> entries;
          for (auto k = begin; k < end; ++k)
            entries.emplace_back(rows.column[static_cast<std::size_t>(k)],
                                 rows.value[static_cast<std::size_t>(k)]);
          return entries;
        };
        EXPECT_EQ(row(mine, i), row(all, first[rank] + i)) << symmetry << ' ' << n << ' ' << i;
      }
    }
}

TEST(ReadRows, ACompressedFileIsReadToo) {
  auto const comm = test_ranks();
  auto const text = list("symmetric", 20, 60, 5);
  SharedFile const plain(comm, text), packed(comm, gzip(text));
  auto const first = uneven(comm.size(), 20);
  auto const a = read_rows(comm, plain.path(), first, {}),
             b = read_rows(comm, packed.path(), first, {});
  EXPECT_EQ(a.begin, b.begin);
  EXPECT_EQ(a.column, b.column);
  EXPECT_EQ(a.value, b.value);
}

// With the line as the reader of the whole file counts it, wherever the fault lies.
TEST(ReadRows, AllRanksSayWhatIsWrong) {
  auto const comm = test_ranks();
  auto const refused = [&](std::string const& text, std::string const& part) {
    SharedFile const file(comm, text);
    EXPECT_TRUE(throws_with<IoError>(
        part, [&] { (void)read_rows(comm, file.path(), uneven(comm.size(), 20), {}); }));
  };
  auto const good = list("general", 20, 60, 6);
  refused(good + "1 1 1\n", ":63: expected nothing after the last of 60 entries");
  refused(good.substr(0, good.rfind('\n', good.size() - 2) + 1), "expected 60 entries, found 59");
  auto wrong = good;
  wrong.insert(wrong.rfind('\n', wrong.size() - 2) + 1, "x");
  refused(wrong, ":62: row index 'x");
  auto const lower = list("symmetric", 20, 60, 7);
  auto const at = lower.rfind('\n', lower.size() - 2) + 1;
  refused(lower.substr(0, at) + "1 20 1\n", "is above the diagonal of a symmetric matrix");
  std::string huge = "%%MatrixMarket matrix coordinate real general\n20 20 40\n";
  for (int k = 0; k < 40; ++k) huge += "20 1 1e308\n";
  refused(huge, "the sum of the entries at (20, 1) is not finite");
}

TEST(ReadRows, RefusesAnotherNumberOfRows) {
  auto const comm = test_ranks();
  SharedFile const file(comm, list("general", 20, 60, 8));
  EXPECT_TRUE(throws_with<std::exception>("20 rows, the ranks expect 21", [&] {
    (void)read_rows(comm, file.path(), uneven(comm.size(), 21), {});
  }));
}

}  // namespace
