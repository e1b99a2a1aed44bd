// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/Strata_TileMatrix.hpp>

#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <ooc/detail/Strata_ArrivedTiles.hpp>
#include <ooc/detail/Strata_Lane.hpp>
#include <ooc/detail/Strata_TileKernels.hpp>
#include <ooc/vendor/Strata_Numa.hpp>

#include <comm/Strata_BlockCyclic.hpp>
#include <comm/Strata_Together.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace strata::ooc {

namespace {

constexpr std::int64_t most_tile_rows = std::int64_t{1} << 20;  // 512 GiB of maps

std::int64_t tiles_of(std::int64_t n, std::int64_t tile_size) {
  STRATA_REQUIRE(ShapeError, n >= 0, "tile matrix: n is ", n, ", must not be negative");
  STRATA_REQUIRE(ShapeError, tile_size >= 1, "tile matrix: the tile size is ", tile_size,
                 ", must be at least 1");
  std::int64_t const tiles = n / tile_size + (n % tile_size > 0 ? 1 : 0);
  STRATA_REQUIRE(ShapeError, tiles <= most_tile_rows, "tile matrix: n = ", n, " in tiles of ",
                 tile_size, " has ", tiles, " rows of tiles, at most ", most_tile_rows,
                 " are possible");
  return tiles;
}

std::int64_t rows_of(std::int64_t n, std::int64_t tile_size, std::int64_t i) {
  return std::min(tile_size, n - i * tile_size);
}

// Host memory of a View, for copies.
template <class T>
using HostView = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class Exec>
using Buffer = Kokkos::View<std::byte*, typename Exec::memory_space>;

// Where `exec` works: a tile, and the measures of all.
template <class Exec>
struct Measuring {
  using Vector = Kokkos::View<double*, typename Exec::memory_space>;
  using Measures = Kokkos::View<detail::TileMeasure*, typename Exec::memory_space>;
  Measuring(Exec const& exec, std::int64_t n, std::int64_t edge, bool is_even, std::size_t tiles)
      : buffer(allocate<Buffer<Exec>>(exec, "strata::ooc::tile_matrix::tile",
                                      detail::tile_bytes(Precision::fp64, edge, edge))),
        sums(allocate_zeros<Vector>(exec, "strata::ooc::tile_matrix::sums", n)),
        given_sums(
            allocate_zeros<Vector>(exec, "strata::ooc::tile_matrix::given_sums", is_even ? 0 : n)),
        measures(allocate<Measures>(exec, "strata::ooc::tile_matrix::norms", tiles)),
        meter(exec, edge) {}
  Buffer<Exec> buffer;
  Vector sums, given_sums;  // of rows of H, and of A where they are not the same up to a factor
  Measures measures;
  detail::TileMeter<Exec> meter;
};

}  // namespace

template <class Exec>
std::size_t TileMatrix<Exec>::bytes_needed(std::int64_t n, std::int64_t tile_size,
                                           PrecisionMap const& map) {
  std::int64_t const tiles = tiles_of(n, tile_size);
  STRATA_REQUIRE(ShapeError, map.tiles() == tiles, "tile matrix: a map of ", map.tiles(),
                 " tile rows, the matrix has ", tiles);
  std::size_t bytes = 0;
  for (std::int64_t j = 0; j < tiles; ++j)
    for (std::int64_t i = j; i < tiles; ++i)
      bytes += detail::tile_bytes(map.at(i, j), rows_of(n, tile_size, i), rows_of(n, tile_size, j));
  return bytes;
}

template <class Exec>
std::size_t TileMatrix<Exec>::bytes_needed(std::int64_t n, std::int64_t tile_size) {
  return name_bad_alloc("tile matrix", [&] {
    return bytes_needed(n, tile_size, PrecisionMap(tiles_of(n, tile_size)));
  });
}

template <class Exec>
std::int64_t TileMatrix<Exec>::automatic_tile_size(std::int64_t n, std::size_t budget_bytes) {
  constexpr bool on_host =
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;
  constexpr std::int64_t smallest = on_host ? 64 : 256, largest = on_host ? 512 : 2048;
  constexpr std::int64_t step = 64, rows = 8, tiles = 16;
  std::int64_t size = std::clamp((n + rows * step - 1) / (rows * step) * step, smallest, largest);
  while (budget_bytes > 0 && size > smallest &&
         tiles * detail::tile_bytes(Precision::fp64, size, size) > budget_bytes)
    size -= step;
  return size;
}

