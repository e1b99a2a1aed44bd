// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/hpgmxp/Strata_HpgmxpModel.hpp>

#include <chrono>
#include <string_view>
#include <utility>

namespace strata::sparse {
namespace {

// None lies in another.
constexpr std::pair<std::string_view, Motif> motifs_of_regions[] = {
    {"strata::sparse::DistributedMatrix::multiply", Motif::Multiply},
    {"strata::sparse::DistributedMatrix::residual", Motif::Multiply},
    {"strata::sparse::DistributedMatrix::gauss_seidel", Motif::GaussSeidel},
    {"strata::sparse::DistributedMatrix::restrict_residual", Motif::Restrict},
    {"strata::sparse::prolong", Motif::Prolong},
    {"strata::sparse::KrylovBasis::orthogonalise", Motif::Orthogonalise},
    {"strata::sparse::KrylovBasis::start", Motif::Update},
    {"strata::sparse::KrylovBasis::combine", Motif::Update},
    {"strata::sparse::OuterIteration::norms", Motif::Update},
    {"strata::sparse::OuterIteration::begin_cycle", Motif::Update},
    {"strata::sparse::add", Motif::Update}};

struct Size {
  double n, N;
  explicit Size(LevelSize const& level)
      : n(static_cast<double>(level.rows)), N(static_cast<double>(level.entries)) {}
};

}  // namespace

PerMotif motif_seconds(std::vector<RecordedSpan> const& spans) {
  PerMotif seconds;
  for (auto const& span : spans) {
    std::string_view const name(span.name), region = name.substr(0, name.find(','));
    for (auto const& [of_motif, motif] : motifs_of_regions)
      if (region == of_motif)
        seconds[motif] += std::chrono::duration<double>(span.end - span.start).count();
  }
  return seconds;
}

PerMotif multigrid_flops(std::vector<LevelSize> const& levels, FlopCount count) {
  PerMotif flops;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    Size const fine(levels[l]);
    bool const last = l + 1 == levels.size();
    if (count == FlopCount::Reference) {  // two sweeps and a residual everywhere
      flops[Motif::GaussSeidel] += 4 * fine.N;
      flops[Motif::Restrict] += 2 * fine.N;
    } else if (last) {
      flops[Motif::GaussSeidel] += 2 * fine.N;
    } else {
      Size const coarse(levels[l + 1]);
      flops[Motif::GaussSeidel] += 3 * fine.N;
      flops[Motif::Restrict] += 2 * coarse.N;
      flops[Motif::Prolong] += coarse.n;
    }
  }
  return flops;
}

PerMotif multigrid_bytes(std::vector<LevelSize> const& levels, StorageBytes const& storage) {
  PerMotif bytes;
  double const entry = storage.value + storage.index, s = storage.scalar;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    Size const fine(levels[l]);
    // From zero: the entries up to the diagonal; r in, x out.
    bytes[Motif::GaussSeidel] += entry * (fine.N + fine.n) / 2 + 2 * s * fine.n;
    if (l + 1 == levels.size()) break;
    Size const coarse(levels[l + 1]);
    bytes[Motif::GaussSeidel] += entry * fine.N + 3 * s * fine.n;
    bytes[Motif::Restrict] += entry * coarse.N + s * fine.n + (2 * s + storage.index) * coarse.n;
    bytes[Motif::Prolong] += (3 * s + storage.index) * coarse.n;
  }
  return bytes;
}

PerMotif cycle_flops(std::vector<LevelSize> const& levels, int m, FlopCount count) {
  PerMotif flops;
  if (levels.empty()) return flops;
  Size const fine(levels.front());
  auto const once = multigrid_flops(levels, count);
  for (auto const motif : {Motif::GaussSeidel, Motif::Restrict, Motif::Prolong})
    flops[motif] = (m + 1) * once[motif];
  flops[Motif::Multiply] = 2 * fine.N * (m + 1);
  flops[Motif::Orthogonalise] = 4 * fine.n * m * (m + 1.0) + 3 * fine.n * m;
  flops[Motif::Update] = (7 + 2.0 * m) * fine.n;
  return flops;
}

PerMotif cycle_bytes(std::vector<LevelSize> const& levels, int m, StorageBytes const& storage) {
  PerMotif bytes;
  if (levels.empty()) return bytes;
  Size const fine(levels.front());
  double const s = storage.scalar, wide = 8;
  auto const once = multigrid_bytes(levels, storage);
  for (auto const motif : {Motif::GaussSeidel, Motif::Restrict, Motif::Prolong})
    bytes[motif] = (m + 1) * once[motif];
  bytes[Motif::Multiply] = m * ((storage.value + storage.index) * fine.N + 2 * s * fine.n) +
                           (storage.outer_value + storage.index) * fine.N + 3 * wide * fine.n;
  // k vectors in three passes, w in, in and out twice, and scaled; a narrower basis is written besides
  double const q = storage.basis, kept = q == s ? 0 : q;
  bytes[Motif::Orthogonalise] = fine.n * (3.0 * q * m * (m + 1) / 2 + (7.0 * s + kept) * m);
  bytes[Motif::Update] = fine.n * (wide + (wide + s + kept) + (q * m + s) + (2 * wide + s));
  return bytes;
}

}  // namespace strata::sparse
