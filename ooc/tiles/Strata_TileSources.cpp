// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/tiles/Strata_TileSources.hpp>

#include <comm/Strata_Communicator.hpp>
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/problems/Strata_Random.hpp>

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace strata::ooc {

namespace {

// Host memory for tiles on their way to a device, one for each thread that reads at the time.
class Staging {
 public:
  std::vector<double> take(std::size_t size) {
    std::lock_guard const lock(mutex_);
    std::vector<double> buffer;
    if (!free_.empty()) {
      buffer = std::move(free_.back());
      free_.pop_back();
    }
    buffer.resize(size);
    return buffer;
  }
  void give_back(std::vector<double>&& buffer) {
    std::lock_guard const lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<double>> free_;
};

template <class Exec>
void fill_dominant(Exec const& exec, std::int64_t n, std::uint64_t seed, std::int64_t row,
                   std::int64_t col, TileView<Exec> const& tile) {
  strata::for_each_element(
      "strata::ooc::dominant_tiles", exec, static_cast<std::int64_t>(tile.extent(0)),
      static_cast<std::int64_t>(tile.extent(1)), KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) {
        std::int64_t const r = row + i, c = col + j;
        double const entry = uniform(seed, Kokkos::max(r, c), Kokkos::min(r, c));
        tile(i, j) = r == c ? entry + static_cast<double>(n) : entry;
      });
}

}  // namespace

template <class Exec>
TileGenerator<Exec> host_tiles(
    std::function<void(std::int64_t row, std::int64_t col, HostBlock const& block)> read) {
  STRATA_REQUIRE(ValueError, read, "host_tiles: there is no function");
  constexpr bool in_host_memory =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;
  auto const staging = std::make_shared<Staging>();
  return [read = std::move(read), staging](Exec const& exec, std::int64_t row, std::int64_t col,
                                           TileView<Exec> const& tile) {
    exec.fence("strata::ooc::host_tiles: the tile is free");
    if constexpr (in_host_memory) {
      read(row, col, HostBlock(tile.data(), tile.extent(0), tile.extent(1)));
    } else {
      auto buffer = staging->take(tile.size());
      HostBlock const block(buffer.data(), tile.extent(0), tile.extent(1));
      read(row, col, block);
      Kokkos::deep_copy(exec, tile, block);
      exec.fence("strata::ooc::host_tiles: the buffer is free");
      staging->give_back(std::move(buffer));
    }
  };
}

template <class Exec>
TileGenerator<Exec> file_tiles(std::shared_ptr<MatrixBlocks const> file) {
  STRATA_REQUIRE(ValueError, file, "file_tiles: there is no file");
  return host_tiles<Exec>(
      [file = std::move(file)](std::int64_t row, std::int64_t col, HostBlock const& block) {
        file->read(row, col, block);
      });
}

void require_symmetric(Communicator const& comm, MatrixBlocks const& file,
                       std::int64_t block_size) {
  auto const found =
      comm.agree([&] { return file.find_asymmetry({block_size, comm.rank(), comm.size()}); });
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  auto const first = std::ranges::min(comm.gather(found ? found->block : none));
  comm.agree([&] {
    if (found && found->block == first) throw IoError(found->text);
  });
}

template <class Exec>
TileGenerator<Exec> dominant_tiles(std::int64_t n, std::uint64_t seed) {
  return [n, seed](Exec const& exec, std::int64_t row, std::int64_t col,
                   TileView<Exec> const& tile) { fill_dominant(exec, n, seed, row, col, tile); };
}

#define STRATA_INSTANTIATE(Exec)                                                      \
  template TileGenerator<Exec> host_tiles<Exec>(                                      \
      std::function<void(std::int64_t, std::int64_t, HostBlock const&)>);             \
  template TileGenerator<Exec> file_tiles<Exec>(std::shared_ptr<MatrixBlocks const>); \
  template TileGenerator<Exec> dominant_tiles<Exec>(std::int64_t, std::uint64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
