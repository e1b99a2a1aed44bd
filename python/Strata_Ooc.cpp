// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Factors in tiles, which a function of Python's fills.
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/Strata_OocFields.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>
#include <python/detail/Strata_Arrays.hpp>
#include <python/detail/Strata_Bind.hpp>
#include <python/detail/Strata_BindFields.hpp>
#include <python/detail/Strata_Work.hpp>
#include <python/detail/Strata_Worked.hpp>

#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace strata::python {

namespace {

using namespace nb::literals;
using c::Exec;
using detail::In, detail::Kept, detail::Out;
using ooc::TileMatrix, ooc::TileFactor, ooc::TileView;

// The call that the factor works for, which ends its work when nobody waits for it any more.
using Current = std::shared_ptr<detail::Call const*>;

// fill(tile, row, col), a function of Python's, for a tile in host memory.
void ask(PyObject* fill, Current const& current, std::int64_t row, std::int64_t col, double* data,
         std::size_t rows, std::size_t cols, std::int64_t ld) {
  detail::Callback const callback(**current);
  std::int64_t const strides[] = {1, ld};
  std::size_t const shape[] = {rows, cols};
  nb::ndarray<nb::numpy, double> const tile(data, 2, shape, nb::handle(), strides);
  nb::borrow<nb::object>(fill)(nb::cast(tile, nb::rv_policy::reference), row, col);
}

ooc::TileGenerator<Exec> generator(PyObject* fill, Current const& current) {
  return [fill, current](Exec const& exec, std::int64_t row, std::int64_t col,
                         TileView<Exec> const& tile) {
    (*current)->require_wanted();
    exec.fence("strata::python::ooc: the tile is free");
    auto const rows = tile.extent(0), cols = tile.extent(1);
    if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, c::Memory>::accessible) {
      ask(fill, current, row, col, tile.data(), rows, cols,
          static_cast<std::int64_t>(tile.stride(1)));
    } else {
      Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> const host(
          Kokkos::view_alloc(Kokkos::WithoutInitializing, "strata::python::ooc::tile"), rows, cols);
      ask(fill, current, row, col, host.data(), rows, cols,
          static_cast<std::int64_t>(host.stride(1)));
      Kokkos::deep_copy(exec, tile, host);
      exec.fence("strata::python::ooc: the tile is copied");
    }
  };
}

struct Choice {
  ooc::PrecisionRule rule;
  std::int64_t tile_size;
  ooc::Devices devices;
  ooc::TileStorage storage;
  ooc::CholeskyOptions cholesky;

  ooc::TileMatrixOptions matrix() const {
    ooc::TileMatrixOptions options(rule);
    options.storage = storage;
    options.devices = devices;
    return options;
  }
};

struct Tiling {
  Tiling(std::int64_t n, PyObject* fill, Current const& call, Choice const& choice)
      : current(call),
        factor(ooc::cholesky(ooc::DeviceTeam<Exec>(choice.devices),
                             TileMatrix<Exec>::generate(
                                 exec, n,
                                 choice.tile_size != 0 ? choice.tile_size
                                                       : TileMatrix<Exec>::automatic_tile_size(
                                                             n, choice.devices[0].budget_bytes),
                                 generator(fill, current), choice.matrix()),
                             choice.cholesky)) {}

  c::Instance instance = c::new_instance();  // first: it outlives the rest
  Exec exec = *instance;
  Current current;
  TileFactor<Exec> factor;
};

class KeptTileFactor : public detail::Worked<Tiling> {
 public:
  KeptTileFactor(Kept source, std::int64_t n, PyObject* fill, Current const& current,
                 Choice const& choice)
      : Worked(std::in_place, n, fill, current, choice), source_(std::move(source)), order_(n) {
    require_definite(made());
  }
  std::int64_t order() const { return order_; }

  static bool require_definite(Tiling const& work) {
    auto const info = work.factor.info();
    if (!info.ok()) throw NotPositiveDefinite(info.order());
    return true;
  }

 private:
  Kept source_;  // which residuals call again
  std::int64_t order_;
};
using Shared = std::shared_ptr<KeptTileFactor>;

