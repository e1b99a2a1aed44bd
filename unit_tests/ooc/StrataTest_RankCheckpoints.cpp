// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What several ranks keep in a folder that all see, or in one on each host, and take up from there.
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "ooc/StrataTest_RankFolders.hpp"
#include "ooc/StrataTest_RankTiles.hpp"
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>
#include <ooc/tiles/detail/Strata_Checkpoint.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::ooc;
using namespace strata::test;
namespace fs = std::filesystem;

template <class Exec>
class OocRankCheckpoints : public testing::Test {};
TYPED_TEST_SUITE(OocRankCheckpoints, Spaces, SpaceNames);

// The part of a column that all ranks write with the tile of this row in it, or rows below.
ooc::detail::ColumnPart part_with(std::int64_t row, std::int64_t column) {
  auto const [grid, super_panel] = of_ranks(test_ranks().size());
  int const parts = super_panel == 0 && grid.rows > 1 ? 2 * grid.rows : grid.rows;
  return {column, row % parts, parts};
}

CholeskyOptions kept_in(std::string const& folder) {
  CholeskyOptions options;
  options.streams = 2;
  options.checkpoint.folder = folder;
  return options;
}

std::vector<MaternCase> cases_of_checkpoints() {
  return {{100, 8, 0.1, {}},
          {200, 16, 0.02627, PrecisionRule{1e-5}},
          {200, 16, 0.1, layered("fp16x2,fp32")}};
}

// The first `ranks` factor, until the rank that has the tile below the diagonal of a column comes
// to it and the columns before it are there. Returns from which column they went on; -1: they ended
// there.
template <class Exec>
std::int64_t run_on(int ranks, std::int64_t end, MaternCase const& c, Folders const& folders,
                    TileMatrix<Exec> const& expected, Layout const& layout = {}) {
  double first = 0;
  int const owner =
      owner_in(of_ranks(ranks, layout), expected.tiles(), end + 1, std::max<std::int64_t>(end, 0));
  if (auto const part = test_ranks().first(ranks)) {
    auto options = kept_in(folders.own());
    options.on_task = [&](Task const& task) {
      if (task.col != end || task.row != end + 1 || part->rank() != owner) return;
      for (int k = 0; k < 10000 && folders.whole_columns(expected.tiles()) < end; ++k)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      throw IoError("killed");
    };
    try {
      auto const factor =
          cholesky(devices_of<Exec>(1),
                   make<Exec>(c, std::make_shared<Communicator const>(*part), layout), options);
      first = static_cast<double>(factor.report().first_column);
      expect_same_matrix(factor.matrix(), expected);
    } catch (IoError const& error) {
      EXPECT_GE(end, 0) << error.what();
      first = -1;
    }
  }
  test_ranks().broadcast({&first, 1}, 0);
  return static_cast<std::int64_t>(first);
}

TYPED_TEST(OocRankCheckpoints, GoOnFromTheColumnsOfOtherRanks) {
  Folders const folder;
  int const most = test_ranks().size();
  for (MaternCase const& c : cases_of_checkpoints()) {
    SCOPED_TRACE(c.n);
    auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, nullptr));
    for (int const ranks : {1, 2, most})
      for (int const others : {1, (most + 1) / 2, most}) {
        SCOPED_TRACE(std::to_string(ranks) + " then " + std::to_string(others));
        folder.clear();
        int const before = std::min(ranks, most);
        EXPECT_EQ(run_on(before, 5, c, folder, whole.matrix()), -1);
        EXPECT_EQ(run_on(others, -1, c, folder, whole.matrix()), 5);
        EXPECT_EQ(run_on(before, -1, c, folder, whole.matrix()), whole.report().tiles);
        EXPECT_TRUE(folder.files(".tmp").empty());
      }
  }
}

