// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_BlockCyclic.hpp>
#include <comm/Strata_Together.hpp>
#include <core/blas/Strata_LeafBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <ooc/team/detail/Strata_Lane.hpp>
#include <ooc/team/detail/Strata_TileKernels.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>
#include <ooc/tiles/detail/Strata_ArrivedTiles.hpp>
#include <ooc/tiles/detail/Strata_DeviceTiles.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

// The passes over the generator: scales, norms, and the tiles themselves.
namespace strata::ooc {

namespace {

// Host memory of a View, for copies.
template <class T>
using HostView = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class Exec>
using Buffer = Kokkos::View<std::byte*, typename Exec::memory_space>;

// Sums of the magnitudes of each row. Its tiles are added from left to right, then the tiles below
// the diagonal one downwards: the same bits whoever evaluated them.
template <class Exec>
struct RowSums {
  using Vector = Kokkos::View<double*, typename Exec::memory_space>;
  RowSums(Exec const& exec, std::int64_t n, std::int64_t edge)
      : sums(allocate_zeros<Vector>(exec, "strata::ooc::tile_matrix::sums", n)),
        terms(allocate_zeros<Vector>(exec, "strata::ooc::tile_matrix::terms", n + edge)),
        host_terms(allocate_on_host<decltype(host_terms)>("strata::ooc::tile_matrix::host_terms",
                                                          n + edge)) {}
  Vector sums, terms;  // terms: a column's sums of each tile below the diagonal one
  Kokkos::View<double*, Kokkos::HostSpace> host_terms;
};

// Where `exec` works: a tile, and the measures of all.
template <class Exec>
struct Measuring {
  using Measures = Kokkos::View<detail::TileMeasure*, typename Exec::memory_space>;
  Measuring(Exec const& exec, std::int64_t n, std::int64_t edge, bool is_even, std::size_t tiles)
      : buffer(allocate<Buffer<Exec>>(exec, "strata::ooc::tile_matrix::tile",
                                      tile_bytes(Precision::fp64, edge, edge))),
        of_given(exec, is_even ? 0 : n, is_even ? 0 : edge),
        of_scaled(exec, n, edge),
        measures(allocate<Measures>(exec, "strata::ooc::tile_matrix::norms", tiles)),
        meter(exec, edge) {}
  Buffer<Exec> buffer;
  RowSums<Exec> of_given,
      of_scaled;  // of A, where they are not those of H up to a factor, and of H
  Measures measures;
  detail::TileMeter<Exec> meter;
};

// The terms of row j, of the tiles below the diagonal one, go to the rank that makes it.
template <class Exec>
void pass_terms(Exec const& exec, TileMatrix<Exec> const& matrix, std::int64_t j,
                RowSums<Exec> const& of, LocalSteps& attempt) {
  Communicator const* const comm = matrix.comm();
  auto const nb = static_cast<std::size_t>(matrix.tile_size());
  auto const position = [&](std::int64_t i) { return static_cast<std::size_t>(i) * nb; };
  std::int64_t const below = matrix.tiles() - j - 1;
  if (below == 0) return;
  if (comm && comm->size() > 1) {
    std::pair const part(position(j + 1), of.terms.extent(0));
    auto const here = Kokkos::subview(of.terms, part);
    auto const host = Kokkos::subview(of.host_terms, part);
    attempt([&] {
      Kokkos::deep_copy(exec, host, here);
      exec.fence("strata::ooc::tile_matrix::terms");
    });
    int const rank = comm->rank(), to = matrix.maker_of_row(j);
    for (std::int64_t i = j + 1; i < matrix.tiles(); ++i) {
      int const from = matrix.maker_of_row(i);
      if (from == to) continue;
      std::span<double> const nothing,
          terms(of.host_terms.data() + position(i), static_cast<std::size_t>(matrix.rows(j)));
      comm->send_receive(rank == from ? terms : nothing, to, rank == to ? terms : nothing, from);
    }
    if (rank != to) return;
    attempt([&] { Kokkos::deep_copy(exec, here, host); });
  }
  attempt([&] {
    detail::add_in_order(exec, matrix.rows(j), 1, of.terms.data() + position(j + 1), below,
                         matrix.tile_size(), of.sums.data() + position(j));
  });
}

}  // namespace

namespace detail {

// Where `exec` works: a tile as it is made, and as it is rounded.
template <class Exec>
struct Rounder {
  Rounder(Exec const& where, std::int64_t edge)
      : exec(where),
        wide(allocate<Buffer<Exec>>(exec, "strata::ooc::tile_matrix::tile",
                                    tile_bytes(Precision::fp64, edge, edge))),
        narrow(allocate<Buffer<Exec>>(exec, "strata::ooc::tile_matrix::rounded",
                                      tile_bytes(Precision::fp64, edge, edge))),
        measure(allocate<Kokkos::View<detail::TileMeasure*, typename Exec::memory_space>>(
            exec, "strata::ooc::tile_matrix::norms", 1)),
        meter(exec, edge),
        blas(exec) {}
  Exec exec;
  Buffer<Exec> wide, narrow;
  Kokkos::View<detail::TileMeasure*, typename Exec::memory_space> measure;
  detail::TileMeter<Exec> meter;
  LeafBlas<Exec> blas;
  Kokkos::View<double const*, typename Exec::memory_space> scaling;  // there
};

}  // namespace detail

template <class Exec>
void TileMatrix<Exec>::bring(std::int64_t j, TileUsers users) const {
  if (!comm() || !arrived_) return;
  std::vector<WholeBlock> blocks;
  std::int64_t const end = users == TileUsers::Diagonal ? j + 1 : tiles();
  for (std::int64_t i = j; i < end; ++i) {
    std::set<int> to;
    if (users != TileUsers::Owners) to.insert(maker_of_row(i));
    if (users == TileUsers::Owners || users == TileUsers::All) to.insert(owner(i, j));
    for (int const rank : to)
      blocks.push_back({i * tile_size(), j * tile_size(), rows(i), rows(j), i == j, rank});
  }
  arrived_->bring(blocks);
}

template <class Exec>
BlockCyclic const* TileMatrix<Exec>::block_cyclic() const {
  return arrived_ ? &arrived_->matrix() : nullptr;
}

// D from the diagonal tiles; the arrays of a device are copied to and fro.
template <class Exec>
void TileMatrix<Exec>::equilibrate(Exec const& exec) {
  if (order() == 0) return;
  auto const size = static_cast<std::size_t>(order()), edge = static_cast<std::size_t>(rows(0));
  Vector diagonal, buffer;
  LocalSteps attempt;
  attempt([&] {
    diagonal = allocate_zeros<Vector>(exec, "strata::ooc::tile_matrix::scaling", size);
    buffer = allocate<Vector>(exec, "strata::ooc::tile_matrix::tile", edge * edge);
  });
  for (std::int64_t i = 0; i < tiles(); ++i) {
    bring(i, TileUsers::Diagonal);
    if (!makes_row(i)) continue;
    attempt([&] {
      TileView<Exec> const tile(buffer.data(), static_cast<std::size_t>(rows(i)),
                                static_cast<std::size_t>(rows(i)));
      generator_(exec, i * tile_size(), i * tile_size(), tile);
      detail::read_diagonal<Exec>(exec, i * tile_size(), matrix_ref(tile), diagonal);
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
  if (order() == 0) return;
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

// Norms of the tiles in the rows that this rank makes. It keeps the tiles that it has.
template <class Exec>
void TileMatrix<Exec>::measure_own(Exec const& exec, bool keep, bool is_even,
                                   std::vector<detail::TileMeasure>& host) {
  std::optional<Measuring<Exec>> with;
  together(comm(), [&] { with.emplace(exec, order(), rows(0), is_even, host.size()); });
  LocalSteps attempt;
  auto const look_at = [&](std::int64_t i, std::int64_t j) {
    auto const stored = detail::stored_tile<typename Exec::memory_space>(
        with->buffer.data(), Precision::fp64, rows(i), rows(j));
    TileView<Exec> const tile(static_cast<double*>(stored.data), static_cast<std::size_t>(rows(i)),
                              static_cast<std::size_t>(rows(j)));
    auto* const measure = with->measures.data() + tile_number(i, j, tiles());
    std::int64_t const row = i * tile_size(), col = j * tile_size();
    generator_(exec, row, col, tile);
    auto const add_sums = [&](RowSums<Exec> const& of) {
      double* const row_sums = of.sums.data() + row;
      with->meter.add_absolute_sums(stored, row_sums, i == j ? row_sums : of.terms.data() + row);
    };
    if (!is_even) with->meter(stored, i == j, measure);
    if (!is_even) add_sums(with->of_given);
    detail::scale_tile<Exec>(exec, device_scaling_, row, col, stored);
    with->meter(stored, i == j, measure);
    add_sums(with->of_scaled);
    if (!keep || !has_tile(i, j)) return;
    auto* const trailer = reinterpret_cast<double*>(
        with->buffer.data() + number_bytes(Precision::fp64, rows(i), rows(j)));
    detail::write_trailer<Exec>(exec, Precision::fp64, measure, trailer);
    copy_out(exec, with->buffer.data(), i, j);
  };
  for (std::int64_t j = 0; j < tiles(); ++j) {
    bring(j, keep ? TileUsers::All : TileUsers::Makers);
    attempt([&] {
      for (std::int64_t i = j; i < tiles(); ++i) {
        if (makes_row(i) || (keep && has_tile(i, j))) look_at(i, j);
        tell_filled(i, j, 0, keep ? 1 : 0.5);
      }
    });
    if (!is_even) pass_terms(exec, *this, j, with->of_given, attempt);
    pass_terms(exec, *this, j, with->of_scaled, attempt);
  }
  attempt([&] {
    Kokkos::deep_copy(exec, HostView<detail::TileMeasure>(host.data(), host.size()),
                      with->measures);
    exec.fence("strata::ooc::tile_matrix::measure");
    for (std::int64_t i = 0; i < tiles(); ++i) {
      if (makes_row(i)) continue;  // of others they are not whole
      std::pair const part(i * tile_size(), i * tile_size() + rows(i));
      Kokkos::deep_copy(exec, Kokkos::subview(with->of_scaled.sums, part), 0.0);
      if (!is_even) Kokkos::deep_copy(exec, Kokkos::subview(with->of_given.sums, part), 0.0);
    }
    norm_inf_ = detail::largest(exec, with->of_scaled.sums);
    given_norm_inf_ = is_even ? norm_inf_ / scaling_[0] / scaling_[0]
                              : detail::largest(exec, with->of_given.sums);
  });
  attempt.end(comm());
}

// Takes for each tile what the maker of its row has found.
template <class Exec>
void TileMatrix<Exec>::gather(std::vector<detail::TileMeasure>& measures) const {
  if (!comm()) return;
  constexpr std::size_t size = sizeof(detail::TileMeasure) / sizeof(double);
  static_assert(size * sizeof(double) == sizeof(detail::TileMeasure));
  std::vector<double> own;
  for_each_tile_in_rows_of(this->rank(), [&](std::size_t tile) {
    own.resize(own.size() + size);
    std::memcpy(&own[own.size() - size], &measures[tile], sizeof(detail::TileMeasure));
  });
  auto const all = comm()->gather(own);
  std::size_t position = 0;
  for (int rank = 0; rank < this->grid().ranks(); ++rank)
    for_each_tile_in_rows_of(rank, [&](std::size_t tile) {
      std::memcpy(&measures[tile], &all[position], sizeof(detail::TileMeasure));
      position += size;
    });
}

template <class Exec>
void TileMatrix<Exec>::for_each_tile_in_rows_of(int rank,
                                                std::function<void(std::size_t)> const& f) const {
  for (std::int64_t j = 0; j < tiles(); ++j)
    for (std::int64_t i = j; i < tiles(); ++i)
      if (maker_of_row(i) == rank) f(tile_number(i, j, tiles()));
}

template <class Exec>
void TileMatrix<Exec>::take_norms(std::vector<detail::TileMeasure> const& measures) {
  norms_.squares.clear();
  norms_.traces.clear();
  digest_ = 0;
  for (std::int64_t j = 0; j < tiles(); ++j)
    for (std::int64_t i = j; i < tiles(); ++i) {
      auto const& measure = measures[tile_number(i, j, tiles())];
      STRATA_REQUIRE(ValueError, std::isfinite(measure.absolute), "tile matrix: the tile of rows ",
                     i * tile_size() + 1, " to ", i * tile_size() + rows(i), " and columns ",
                     j * tile_size() + 1, " to ", j * tile_size() + rows(j),
                     " holds a number that is not finite");
      norms_.squares.push_back(measure.square);
      if (i == j) norms_.traces.push_back(measure.trace);
      digest_ += detail::digest_of(measure.digest, tile_number(i, j, tiles()));
    }
  for (std::size_t i = 0; i < scaling_.size(); ++i)
    digest_ += detail::digest_of(std::bit_cast<std::uint64_t>(scaling_[i]), measures.size() + i);
}

template <class Exec>
void TileMatrix<Exec>::copy_out(Exec const& exec, std::byte* from, std::int64_t i,
                                std::int64_t j) const {
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  using OnDevice = Kokkos::View<std::byte*, typename Exec::memory_space, Unmanaged>;
  OnDevice const made(from, this->copy_bytes(i, j));
  if (storage() == TileStorage::Devices)
    return Kokkos::deep_copy(exec, OnDevice(data(i, j), this->copy_bytes(i, j)), made);
  Kokkos::View<std::byte*, HostMemory, Unmanaged> const host(data(i, j), this->copy_bytes(i, j));
  Kokkos::deep_copy(exec, host, made);
}

// A pass that is from `begin` to `end` of the filling has come to tile (i, j).
template <class Exec>
void TileMatrix<Exec>::tell_filled(std::int64_t i, std::int64_t j, double begin, double end) const {
  if (!on_progress_) return;
  auto const done = static_cast<double>(tile_number(i, j, tiles()) + 1);
  on_progress_(begin + (end - begin) * done / static_cast<double>(tile_count(tiles())));
}

// What rounds tiles: one where `exec` works, or each of several devices its own.
template <class Exec>
void TileMatrix<Exec>::make_rounders(Exec const& exec,
                                     std::deque<detail::Rounder<Exec>>& rounders) const {
  bool const apart = storage() == TileStorage::Devices && is_anywhere_;
  if (!apart) {
    rounders.emplace_back(exec, rows(0)).scaling = device_scaling_;
    return;
  }
  for (std::size_t d = 0; d < this->devices().size(); ++d) {
    detail::Lane<Exec>::enter(this->devices()[d].id);
    auto& rounder = rounders.emplace_back(this->exec_on(d), rows(0));
    if (device_scaling_.extent(0) == 0) continue;
    auto const scaling =
        allocate<Vector>(rounder.exec, "strata::ooc::tile_matrix::scaling", scaling_.size());
    Kokkos::deep_copy(rounder.exec, scaling,
                      HostView<double const>(scaling_.data(), scaling_.size()));
    rounder.scaling = scaling;
  }
}

// All tiles once more, rounded to their precisions: from `begin` on of the filling.
template <class Exec>
void TileMatrix<Exec>::fill(Exec const& exec, double begin) {
  if (order() == 0) return;
  using Space = typename Exec::memory_space;
  typename detail::Lane<Exec>::Visit const visit;
  std::deque<detail::Rounder<Exec>> rounders;
  LocalSteps attempt;
  attempt([&] { make_rounders(exec, rounders); });
  auto const round = [&](std::int64_t i, std::int64_t j) {
    bool const apart = rounders.size() > 1;
    auto& with = rounders[apart ? this->device_index_of_row(i) : 0];
    if (apart) detail::Lane<Exec>::enter(this->device_of_row(i));
    Precision const precision = this->map().at(i, j);
    auto const tile =
        detail::stored_tile<Space>(with.wide.data(), Precision::fp64, rows(i), rows(j));
    auto const stored = detail::stored_tile<Space>(with.narrow.data(), precision, rows(i), rows(j));
    generate_tile(with.exec, i, j,
                  TileView<Exec>(static_cast<double*>(tile.data), static_cast<std::size_t>(rows(i)),
                                 static_cast<std::size_t>(rows(j))),
                  with.scaling);
    with.meter(tile, i == j, with.measure.data());
    auto* const trailer =
        reinterpret_cast<double*>(with.narrow.data() + number_bytes(precision, rows(i), rows(j)));
    detail::write_trailer<Exec>(with.exec, precision, with.measure.data(), trailer);
    with.blas.convert(op(i, j), tile, stored);
    copy_out(with.exec, with.narrow.data(), i, j);
  };
  for (std::int64_t j = 0; j < tiles(); ++j) {
    bring(j, TileUsers::Owners);
    attempt([&] {
      for (std::int64_t i = j; i < tiles(); ++i) {
        if (has_tile(i, j)) round(i, j);
        tell_filled(i, j, begin, 1);
      }
    });
  }
  attempt([&] {
    for (auto const& rounder : rounders) rounder.exec.fence("strata::ooc::tile_matrix::fill");
  });
  attempt.end(comm());
}

#define STRATA_INSTANTIATE(Exec)                                        \
  template void TileMatrix<Exec>::bring(std::int64_t, TileUsers) const; \
  template BlockCyclic const* TileMatrix<Exec>::block_cyclic() const;   \
  template void TileMatrix<Exec>::equilibrate(Exec const&);             \
  template void TileMatrix<Exec>::measure(Exec const&, bool);           \
  template void TileMatrix<Exec>::fill(Exec const&, double);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