// f(work) on a thread of its own, for what Python's functions take.
template <class Function>
auto work_with(Shared const& factor, Function f) {
  return detail::work_with(factor, detail::long_flops,
                           [f = std::move(f)](Tiling& work, detail::Call& call) {
                             *work.current = &call;
                             return f(work);
                           });
}

Shared cholesky(nb::object const& fill, std::int64_t n, double accuracy,
                std::string const& precisions, std::int64_t tile_size, int devices,
                std::size_t budget_bytes, std::string const& storage, std::string const& variant,
                int streams, std::string const& checkpoint, bool ladder) {
  Choice choice;
  choice.rule.accuracy = accuracy;
  auto const list = dense::LayerList::parse(precisions);
  choice.rule.precisions.assign(list.begin(), list.end());
  choice.tile_size = tile_size;
  STRATA_REQUIRE(ValueError, devices >= 1, "devices is ", devices, ", must be at least 1");
  choice.devices = ooc::make_devices(devices, budget_bytes);
  choice.storage = from_name<ooc::TileStorage>(storage);
  choice.cholesky.variant = from_name<ooc::Variant>(variant);
  choice.cholesky.streams = streams;
  choice.cholesky.ladder = ladder;
  choice.cholesky.checkpoint.folder = checkpoint;
  auto const current = std::make_shared<detail::Call const*>();
  choice.cholesky.on_task = [current](ooc::Task const&) { (*current)->require_wanted(); };
  return detail::run(detail::long_flops,
                     [kept = Kept(fill), n, f = fill.ptr(), current, choice](detail::Call& call) {
                       *current = &call;
                       return std::make_shared<KeptTileFactor>(kept, n, f, current, choice);
                     });
}

dense::SolveReport solve(Shared const& factor, In const& B, Out const& X, double tolerance) {
  auto const b = detail::require_stored("b", B);
  auto const x = detail::require_stored("out", X);
  dense::RefinementOptions options;
  options.tolerance = tolerance;
  return work_with(factor, [kept = Kept(B, X), b, x, options](Tiling& work) {
    auto const& exec = work.exec;
    detail::Columns<double const> const right(exec, b, c::Part::All);
    detail::Columns<double> const solution(exec, x, c::Part::None);
    auto const report = work.factor.solve(exec, right.view(), solution.view(), options);
    solution.write_back(exec);
    exec.fence("strata::python::ooc::solve: X is written");
    KeptTileFactor::require_definite(work);
    return report;
  });
}

dense::LogDeterminantEstimate log_determinant(Shared const& factor, int probes, int steps,
                                              std::uint64_t seed) {
  dense::LogDeterminantOptions const options{.probes = probes, .steps = steps, .seed = seed};
  return work_with(
      factor, [options](Tiling& work) { return work.factor.log_determinant(work.exec, options); });
}

}  // namespace

void bind_ooc(nb::module_& m) {
  detail::bind_described<ooc::CholeskyAttempt>(m, "TileAttempt",
                                               "One factorisation that was tried.");
  detail::bind_described<ooc::CholeskyReport>(m, "TileFactorReport",
                                              "What was done to a matrix in tiles.");
  nb::class_<KeptTileFactor>(m, "TileFactor", "A Cholesky factor in tiles.")
      .def_prop_ro("order", &KeptTileFactor::order)
      .def_prop_ro("info",
                   [](Shared const& f) {
                     return detail::answer(f,
                                           [](Tiling& work) { return work.factor.info().order(); });
                   })
      .def_prop_ro("report",
                   [](Shared const& f) {
                     return detail::answer(f, [](Tiling& work) { return work.factor.report(); });
                   })
      .def_prop_ro("storage",
                   [](Shared const& f) {
                     return detail::answer(f, [](Tiling& work) {
                       return detail::name(work.factor.matrix().storage());
                     });
                   })
      .def("solve", &solve, "b"_a.noconvert(), "out"_a.noconvert(), "tolerance"_a)
      .def("log_determinant", &log_determinant, "probes"_a, "steps"_a, "seed"_a);
  m.def("tile_cholesky", &cholesky, "fill"_a, "n"_a, "accuracy"_a, "precisions"_a, "tile_size"_a,
        "devices"_a, "budget_bytes"_a, "storage"_a, "variant"_a, "streams"_a, "checkpoint"_a,
        "ladder"_a);
}

}  // namespace strata::python