TYPED_TEST(OocRankCheckpoints, GoOnFromTheColumnsOfOtherGrids) {
  Folders const folder;
  int const most = test_ranks().size();
  auto const all = layouts();
  for (MaternCase const& c : cases_of_checkpoints()) {
    auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, nullptr));
    for (std::size_t l = 0; l < all.size(); ++l) {
      Layout const &before = all[l], &after = all[(l + 3) % all.size()];
      SCOPED_TRACE(std::to_string(c.n) + " on " + name_of(before) + " then " + name_of(after));
      folder.clear();
      EXPECT_EQ(run_on(most, 5, c, folder, whole.matrix(), before), -1);
      EXPECT_EQ(run_on(most, 8, c, folder, whole.matrix(), after), -1);
      EXPECT_EQ(run_on(1, -1, c, folder, whole.matrix()), 8);
      EXPECT_EQ(run_on(most, -1, c, folder, whole.matrix(), before), whole.report().tiles);
      EXPECT_TRUE(folder.files(".tmp").empty());
    }
  }
}

// Columns of one, of several and of all ranks, one behind the other.
TYPED_TEST(OocRankCheckpoints, GoOnFromColumnsOfManyNumbersOfRanks) {
  Folders const folder;
  int const most = test_ranks().size();
  MaternCase const c{100, 8, 0.1, {}};
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, nullptr));
  for (int ranks = most; ranks >= 1; --ranks)
    EXPECT_EQ(run_on(ranks, most - ranks + 1, c, folder, whole.matrix()), -1);
  EXPECT_EQ(run_on(std::max(1, most - 1), -1, c, folder, whole.matrix()), most);
  // without a column, those before it are as good as before
  folder.change([&] {
    for (auto const& path : folder.files(".strata"))
      if (path.filename().string().starts_with("column_000005.")) fs::remove(path);
  });
  EXPECT_EQ(run_on(most, -1, c, folder, whole.matrix()), 5);
}

TYPED_TEST(OocRankCheckpoints, EndTogetherWhereOneCannotWriteItsColumn) {
  Folders const folder;
  auto const comm = all_ranks();
  MaternCase const c{100, 8, 0.1, {}};
  int const rank = owner_in(of_ranks(comm->size()), 13, 7, 4);
  fs::path const full = ooc::detail::column_path(folder.own(), part_with(7, 4));
  folder.change([&] {
    fs::create_directories(folder.own());
    fs::create_symlink("/dev/full", full);
  });
  EXPECT_TRUE(throws_with<IoError>(from(*comm, rank) + full.string() + ": wrote", [&] {
    (void)cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, comm), kept_in(folder.own()));
  }));
  EXPECT_TRUE(folder.files(".tmp").empty());
  folder.change([&] { fs::remove(full); });
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, nullptr));
  EXPECT_LE(run_on(comm->size(), -1, c, folder, whole.matrix()), 4);
}

TYPED_TEST(OocRankCheckpoints, RefuseColumnsTogether) {
  Folders const folder;
  auto const comm = all_ranks();
  int const rank = owner_in(of_ranks(comm->size()), 13, 3, 3);
  MaternCase const c{100, 8, 0.1, {}};
  auto const factor = [&](MaternCase const& now) {
    (void)cholesky(devices_of<TypeParam>(1), make<TypeParam>(now, comm), kept_in(folder.own()));
  };
  factor(c);
  EXPECT_TRUE(throws_with<IoError>("the checkpoint is of another matrix",
                                   [&] { factor({100, 8, 0.11, {}}); }));
  std::string const path = ooc::detail::column_path(folder.own(), part_with(3, 3));
  std::string const next = ooc::detail::column_path(folder.own(), part_with(3, 4));
  folder.change([&] {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(300);
    file.put('x');
  });
  EXPECT_TRUE(throws_with<IoError>(from(*comm, rank) + path + ": tile 0 of the column is damaged",
                                   [&] { factor(c); }));
  folder.change([&] { fs::copy_file(next, path, fs::copy_options::overwrite_existing); });
  EXPECT_TRUE(throws_with<IoError>("of another run: the column is 4, not 3", [&] { factor(c); }));
}