template <class Exec>
TileMatrix<Exec>::TileMatrix(std::int64_t n, std::int64_t tile_size, Generator const& generator)
    : n_(n),
      tile_size_(tile_size),
      generator_(generator),
      tiles_("TileMatrix",
             std::make_unique<Tiles>(Tiles{.map = PrecisionMap(tiles_of(n, tile_size))})) {
  STRATA_REQUIRE(ValueError, generator, "tile matrix: there is no generator");
  norms_.tiles = tiles();
}

template <class Exec>
TileMatrix<Exec> TileMatrix<Exec>::generate(Exec const& exec, std::int64_t n,
                                            std::int64_t tile_size, Generator const& generator,
                                            TileMatrixOptions const& options) {
  options.rule.check();
  auto matrix = name_bad_alloc("tile matrix", [&] { return TileMatrix(n, tile_size, generator); });
  matrix.refill(exec, generator, options);
  return matrix;
}

template <class Exec>
void TileMatrix<Exec>::refill(Exec const& exec, Generator const& generator,
                              TileMatrixOptions const& options) {
  Region const region(exec, "strata::ooc::tile_matrix::generate");
  STRATA_REQUIRE(ValueError, generator, "tile matrix: there is no generator");
  options.rule.check();
  tiles_->state = State::None;
  generator_ = generator;
  source_ = {};
  exec_ = exec;
  options_ = options;
  if (comm() && comm()->size() == 1) options_.comm.reset();
  rank_ = comm() ? comm()->rank() : 0;
  ranks_ = comm() ? comm()->size() : 1;
  name_bad_alloc("tile matrix", [&] { evaluate(); });
  tiles_->state = State::Filled;
}

// All tiles from the generator, by the options.
template <class Exec>
void TileMatrix<Exec>::evaluate() {
  scaling_.assign(static_cast<std::size_t>(n_), 1.0);
  device_scaling_ = {};
  bool const mixed = options_.rule.accuracy > 0;
  tiles_->map = PrecisionMap(tiles());
  if (!mixed) together(comm(), [&] { allocate_tiles(); });  // refuses before any work
  Kokkos::Timer const timer;
  if (options_.equilibrate) equilibrate(exec_);
  measure(exec_, !mixed);
  tiles_->state = State::Measured;
  double const measured = timer.seconds();
  if (mixed) {
    tiles_->map = precision_map(norms_, options_.rule);
    together(comm(), [&] { allocate_tiles(); });
  }
  Kokkos::Timer const again;
  if (mixed) fill(exec_);
  report_.generate_seconds = measured + again.seconds();
}

template <class Exec>
void TileMatrix<Exec>::round_anew(PrecisionRule const& rule) {
  Region const region(exec_, "strata::ooc::tile_matrix::round_anew");
  STRATA_REQUIRE(ValueError, tiles_->state != State::None,
                 "tile matrix: there is no matrix to round, since an exception left none");
  PrecisionMap map = precision_map(norms_, rule);
  together(comm(), [&] { require_memory(map); });
  overwrite();
  tiles_->map = std::move(map);
  options_.rule = rule;
  name_bad_alloc("tile matrix", [&] {
    together(comm(), [&] { allocate_tiles(); });
    Kokkos::Timer const timer;
    fill(exec_);
    report_.generate_seconds = timer.seconds();
  });
  tiles_->state = State::Filled;
}

template <class Exec>
void TileMatrix<Exec>::require_memory(PrecisionMap const& map) const {
  std::size_t const needed = own_bytes(map);
  std::string const whose = comm() ? strata::detail::message(" for its part of ", ranks_) : "";
  STRATA_REQUIRE(MemoryError, needed <= options_.max_bytes, "tile matrix: n = ", n_,
                 " in tiles of ", tile_size_, " needs ", needed, " bytes of host memory", whose,
                 ", ", options_.max_bytes, " are allowed");
}

// Of the tiles that are on this rank.
template <class Exec>
std::size_t TileMatrix<Exec>::own_bytes(PrecisionMap const& map) const {
  std::size_t bytes = 0;
  for (std::int64_t j = 0; j < tiles(); ++j)
    for (std::int64_t i = j; i < tiles(); ++i)
      if (has_row(i)) bytes += detail::tile_bytes(map.at(i, j), rows(i), rows(j));
  return bytes;
}

