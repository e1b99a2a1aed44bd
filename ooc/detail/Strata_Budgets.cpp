// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/detail/Strata_Budgets.hpp>

#include <core/blas/Strata_BlasBuffers.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/executor/Strata_Simulate.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace strata::ooc::detail {

template <class Exec>
int streams_of(CholeskyOptions const& options) {
  STRATA_REQUIRE(ValueError, options.streams >= 0 && options.streams <= 64,
                 "cholesky: ", options.streams, " streams, must be at most 64, or 0 for automatic");
  if (options.variant == Variant::Sync) return 1;
  if (options.streams > 0) return options.streams;
  return default_streams<Exec>();
}

template <class Exec>
int streams_on_cores(Devices const& devices, std::int64_t tiles, std::int64_t tile_size,
                     std::size_t least) {
  Exec const exec;
  int const threads = has_own_tiles(exec, tile_size) ? 1 : exec.concurrency();
  std::int64_t const workers = static_cast<std::int64_t>(devices.size()) * threads;
  std::int64_t const cores = blas_threads_that_fit(available_cores());
  std::int64_t streams = std::min({std::int64_t{64}, tiles, cores / workers});
  for (Device const& device : devices)
    streams = std::min(streams, static_cast<std::int64_t>(device.budget_bytes / least));
  return static_cast<int>(std::max<std::int64_t>(1, streams));
}

template <class Exec>
Devices with_budgets(Machine<Exec>& machine, CholeskyReport const& report, std::size_t least,
                     std::vector<int> const& sharing, TileMatrix<Exec> const& matrix,
                     PrecisionMap const& map) {
  using Lane = Lane<Exec>;
  Devices devices = machine.devices();
  std::map<int, std::size_t> alike;  // devices of each number
  for (Device const& device : devices) ++alike[device.id];
  std::map<int, std::size_t> open;  // devices of each memory
  std::map<int, std::size_t> free, tiles;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    if (devices[d].budget_bytes > 0) continue;
    int const id = devices[d].id, memory = Lane::memory_of(id);
    if (++open[memory] == 1)
      free[memory] = Lane::free_bytes(id) / static_cast<std::size_t>(sharing[d]);
    free[memory] += machine.pool(d).bytes() + matrix.bytes_on(id) / alike[id];
    tiles[memory] += matrix.bytes_on(id, map) / alike[id];
  }
  std::map<int, std::size_t> part;  // of what each memory has for pools
  for (auto& [memory, bytes] : free) {
    std::size_t const most = bytes / 10 * 9, held = tiles[memory];
    bytes -= std::min(bytes, held);
    // with the tiles 9/10 too, lest libraries have a tenth of what these leave; but the least, if
    // that is there
    part[memory] = std::max((most - std::min(most, held)) / open[memory],
                            std::min(least, bytes / 10 * 9 / open[memory]));
  }
  for (Device& device : devices) {
    int const memory = Lane::memory_of(device.id);
    bool const asked = device.budget_bytes > 0;
    std::size_t const held = asked ? matrix.bytes_on(device.id, map) / alike[device.id] : 0;
    if (asked)
      device.budget_bytes -= std::min(device.budget_bytes, held);
    else
      device.budget_bytes = part[memory];
    std::string const source =
        !asked
            ? strata::detail::message(" (its part of the ", free[memory], " bytes that are free)")
        : held > 0 ? strata::detail::message(" beside the ", held, " of its tiles")
                   : "";
    STRATA_REQUIRE(MemoryError, device.budget_bytes >= least, "cholesky: device ", device.id,
                   " has a budget of ", device.budget_bytes, " bytes", source, "; ", report.streams,
                   " streams with tiles of ", report.tile_size, " need at least ", least);
  }
  return devices;
}

template <class Exec>
std::int64_t column_block_of(Devices const& given, Devices const& devices,
                             TileMatrix<Exec> const& matrix, CholeskyOptions const& options,
                             int streams) {
  STRATA_REQUIRE(ValueError, options.column_block >= 0, "cholesky: blocks of ",
                 options.column_block, " columns, must be at least 1, or 0 for automatic");
  if (options.column_block > 0 || options.variant != Variant::V4 || matrix.comm() ||
      matrix.super_panel() > 0 || matrix.storage() == TileStorage::Devices ||
      std::ranges::all_of(given, works_at_home<Exec>))
    return std::max<std::int64_t>(1, options.column_block);
  SimulationOptions asked;
  asked.budget_bytes = ~std::size_t(0);
  for (Device const& device : devices)
    asked.budget_bytes = std::min(asked.budget_bytes, device.budget_bytes);
  std::size_t const forms = matrix.map().moduli() > 0 ? 3 : 1;  // a tile's integers are two tiles
  if (asked.budget_bytes / forms >= matrix.report().bytes) return 1;  // each is read once anyway
  asked.lookahead = options.lookahead;
  std::int64_t best = 1;
  std::uint64_t least = ~std::uint64_t(0);
  for (std::int64_t const block : {1, 2, 4, 8}) {
    auto const schedule =
        cholesky_schedule(matrix.tiles(), static_cast<int>(devices.size()), streams, block);
    auto const found = simulate(schedule, matrix.order(), matrix.tile_size(), matrix.map(), asked);
    std::uint64_t const bytes = found.bytes_in + found.bytes_peer;
    if (bytes >= least - least / 50) continue;
    best = block;
    least = bytes;
  }
  return best;
}

#define STRATA_INSTANTIATE(Exec)                                                                \
  template int streams_of<Exec>(CholeskyOptions const&);                                        \
  template int streams_on_cores<Exec>(Devices const&, std::int64_t, std::int64_t, std::size_t); \
  template Devices with_budgets<Exec>(Machine<Exec>&, CholeskyReport const&, std::size_t,       \
                                      std::vector<int> const&, TileMatrix<Exec> const&,         \
                                      PrecisionMap const&);                                     \
  template std::int64_t column_block_of<Exec>(                                                  \
      Devices const&, Devices const&, TileMatrix<Exec> const&, CholeskyOptions const&, int);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