// Sums outgrow few moduli on the rank that has tile (4, 3). Another rank may have kept column 4,
// made of these sums, before it hears of that. The attempt with all moduli takes up no such column.
template <class Exec>
void keeps_no_outgrown_column(Layout const& layout) {
  Exec const exec;
  constexpr std::int64_t nb = 16;
  auto const A = on_space<Exec>(matrix_that_fills_in(nb));
  auto const matrix = [&](bool fewer_moduli, std::shared_ptr<Communicator const> comm) {
    TileMatrixOptions options;
    options.rule.precisions = {Precision::int8x14};
    options.rule.fewer_moduli = fewer_moduli;
    options.super_panel = of_ranks(test_ranks().size(), layout).super_panel;
    options.grid = comm ? layout.grid : RankGrid{1, 1};
    options.comm = std::move(comm);
    return TileMatrix<Exec>::from_view(exec, A, nb, options);
  };
  auto const expected = cholesky(devices_of<Exec>(1), matrix(false, nullptr));
  Folders const folder;
  auto const goes_on_from = [&](std::int64_t column) {
    auto const factor =
        cholesky(devices_of<Exec>(1), matrix(true, all_ranks()), kept_in(folder.own()));
    ASSERT_EQ(factor.report().attempts.size(), 2U);
    EXPECT_EQ(factor.report().attempts[0].outcome, Outcome::Overflowed);
    EXPECT_EQ(factor.report().first_column, column);
    expect_same_matrix(factor.matrix(), expected.matrix());
  };
  goes_on_from(0);
  folder.change([&] {
    for (auto const& path : folder.files(".strata"))
      if (path.parent_path().filename() == "all_moduli" &&
          path.filename().string().starts_with("column_000004"))
        fs::remove(path);
  });
  goes_on_from(4);
}
TYPED_TEST(OocRankCheckpoints, KeepNoColumnOfSumsThatOutgrewTheirModuliOnOneRank) {
  for (Layout const& layout : layouts()) {
    SCOPED_TRACE(name_of(layout));
    keeps_no_outgrown_column<TypeParam>(layout);
  }
}

// --- a folder on each host ---

constexpr std::int64_t tile_rows = 13;  // of the next
MaternCase const on_hosts{100, 8, 0.1, {}};

// Each rank on a host of its own, two on each, the last one alone, in turn on two.
std::vector<Hosts> places() {
  int const ranks = test_ranks().size();
  std::vector<Hosts> all(4);
  for (int rank = 0; rank < ranks; ++rank) {
    all[0].push_back(rank);
    all[1].push_back(rank / 2);
    all[2].push_back(rank == ranks - 1 ? 1 : 0);
    all[3].push_back(1 - rank % 2);
  }
  return all;
}
std::string name_of(Hosts const& hosts) {
  std::string name = "on hosts";
  for (int const host : hosts) name += " " + std::to_string(host);
  return name;
}