template <class Exec>
std::int64_t TileMatrix<Exec>::rows(std::int64_t i) const {
  return rows_of(n_, tile_size_, i);
}

template <class Exec>
auto TileMatrix<Exec>::tile(std::int64_t i, std::int64_t j) const -> HostTile {
  return detail::stored_tile<Kokkos::HostSpace>(data(i, j), tiles_->map.at(i, j), rows(i), rows(j));
}

template <class Exec>
double TileMatrix<Exec>::square(std::int64_t i, std::int64_t j) const {
  std::size_t const numbers = detail::number_bytes(tiles_->map.at(i, j), rows(i), rows(j));
  return reinterpret_cast<double const*>(data(i, j) + numbers)[detail::SquareField];
}

template <class Exec>
std::uint64_t TileMatrix<Exec>::hash() const {
  return detail::digest_of(digest_, tiles_->map.hash());
}

template <class Exec>
Op TileMatrix<Exec>::op(std::int64_t i, std::int64_t j) const {
  return detail::is_transposed(tiles_->map.at(i, j)) ? Op::Trans : Op::NoTrans;
}

template <class Exec>
std::byte* TileMatrix<Exec>::data(std::int64_t i, std::int64_t j) const {
  return tiles_->data[tile_number(i, j, tiles())];
}

template <class Exec>
std::size_t TileMatrix<Exec>::copy_bytes(std::int64_t i, std::int64_t j) const {
  return detail::tile_copy_bytes(tiles_->map.at(i, j), rows(i), rows(j));
}

template <class Exec>
void TileMatrix<Exec>::bring(std::int64_t j, TileUsers users) const {
  if (!comm() || !options_.arrived) return;
  std::vector<WholeBlock> blocks;
  auto const send = [&](std::int64_t i, std::int64_t row) {  // to the one that has the row of tiles
    blocks.push_back(
        {i * tile_size_, j * tile_size_, rows(i), rows(j), i == j, static_cast<int>(row % ranks_)});
  };
  std::int64_t const end = users == TileUsers::Diagonal ? j + 1 : tiles();
  for (std::int64_t i = j; i < end; ++i) {
    send(i, i);
    if (users == TileUsers::BothRows && i % ranks_ != j % ranks_) send(i, j);
  }
  options_.arrived->bring(blocks);
}

template <class Exec>
BlockCyclic const* TileMatrix<Exec>::block_cyclic() const {
  return options_.arrived ? &options_.arrived->matrix() : nullptr;
}

template <class Exec>
void TileMatrix<Exec>::generate_tile(
    Exec const& exec, std::int64_t i, std::int64_t j, TileView<Exec> const& tile,
    Kokkos::View<double const*, typename Exec::memory_space> const& scaling) const {
  std::int64_t const row = i * tile_size_, col = j * tile_size_;
  generator_(exec, row, col, tile);
  detail::scale_tile<Exec>(exec, scaling, row, col, matrix_ref(tile));
}

// D from the diagonal tiles; the arrays of a device are copied to and fro.
template <class Exec>
void TileMatrix<Exec>::equilibrate(Exec const& exec) {
  if (n_ == 0) return;
  auto const size = static_cast<std::size_t>(n_), edge = static_cast<std::size_t>(rows(0));
  Vector diagonal, buffer;
  LocalSteps attempt;
  attempt([&] {
    diagonal = allocate_zeros<Vector>(exec, "strata::ooc::tile_matrix::scaling", size);
    buffer = allocate<Vector>(exec, "strata::ooc::tile_matrix::tile", edge * edge);
  });
  for (std::int64_t i = 0; i < tiles(); ++i) {
    bring(i, TileUsers::Diagonal);
    if (!has_row(i)) continue;
    attempt([&] {
      TileView<Exec> const tile(buffer.data(), static_cast<std::size_t>(rows(i)),
                                static_cast<std::size_t>(rows(i)));
      generator_(exec, i * tile_size_, i * tile_size_, tile);
      detail::read_diagonal<Exec>(exec, i * tile_size_, matrix_ref(tile), diagonal);
    });
  }
  attempt([&] {
    Kokkos::deep_copy(exec, HostView<double>(scaling_.data(), size), diagonal);
    exec.fence("strata::ooc::tile_matrix::equilibrate");
  });
  attempt.end(comm());
  if (comm()) comm()->sum(scaling_);  // of one number and zeros
  std::ranges::transform(scaling_, scaling_.begin(), detail::balance);
  if (std::ranges::all_of(scaling_, [](double d) { return d == 1; })) return;
  Kokkos::deep_copy(exec, diagonal, HostView<double>(scaling_.data(), size));
  exec.fence("strata::ooc::tile_matrix::equilibrate");
  device_scaling_ = diagonal;
}

