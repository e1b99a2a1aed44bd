// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <ooc/team/detail/Strata_TileKernels.hpp>

#include <utility>

namespace strata::ooc {

template <class Exec>
TileMatrix<Exec>::TileMatrix(std::int64_t n, std::int64_t tile_size, Generator const& generator)
    : Store(n, tile_size), generator_(generator) {
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
  this->deal(options);
  generate_seconds_ = 0;
  generator_ = generator;
  source_ = {};
  exec_ = exec;
  rule_ = options.rule;
  is_equilibrated_ = options.equilibrate;
  is_anywhere_ = options.anywhere;
  on_progress_ = options.on_progress;
  arrived_ = options.arrived;
  name_bad_alloc("tile matrix", [&] { evaluate(); });
  this->set_state(State::Filled);
}

// All tiles from the generator, by the options.
template <class Exec>
void TileMatrix<Exec>::evaluate() {
  scaling_.assign(static_cast<std::size_t>(order()), 1.0);
  device_scaling_ = {};
  bool const mixed = rule_.may_round();
  this->set_map(PrecisionMap(tiles()));
  if (!mixed) this->take_memory(this->may_be_on_devices());  // refuses before any work
  Kokkos::Timer const timer;
  if (is_equilibrated_) equilibrate(exec_);
  measure(exec_, !mixed);
  this->set_state(State::Measured);
  double const measured = timer.seconds();
  if (rule_.may_mix()) this->set_map(precision_map(norms_, rule_));
  if (mixed) this->take_memory(this->may_be_on_devices());
  Kokkos::Timer const again;
  if (mixed) fill(exec_, 0.5);
  generate_seconds_ = measured + again.seconds();
}

template <class Exec>
void TileMatrix<Exec>::round_anew(PrecisionRule const& rule) {
  Region const region(exec_, "strata::ooc::tile_matrix::round_anew");
  STRATA_REQUIRE(ValueError, this->state() != State::None,
                 "tile matrix: there is no matrix to round, since an exception left none");
  PrecisionMap map = precision_map(norms_, rule);
  together(comm(), [&] { this->require_memory(map); });
  this->overwrite();
  this->set_map(std::move(map));
  rule_ = rule;
  generate_seconds_ = 0;
  name_bad_alloc("tile matrix", [&] {
    this->take_memory(storage() == TileStorage::Devices);  // what went to the host stays there
    Kokkos::Timer const timer;
    fill(exec_, 0);
    generate_seconds_ = timer.seconds();
  });
  this->set_state(State::Filled);
}

template <class Exec>
TileMatrixReport TileMatrix<Exec>::report() const {
  return {this->store_report(), generate_seconds_};
}

template <class Exec>
std::uint64_t TileMatrix<Exec>::hash() const {
  return detail::digest_of(digest_, this->map().hash());
}

template <class Exec>
void TileMatrix<Exec>::generate_tile(
    Exec const& exec, std::int64_t i, std::int64_t j, TileView<Exec> const& tile,
    Kokkos::View<double const*, typename Exec::memory_space> const& scaling) const {
  std::int64_t const row = i * tile_size(), col = j * tile_size();
  generator_(exec, row, col, tile);
  detail::scale_tile<Exec>(exec, scaling, row, col, matrix_ref(tile));
}

#define STRATA_INSTANTIATE(Exec) template class TileMatrix<Exec>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