// What is in the files, by path.
std::map<fs::path, std::string> contents(Folders const& folders) {
  std::map<fs::path, std::string> all;
  for (auto const& path : folders.files(".strata")) {
    std::ifstream file(path, std::ios::binary);
    all[path] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return all;
}

// The first column, from this one on, of which a rank on this host has a tile.
std::int64_t first_on(Folders const& folders, int host, std::int64_t column, Layout const& layout) {
  for (; column < tile_rows; ++column)
    for (std::int64_t i = column; i < tile_rows; ++i)
      if (folders.is_on(host, owner_in(layout, tile_rows, i, column))) return column;
  return tile_rows;
}

// Each file is in the folder of the rank that has its tiles, and there is no other.
void expect_parts_at_home(Folders const& folders, Layout const& layout) {
  std::int64_t const parts =
      layout.grid.rows > 1 && layout.super_panel == 0 ? 2 * layout.grid.rows : layout.grid.rows;
  std::vector<fs::path> expected;
  for (std::int64_t j = 0; j < tile_rows; ++j)
    for (std::int64_t i = j; i < std::min(j + parts, tile_rows); ++i)
      expected.emplace_back(ooc::detail::column_path(folders.of(owner_in(layout, tile_rows, i, j)),
                                                     {j, i % parts, parts}));
  std::ranges::sort(expected);
  EXPECT_EQ(folders.files(".strata"), expected);
  EXPECT_TRUE(folders.files(".tmp").empty());
  test_ranks().barrier();
}

TYPED_TEST(OocRankCheckpoints, GoOnWhereEachHostHasAFolder) {
  int const most = test_ranks().size();
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(on_hosts, nullptr));
  auto const all = layouts();
  for (std::size_t k = 0; k < std::max(all.size(), places().size()); ++k) {
    Hosts const hosts = places()[k % places().size()];
    Layout const& layout = all[k % all.size()];
    SCOPED_TRACE(name_of(hosts) + ", " + name_of(layout));
    Folders const folders(hosts);
    EXPECT_EQ(run_on(most, 5, on_hosts, folders, whole.matrix(), layout), -1);
    EXPECT_EQ(run_on(most, -1, on_hosts, folders, whole.matrix(), layout), 5);
    expect_parts_at_home(folders, of_ranks(most, layout));
    EXPECT_EQ(run_on(most, -1, on_hosts, folders, whole.matrix(), layout), tile_rows);
  }
}

// More ranks than tile rows, and tiles in several precisions.
TYPED_TEST(OocRankCheckpoints, GoOnWhereEachHostHasAFolderWithAnyMatrix) {
  int const most = test_ranks().size();
  auto const all = layouts();
  auto cases = cases_of_checkpoints();
  for (std::int64_t const n : {1, 1, 15, 15}) cases.push_back({n, 8, 0.1, {}});
  for (std::size_t k = 0; k < cases.size(); ++k) {
    MaternCase const& c = cases[k];
    Layout const& layout = all[k % all.size()];
    SCOPED_TRACE(std::to_string(c.n) + " on " + name_of(layout));
    auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, nullptr));
    Folders const folders(places()[0]);
    EXPECT_EQ(run_on(most, -1, c, folders, whole.matrix(), layout), 0);
    EXPECT_EQ(run_on(most, -1, c, folders, whole.matrix(), layout), whole.report().tiles);
  }
}

// A host that has lost columns, a file or its disk: later columns of the others stay, and are
// written again to the same bits.
TYPED_TEST(OocRankCheckpoints, GoOnFromTheLastColumnThatAllHostsHave) {
  int const most = test_ranks().size();
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(on_hosts, nullptr));
  auto const layout = of_ranks(most);
  for (auto const& [hosts, host] :
       {std::pair(places()[0], places()[0].back()), std::pair(places()[1], 0)}) {
    SCOPED_TRACE(name_of(hosts) + ", without " + std::to_string(host));
    Folders const folders(hosts);
    auto const goes_on_from = [&](std::int64_t column) {
      EXPECT_EQ(run_on(most, -1, on_hosts, folders, whole.matrix()), column);
    };
    goes_on_from(0);
    auto const before = contents(folders);
    folders.change([&] {
      for (auto const& [path, bytes] : before)
        if (path.parent_path() == folders.of_host(host) &&
            path.filename().string().substr(0, 13) >= "column_000004")
          fs::remove(path);
    });
    goes_on_from(first_on(folders, host, 4, layout));
    folders.change([&] {  // one of its files of column 7, or of the next one that it has some of
      std::string const number =
          ooc::detail::column_path("", ooc::detail::ColumnPart{first_on(folders, host, 7, layout)})
              .substr(1, 13);
      auto const file = std::ranges::find_if(before, [&](auto const& of) {
        return of.first.parent_path() == folders.of_host(host) &&
               of.first.filename().string().starts_with(number);
      });
      ASSERT_NE(file, before.end());
      fs::remove(file->first);
    });
    goes_on_from(first_on(folders, host, 7, layout));
    folders.change([&] { fs::remove_all(folders.of_host(host)); });
    goes_on_from(first_on(folders, host, 0, layout));
    EXPECT_EQ(contents(folders), before);
    test_ranks().barrier();
  }
}