// Norms of all tiles, and the tiles themselves if they are to be kept as they are, in fp64.
template <class Exec>
void TileMatrix<Exec>::measure(Exec const& exec, bool keep) {
  if (n_ == 0) return;
  std::vector<detail::TileMeasure> host(tile_count(tiles()));
  bool const is_even = std::ranges::all_of(scaling_, [&](double d) { return d == scaling_[0]; });
  measure_own(exec, keep, is_even, host);
  gather(host);
  if (comm()) norm_inf_ = comm()->max(norm_inf_);
  if (comm()) given_norm_inf_ = comm()->max(given_norm_inf_);
  together(comm(), [&] {
    take_norms(host);
    STRATA_REQUIRE(ValueError, std::isfinite(given_norm_inf_),
                   "tile matrix: the sum of a row of A overflows; scale A down");
  });
}

// Of the tiles that are on this rank, and of the rows that they are in: a row's magnitudes are added from the
// left to the right, as on one rank, so that its tiles above the diagonal are evaluated here too.
template <class Exec>
void TileMatrix<Exec>::measure_own(Exec const& exec, bool keep, bool is_even,
                                   std::vector<detail::TileMeasure>& host) {
  std::optional<Measuring<Exec>> with;
  LocalSteps attempt;
  attempt([&] { with.emplace(exec, n_, rows(0), is_even, host.size()); });
  auto const look_at = [&](std::int64_t i, std::int64_t j) {
    auto const stored = detail::stored_tile<typename Exec::memory_space>(
        with->buffer.data(), Precision::fp64, rows(i), rows(j));
    TileView<Exec> const tile(static_cast<double*>(stored.data), static_cast<std::size_t>(rows(i)),
                              static_cast<std::size_t>(rows(j)));
    auto* const measure = with->measures.data() + tile_number(i, j, tiles());
    std::int64_t const row = i * tile_size_, col = j * tile_size_;
    generator_(exec, row, col, tile);
    if (!is_even) with->meter(stored, i == j, measure);
    if (!is_even) with->meter.add_absolute_sums(row, col, stored, with->given_sums);
    detail::scale_tile<Exec>(exec, device_scaling_, row, col, stored);
    with->meter(stored, i == j, measure);
    with->meter.add_absolute_sums(row, col, stored, with->sums);
    if (!keep || !has_row(i)) return;
    auto* const trailer = reinterpret_cast<double*>(
        with->buffer.data() + detail::number_bytes(Precision::fp64, rows(i), rows(j)));
    detail::write_trailer<Exec>(exec, Precision::fp64, measure, trailer);
    copy_out(exec, with->buffer.data(), i, j);
  };
  for (std::int64_t j = 0; j < tiles(); ++j) {
    bring(j, TileUsers::BothRows);
    attempt([&] {
      for (std::int64_t i = j; i < tiles(); ++i)
        if (has_row(i) || has_row(j)) look_at(i, j);
    });
  }
  attempt([&] {
    Kokkos::deep_copy(exec, HostView<detail::TileMeasure>(host.data(), host.size()),
                      with->measures);
    exec.fence("strata::ooc::tile_matrix::measure");
    for (std::int64_t i = 0; i < tiles(); ++i) {
      if (has_row(i)) continue;  // of others they are not whole
      std::pair const part(i * tile_size_, i * tile_size_ + rows(i));
      Kokkos::deep_copy(exec, Kokkos::subview(with->sums, part), 0.0);
      if (!is_even) Kokkos::deep_copy(exec, Kokkos::subview(with->given_sums, part), 0.0);
    }
    norm_inf_ = detail::largest(exec, with->sums);
    given_norm_inf_ =
        is_even ? norm_inf_ / scaling_[0] / scaling_[0] : detail::largest(exec, with->given_sums);
  });
  attempt.end(comm());
}

