// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/hpgmxp/Strata_HpgmxpModel.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
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

MotifTimes motif_times(std::vector<RecordedSpan> const& spans) {
  using Time = Recorder::Clock::time_point;
  auto const seconds_of = [](RecordedSpan const& span) {
    return std::chrono::duration<double>(span.end - span.start).count();
  };
  MotifTimes times;
  std::map<Time, std::pair<Time, Motif>> ends;  // by their starts
  for (auto const& span : spans) {
    std::string_view const name(span.name), region = name.substr(0, name.find(','));
    for (auto const& [of_motif, motif] : motifs_of_regions)
      if (region == of_motif) {
        times.seconds[motif] += seconds_of(span);
        ends[span.start] = {span.end, motif};
      }
  }
  for (auto const& span : spans) {
    if (span.name != waiting_span) continue;
    Time const middle = span.start + (span.end - span.start) / 2;
    auto const after = ends.upper_bound(middle);
    if (after == ends.begin()) continue;
    auto const& [end, motif] = std::prev(after)->second;
    if (middle <= end) times.waiting[motif] += seconds_of(span);
  }
  return times;
}

Breakdown breakdown_of(Communicator const& comm, MotifTimes own, double seconds,
                       std::int64_t iterations) {
  auto const all_seconds = comm.gather(own.seconds.values()),
             all_waiting = comm.gather(own.waiting.values());
  Breakdown result;
  result.iterations = iterations;
  double longest = -1;
  for (int rank = 0; rank < comm.size(); ++rank) {
    auto const first = rank * static_cast<std::ptrdiff_t>(motif_count);
    MotifTimes times;
    std::copy_n(all_seconds.begin() + first, motif_count, times.seconds.values().begin());
    std::copy_n(all_waiting.begin() + first, motif_count, times.waiting.values().begin());
    for (std::size_t k = 0; k < motif_count; ++k) {
      double const waits = times.waiting.values()[k];
      auto& most = result.most_waiting.values()[k];
      most = std::max(most, waits);
      result.mean_waiting.values()[k] += waits / comm.size();
    }
    double const computes = times.seconds.total() - times.waiting.total();
    if (computes <= longest) continue;
    longest = computes;
    result.slowest = times;
    result.rank = rank;
  }
  result.seconds = comm.max(comm.rank() == result.rank ? seconds : 0);
  return result;
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
  // k vectors in three passes, w in, in and out twice, and scaled; a narrower basis is written
  // besides
  double const q = storage.basis, kept = q == s ? 0 : q;
  bytes[Motif::Orthogonalise] = fine.n * (3.0 * q * m * (m + 1) / 2 + (7.0 * s + kept) * m);
  bytes[Motif::Update] = fine.n * (wide + (wide + s + kept) + (q * m + s) + (2 * wide + s));
  return bytes;
}

}  // namespace strata::sparse