// What all refuse: tiles of this rank in this folder, where a column has so many parts.
std::string misplaced(Layout const& layout) {
  std::int64_t const parts =
      layout.grid.rows > 1 && layout.super_panel == 0 ? 2 * layout.grid.rows : layout.grid.rows;
  return ", which sees another folder. On this grid of " + std::to_string(layout.grid.rows) +
         " x " + std::to_string(layout.grid.cols) + " ranks a column has " + std::to_string(parts) +
         " parts, each in the folder that its rank sees: go on with the grid and on the hosts of "
         "the run before, or gather the files in one folder that all ranks see, or take empty "
         "folders";
}

TYPED_TEST(OocRankCheckpoints, RefuseColumnsOfAnotherGridOnOtherHosts) {
  int const most = test_ranks().size();
  if (most == 1) return;
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(on_hosts, nullptr));
  Folders const folders(places()[0]);
  auto const refused = [&](Layout const& layout) {
    auto const before = contents(folders);
    EXPECT_TRUE(throws_with<IoError>(misplaced(of_ranks(most, layout)), [&] {
      (void)cholesky(devices_of<TypeParam>(1), make<TypeParam>(on_hosts, all_ranks(), layout),
                     kept_in(folders.own()));
    })) << name_of(layout);
    EXPECT_EQ(contents(folders), before);
    EXPECT_TRUE(folders.files(".tmp").empty());
    test_ranks().barrier();
  };
  for (int const ranks : std::set<int>{1, most - 1}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks before");
    folders.clear();
    EXPECT_EQ(run_on(ranks, 5, on_hosts, folders, whole.matrix()), -1);
    refused({});
  }
  Layout const column{{most, 1}, 0}, row{{1, most}, 3};
  folders.clear();
  EXPECT_EQ(run_on(most, 5, on_hosts, folders, whole.matrix(), column), -1);
  refused(row);
  folders.clear();
  EXPECT_EQ(run_on(most, 5, on_hosts, folders, whole.matrix(), row), -1);
  refused(column);
  EXPECT_EQ(run_on(most, -1, on_hosts, folders, whole.matrix(), row), 5);
}

TYPED_TEST(OocRankCheckpoints, RefuseRanksThatHaveChangedHosts) {
  int const most = test_ranks().size();
  if (most == 1) return;
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(on_hosts, nullptr));
  Layout const layout = of_ranks(most);
  Hosts const before = places()[0];
  Hosts now = before;
  std::swap(now.front(), now.back());
  Folders const folders(before), swapped(now);
  EXPECT_EQ(run_on(most, 5, on_hosts, folders, whole.matrix()), -1);
  EXPECT_TRUE(throws_with<IoError>(misplaced(layout), [&] {
    (void)cholesky(devices_of<TypeParam>(1), make<TypeParam>(on_hosts, all_ranks()),
                   kept_in(swapped.own()));
  }));
  EXPECT_EQ(run_on(most, -1, on_hosts, folders, whole.matrix()), 5);
}