// Of each tile its owner's.
template <class Exec>
void TileMatrix<Exec>::gather(std::vector<detail::TileMeasure>& measures) const {
  if (!comm()) return;
  constexpr std::size_t size = sizeof(detail::TileMeasure) / sizeof(double);
  static_assert(size * sizeof(double) == sizeof(detail::TileMeasure));
  std::vector<double> own;
  for_each_tile_of(rank_, [&](std::size_t tile) {
    own.resize(own.size() + size);
    std::memcpy(&own[own.size() - size], &measures[tile], sizeof(detail::TileMeasure));
  });
  auto const all = comm()->gather(own);
  std::size_t position = 0;
  for (int rank = 0; rank < ranks_; ++rank)
    for_each_tile_of(rank, [&](std::size_t tile) {
      std::memcpy(&measures[tile], &all[position], sizeof(detail::TileMeasure));
      position += size;
    });
}

template <class Exec>
void TileMatrix<Exec>::for_each_tile_of(int rank, std::function<void(std::size_t)> const& f) const {
  for (std::int64_t j = 0; j < tiles(); ++j)
    for (std::int64_t i = j; i < tiles(); ++i)
      if (i % ranks_ == rank) f(tile_number(i, j, tiles()));
}

template <class Exec>
void TileMatrix<Exec>::take_norms(std::vector<detail::TileMeasure> const& measures) {
  norms_.squares.clear();
  norms_.traces.clear();
  digest_ = 0;
  for (std::int64_t j = 0; j < tiles(); ++j) {
    for (std::int64_t i = j; i < tiles(); ++i) {
      auto const& measure = measures[tile_number(i, j, tiles())];
      STRATA_REQUIRE(ValueError, std::isfinite(measure.absolute), "tile matrix: the tile of rows ",
                     i * tile_size_ + 1, " to ", i * tile_size_ + rows(i), " and columns ",
                     j * tile_size_ + 1, " to ", j * tile_size_ + rows(j),
                     " holds a number that is not finite");
      norms_.squares.push_back(measure.square);
      if (i == j) norms_.traces.push_back(measure.trace);
      digest_ += detail::digest_of(measure.digest, tile_number(i, j, tiles()));
    }
  }
  for (std::size_t i = 0; i < scaling_.size(); ++i)
    digest_ += detail::digest_of(std::bit_cast<std::uint64_t>(scaling_[i]), measures.size() + i);
}

// Host memory for the map, in chunks that no tile straddles, each on one node.
template <class Exec>
void TileMatrix<Exec>::allocate_tiles() {
  require_memory(tiles_->map);
  Kokkos::Timer const timer;
  constexpr int any = -1;
  constexpr std::size_t elsewhere = ~std::size_t(0);  // on another rank
  std::vector<std::size_t> sizes, offsets, chunk_of;
  std::vector<int> nodes;
  std::map<int, std::size_t> open;  // the chunk that each node's tiles go to
  report_ = {.bytes = own_bytes(tiles_->map)};
  for (std::int64_t j = 0; j < tiles(); ++j) {
    for (std::int64_t i = j; i < tiles(); ++i) {
      if (!has_row(i)) {
        chunk_of.push_back(elsewhere);
        offsets.push_back(0);
        continue;
      }
      auto const& round = options_.nodes;
      int const node =
          round.empty() ? any : round[static_cast<std::size_t>(i / ranks_) % round.size()];
      std::size_t const bytes = detail::tile_bytes(tiles_->map.at(i, j), rows(i), rows(j));
      auto const found = open.find(node);
      if (found == open.end() || sizes[found->second] + bytes > options_.chunk_bytes) {
        open[node] = sizes.size();
        sizes.push_back(0);
        nodes.push_back(node);
      }
      std::size_t const chunk = open[node];
      chunk_of.push_back(chunk);
      offsets.push_back(sizes[chunk]);
      sizes[chunk] += bytes;
      if (node != any) report_.node_bytes[node] += bytes;
    }
  }
  allocate_chunks(sizes, nodes);
  tiles_->data.clear();
  for (std::size_t t = 0; t < offsets.size(); ++t)
    tiles_->data.push_back(
        chunk_of[t] == elsewhere ? nullptr : tiles_->chunks[chunk_of[t]].data() + offsets[t]);
  report_.chunks = static_cast<std::int64_t>(sizes.size());
  report_.pin_seconds = timer.seconds();
}

