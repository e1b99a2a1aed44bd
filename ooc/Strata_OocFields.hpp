// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_OOC_FIELDS_HPP
#define STRATA_OOC_OOC_FIELDS_HPP

#include <comm/Strata_Transport.hpp>
#include <core/Strata_Fields.hpp>
#include <dense/tree/Strata_Layers.hpp>
#include <ooc/Strata_CholeskyOptions.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace strata::ooc {

/// Numbers of tiles by their precision.
struct TileCounts {
  std::array<std::int64_t, 4> of{};  ///< In fp64, fp32, fp16 and fp8_e4m3.
};
/// What is told of them.
constexpr auto fields_of(TileCounts const*) {
  using T = TileCounts;
  return std::tuple(
      Field(
          "fp64", [](T const& t) { return t.of[0]; }, "Number of tiles in fp64."),
      Field(
          "fp32", [](T const& t) { return t.of[1]; }, "Number of tiles in fp32."),
      Field(
          "fp16", [](T const& t) { return t.of[2]; }, "Number of tiles in fp16."),
      Field("fp8_e4m3", [](T const& t) { return t.of[3]; }, "Number of tiles in fp8."));
}

/// What is told of a device.
constexpr auto fields_of(DeviceReport const*) {
  using D = DeviceReport;
  return std::tuple(
      Field("id", &D::id, "Number of the GPU, or of the worker."),
      Field("pool_bytes", &D::budget_bytes, "Memory for tiles.", {.unit = "byte"}),
      Field("bytes_in", &D::bytes_in, "Bytes from the host.", {.unit = "byte"}),
      Field("bytes_out", &D::bytes_out, "Bytes to the host.", {.unit = "byte"}),
      Field("bytes_peer", &D::bytes_peer, "Bytes from other devices.", {.unit = "byte"}),
      Field("hits", &D::hits, "Number of tiles looked for that were there."),
      Field("misses", &D::misses, "Number of tiles looked for that were not there."),
      Field("evictions", &D::evictions, "Number of tiles given up for others."));
}

/// What is told of an attempt.
constexpr auto fields_of(CholeskyAttempt const*) {
  using A = CholeskyAttempt;
  return std::tuple(
      Field("rung", &A::rung, "Rung of the ladder."),
      Field("accuracy", &A::accuracy, "Accuracy of the precision rule; 0: fp64, or layers.",
            {.key = "epsilon", .schema = R"("minimum": 0)"}),
      Field("layers",
            [](A const& a) -> std::optional<std::string> {
              if (a.layers.empty()) return std::nullopt;
              return dense::LayerList(a.layers).name();
            },
            "Layers that were tried, outermost block first.",
            {.absent = "none were asked for", .told = Told::InDocuments}),
      Field("tiles", [](A const& a) { return TileCounts{a.histogram}; },
            "Tiles of the lower triangle, by precision.", {.told = Told::InDocuments}),
      Field("tiles", &A::histogram, "Numbers of tiles in fp64, fp32, fp16 and fp8_e4m3.",
            {.told = Told::InPython}),
      Field("outcome", &A::outcome, "What became of the attempt.", {.told = Told::InPython}),
      Field("info", &A::info, "0, or the order of the minor that was not positive."),
      Field("fill_seconds", &A::fill_seconds, "Time to fill the tiles.", {.unit = "s"}),
      Field("factor_seconds", &A::factor_seconds, "Time to factor them.", {.unit = "s"}),
      Field("seconds", &A::factor_seconds, "Time to factor them, as factor_seconds.",
            {.unit = "s", .told = Told::InDocuments}),
      Field("seconds", &A::seconds, "Time to fill and factor the tiles.",
            {.unit = "s", .told = Told::InPython}));
}

/// What is told of a factorisation.
constexpr auto fields_of(CholeskyReport const*) {
  using R = CholeskyReport;
  return std::tuple(
      Field("n", &R::n, "Order of the matrix.", {.told = Told::InPython}),
      Field("tiles", [](R const& r) { return TileCounts{r.histogram}; },
            "Tiles of the lower triangle, by precision.", {.told = Told::InDocuments}),
      Field("tiles", &R::histogram, "Numbers of tiles in fp64, fp32, fp16 and fp8_e4m3.",
            {.told = Told::InPython}),
      Field("moduli", &R::moduli,
            "Numbers modulo which the products of fp64's tiles were made; 0: they were fp64's."),
      Field("moduli_tiles", &R::moduli_histogram,
            "Numbers of tiles whose products took 6, 7, ..., 16 of them.",
            {.schema = R"("minItems": 11, "maxItems": 11)"}),
      Field("tile_size", &R::tile_size, "Number of rows of a tile."),
      Field("rung", &R::rung, "Rung of the ladder of accuracies that held, or was the last."),
      Field("attempts", &R::attempts, "Rungs that were tried, in order."),
      FieldGroup{"schedule", "How the factorisation was scheduled."},
      Field("variant", &R::variant, "Variant of the algorithm: what is kept on a device.",
            {.key = "schedule/variant"}),
      Field("streams", &R::streams, "Number of streams of each device.",
            {.key = "schedule/streams"}),
      Field("column_block", &R::column_block,
            "Number of columns of tiles that were factored together.",
            {.key = "schedule/column_block"}),
      Field("first_column", &R::first_column,
            "First column of tiles that was factored: the columns before were in the checkpoint.",
            {.key = "schedule/first_column"}),
      Field("grid", [](R const& r) { return std::array{r.grid_rows, r.grid_cols}; },
            "Rows and columns of the grid of ranks.",
            {.key = "schedule/grid", .schema = R"("minItems": 2, "maxItems": 2)"}),
      Field("super_panel", &R::super_panel,
            "Number of columns of tiles of a super-panel; 0: whole tasks.",
            {.key = "schedule/super_panel"}),
      Field("transport", &R::transport, "How tiles travelled between ranks.",
            {.key = "schedule/transport"}),
      Field("devices", &R::devices, "What each device of this rank moved.",
            {.told = Told::InDocuments}),
      FieldGroup{"bytes", "Memory, and what was moved by the last attempt."},
      Field("bytes_in", &R::bytes_in, "Bytes from the host to all devices.",
            {.key = "bytes/in", .unit = "byte"}),
      Field("bytes_out", &R::bytes_out, "Bytes from all devices to the host.",
            {.key = "bytes/out", .unit = "byte"}),
      Field("bytes_peer", &R::bytes_peer, "Bytes between devices.",
            {.key = "bytes/peer", .unit = "byte"}),
      Field("bytes_sent", &R::bytes_sent, "Bytes to other ranks.",
            {.key = "bytes/sent", .unit = "byte"}),
      Field("bytes_received", &R::bytes_received, "Bytes from other ranks.",
            {.key = "bytes/received", .unit = "byte"}),
      Field("room_bytes", &R::room_bytes, "Memory for tiles of other ranks.",
            {.key = "bytes/room", .unit = "byte"}),
      Field("factor_seconds", &R::factor_seconds, "Time of the last attempt.",
            {.unit = "s", .told = Told::InPython}),
      Field("flop_per_s", &R::flop_per_s, "Rate of the last attempt, by n^3/3 flops.",
            {.unit = "flop/s", .told = Told::InPython}));
}

}  // namespace strata::ooc

#endif