// Gathered in one folder, or copied to all hosts, the columns are those of any number of ranks.
TYPED_TEST(OocRankCheckpoints, GoOnFromFilesThatWereGathered) {
  int const most = test_ranks().size();
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(on_hosts, nullptr));
  Folders const folders(places()[0]);
  EXPECT_EQ(run_on(most, 5, on_hosts, folders, whole.matrix()), -1);
  folders.change([&] {
    for (auto const& path : folders.files(".strata"))
      if (path.parent_path() != folders.of(0))
        fs::copy_file(path, fs::path(folders.of(0)) / path.filename());
  });
  EXPECT_EQ(run_on(1, 7, on_hosts, folders, whole.matrix()), -1);
  folders.change([&] {
    for (int rank = 1; rank < most; ++rank) {
      fs::remove_all(folders.of(rank));
      fs::copy(folders.of(0), folders.of(rank));
      for (auto const& path : folders.files(".strata"))  // not whole
        if (path.filename().string().substr(0, 13) >= "column_000007") fs::remove(path);
    }
  });
  EXPECT_EQ(run_on(most, -1, on_hosts, folders, whole.matrix(), {{1, most}, 3}), 7);
}

TYPED_TEST(OocRankCheckpoints, EndTogetherWhereOneHostHasNoFolder) {
  auto const comm = all_ranks();
  int const last = comm->size() - 1;
  Folders const folders(places()[2]);
  std::string const host = folders.of(last);
  auto const says = [&](std::string const& text, std::string const& own) {
    EXPECT_TRUE(throws_with<IoError>(from(*comm, last) + text, [&] {
      (void)cholesky(devices_of<TypeParam>(1), make<TypeParam>(on_hosts, comm), kept_in(own));
    }));
    comm->barrier();
    EXPECT_TRUE(folders.files(".tmp").empty());
  };
  auto const last_has = [&](std::string const& path) {
    return comm->rank() == last ? path : folders.own();
  };
  folders.change([&] {
    fs::create_directories(host);
    std::ofstream(host + "/file") << "no folder";
  });
  says(host + "/file/columns: cannot create the checkpoint's folder",
       last_has(host + "/file/columns"));
  if (last > 0) says("/proc/self: cannot write to the checkpoint's folder", last_has("/proc/self"));
  {
    std::unique_ptr<ooc::detail::CheckpointFolder> used;
    if (comm->rank() == last) used = std::make_unique<ooc::detail::CheckpointFolder>(host);
    comm->barrier();
    says(host + ": another factorisation uses this checkpoint", folders.own());
  }
  auto const layout = of_ranks(comm->size());
  std::int64_t const column = first_on(folders, 1, 4, layout);
  std::int64_t row = column;
  while (owner_in(layout, tile_rows, row, column) != last) ++row;
  fs::path const full = ooc::detail::column_path(host, part_with(row, column));
  folders.change([&] { fs::create_symlink("/dev/full", full); });
  says(full.string() + ": wrote", folders.own());
  folders.change([&] { fs::remove(full); });
  auto const whole = cholesky(devices_of<TypeParam>(1), make<TypeParam>(on_hosts, nullptr));
  EXPECT_LE(run_on(comm->size(), -1, on_hosts, folders, whole.matrix()), column);
}

// Columns of another matrix that begin behind a gap are not overwritten.
TYPED_TEST(OocRankCheckpoints, RefuseColumnsOfAnotherMatrixOnOneHost) {
  auto const comm = all_ranks();
  int const last = comm->size() - 1;
  Folders const folders(places()[0]);
  auto const factor = [&](MaternCase const& c) {
    (void)cholesky(devices_of<TypeParam>(1), make<TypeParam>(c, comm), kept_in(folders.own()));
  };
  factor(on_hosts);
  folders.change([&] {
    for (auto const& path : folders.files(".strata"))
      if (path.parent_path() != folders.of(last) ||
          path.filename().string().starts_with("column_000000"))
        fs::remove(path);
  });
  auto const before = contents(folders);
  EXPECT_TRUE(throws_with<IoError>(from(*comm, last) + folders.of(last) + "/column_",
                                   [&] { factor({100, 8, 0.11, {}}); }));
  EXPECT_TRUE(throws_with<IoError>("the checkpoint is of another matrix",
                                   [&] { factor({100, 8, 0.11, {}}); }));
  EXPECT_EQ(contents(folders), before);
  comm->barrier();
}

}  // namespace