// Pinned memory is touched as it is allocated, other memory later.
template <class Exec>
void TileMatrix<Exec>::allocate_chunks(std::vector<std::size_t> const& sizes,
                                       std::vector<int> const& nodes) {
  auto& chunks = tiles_->chunks;
  auto& chunk_nodes = tiles_->chunk_nodes;
  chunks.resize(sizes.size());
  chunk_nodes.resize(sizes.size(), -1);
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    // of the matrix that was here before
    if (chunks[c].size() >= sizes[c] && chunk_nodes[c] == nodes[c]) continue;
    chunks[c] = {};
    try {
      vendor::OnNode const near(nodes[c]);
      chunks[c] = allocate_on_host<HostChunk>("strata::ooc::tile_matrix::chunk", sizes[c]);
    } catch (MemoryError const& failure) {
      throw MemoryError(strata::detail::message(
          "tile matrix: can't allocate ", sizes[c], " of ", report_.bytes,
          " bytes of host memory, the first of chunk ", c + 1, ": ", failure.what()));
    }
    chunk_nodes[c] = nodes[c];
    if constexpr (std::is_same_v<HostMemory, Kokkos::HostSpace>)
      vendor::bind_to_node(chunks[c].data(), sizes[c], nodes[c]);
  }
}

template <class Exec>
void TileMatrix<Exec>::copy_out(Exec const& exec, std::byte* from, std::int64_t i,
                                std::int64_t j) const {
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  Kokkos::View<std::byte*, HostMemory, Unmanaged> const host(data(i, j), copy_bytes(i, j));
  Kokkos::View<std::byte*, typename Exec::memory_space, Unmanaged> const device(from,
                                                                                copy_bytes(i, j));
  Kokkos::deep_copy(exec, host, device);
}

// All tiles once more, rounded to their precisions.
template <class Exec>
void TileMatrix<Exec>::fill(Exec const& exec) {
  if (n_ == 0) return;
  using Space = typename Exec::memory_space;
  std::size_t const bytes = detail::tile_bytes(Precision::fp64, rows(0), rows(0));
  Buffer<Exec> wide, narrow;
  Kokkos::View<detail::TileMeasure*, Space> measure;
  std::optional<detail::TileMeter<Exec>> meter;
  std::optional<LeafBlas<Exec>> blas;
  LocalSteps attempt;
  attempt([&] {
    wide = allocate<Buffer<Exec>>(exec, "strata::ooc::tile_matrix::tile", bytes);
    narrow = allocate<Buffer<Exec>>(exec, "strata::ooc::tile_matrix::rounded", bytes);
    measure = allocate<Kokkos::View<detail::TileMeasure*, Space>>(
        exec, "strata::ooc::tile_matrix::norms", 1);
    meter.emplace(exec, rows(0));
    blas.emplace(exec);
  });
  auto const round = [&](std::int64_t i, std::int64_t j) {
    Precision const precision = tiles_->map.at(i, j);
    auto const tile = detail::stored_tile<Space>(wide.data(), Precision::fp64, rows(i), rows(j));
    auto const stored = detail::stored_tile<Space>(narrow.data(), precision, rows(i), rows(j));
    generate_tile(exec, i, j,
                  TileView<Exec>(static_cast<double*>(tile.data), static_cast<std::size_t>(rows(i)),
                                 static_cast<std::size_t>(rows(j))));
    (*meter)(tile, i == j, measure.data());
    auto* const trailer = reinterpret_cast<double*>(
        narrow.data() + detail::number_bytes(precision, rows(i), rows(j)));
    detail::write_trailer<Exec>(exec, precision, measure.data(), trailer);
    blas->convert(op(i, j), tile, stored);
    copy_out(exec, narrow.data(), i, j);
  };
  for (std::int64_t j = 0; j < tiles(); ++j) {
    bring(j, TileUsers::Owners);
    attempt([&] {
      for (std::int64_t i = j; i < tiles(); ++i)
        if (has_row(i)) round(i, j);
    });
  }
  attempt([&] { exec.fence("strata::ooc::tile_matrix::fill"); });
  attempt.end(comm());
}

template <class Exec>
int device_of(Exec const& exec) {
  return detail::Lane<Exec>::device_of(exec);
}

#define STRATA_INSTANTIATE(Exec)   \
  template class TileMatrix<Exec>; \
  template int device_of<Exec>(Exec const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
