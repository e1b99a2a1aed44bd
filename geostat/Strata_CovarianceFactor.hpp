// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_COVARIANCE_FACTOR_HPP
#define STRATA_COVARIANCE_FACTOR_HPP

#include <comm/Strata_Transport.hpp>
#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Errors.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <dense/log_determinant/Strata_LogDeterminant.hpp>
#include <dense/refine/Strata_SpdSolve.hpp>
#include <geostat/Strata_Matern.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/team/Strata_DeviceTeam.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata::geostat {

namespace detail {
template <class ExecutionSpace>
class WholeFactor;
template <class ExecutionSpace>
class KeptTiles;
}  // namespace detail

/// What a log-determinant is taken from where tiles are in low precision.
enum class LogDet : std::uint8_t {
  Corrected,  ///< the factor's and an estimate of its error; as many passes over S as Lanczos steps
  Factor,     ///< the factor's alone, as paper B does
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(LogDet) {
  return enum_names<LogDet>("log-determinant",
                            {{LogDet::Corrected, "corrected"}, {LogDet::Factor, "factor"}});
}
using strata::name_of;

/// How a covariance matrix is factored.
struct CovarianceFactorOptions {
  /// The other choices at their defaults.
  CovarianceFactorOptions(ooc::PrecisionRule how = {}) : rule(std::move(how)) {}
  ooc::PrecisionRule rule;                          ///< rule.accuracy 0: fp64 throughout
  std::int64_t tile_size = 0;                       ///< 0: chosen for the order
  ooc::Devices devices = ooc::make_devices(1);      ///< devices of its own team, with their budgets
  std::size_t max_bytes = physical_memory_bytes();  ///< refuse more host memory than this
  LogDet log_det = LogDet::Corrected;               ///< how `log_determinant` corrects the factor's
  /// Where it lies, as in `ooc::TileMatrixOptions`; Automatic of workers on a host: in its memory.
  /// On one device, the instance's, which has room for it and a third more, one in fp64 is whole,
  /// unless a tile size is given.
  ooc::TileStorage storage = ooc::TileStorage::Automatic;
  /// Hears what part of the matrix is filled, 0 to 1, at last 1:
  /// `ooc::TileMatrixOptions::on_progress`; of a whole one 1.
  std::function<void(double)> on_fill = {};
  std::function<void(ooc::Task const&)> on_task = {};  ///< see `ooc::CholeskyOptions`; in tiles
  std::function<void(int, double)> on_silence = {};    ///< see `ooc::CholeskyOptions`
  /// The ranks that hold the matrix together, as in `TileMatrixOptions`: All ranks make the same
  /// calls with the factor, with the same arguments, and get the same results. max_bytes counts for
  /// each rank. Empty: one.
  std::shared_ptr<Communicator const> comm;
  ooc::RankGrid grid{0, 0};  ///< grid of the ranks, as in `TileMatrixOptions`; 0 x 0: chosen
  Transport transport = Transport::Automatic;  ///< between them, as of `ooc::CholeskyOptions`
  /// On hosts, tiles whose entries take longer to evaluate than to copy are kept for the residuals
  /// of solves, if there is twice the memory for them. Else they are evaluated anew.
  bool keep_matrix = true;
};

/// What it took.
struct CovarianceFactorReport {
  ooc::TileStorage storage = ooc::TileStorage::Host;  ///< Host or Devices
  std::string no_room = {};             ///< why it is not on devices that might have held it, or ""
  bool whole = false;                   ///< all on one device, not in tiles; it counts as one
  std::int64_t n = 0, tile_size = 0;    ///< order of the matrix, and of a tile
  std::array<std::int64_t, 4> tiles{};  ///< numbers of tiles in fp64, fp32, fp16 and fp8_e4m3
  int moduli = 0;                       ///< as in `ooc::CholeskyReport`
  std::size_t bytes = 0;                ///< bytes of the tiles; with several ranks, of this one's
  std::uint64_t bytes_in = 0, bytes_out = 0;    ///< between host and devices, of the factorisation
  Rung rung = Rung::AsAsked;                    ///< rung of the ladder that held, or was the last
  std::vector<ooc::CholeskyAttempt> attempts;   ///< each rung that was tried
  double fill_seconds = 0, factor_seconds = 0;  ///< time of all attempts
};

/// The Cholesky factor M = L L^T of a covariance matrix S, and all that a Gaussian likelihood asks
/// of a factor.
///
/// In tiles the matrix may be larger than the devices; whole it is as fast as one is. M is S but
/// for the rounding of its tiles. Solves are refined to fp64 accuracy with S. For that the entries
/// of S are evaluated anew, or copied where they were kept. Not to be used by two threads at once.
template <class ExecutionSpace>
class CovarianceFactor {
 public:
  /// Some vectors, column by column.
  using Block = typename ooc::TileFactor<ExecutionSpace>::Block;

  /// What factors and solves.
  using Team = ooc::DeviceTeam<ExecutionSpace>;

  /// Fill the covariance matrix of observations at `locations`, and factor it.
  ///
  /// Sync     runs on `exec` and the devices, and returns when all is done.
  /// Memory   in tiles `bytes_needed` on the host or on the devices, and the devices' budgets, and
  ///          for a matrix that is kept as much again; whole 8 n^2 bytes and at most 64 MiB, or a
  ///          few columns, on the device. A whole one is used on the instance that made it, by
  ///          calls that fence the one they get.
  /// Throws   what `check_covariance`, `TileMatrix::generate` and `cholesky` throw.
  CovarianceFactor(ExecutionSpace const& exec, MaternCovariance const& covariance,
                   Locations const& locations, CovarianceFactorOptions const& options = {})
      : CovarianceFactor(exec, Team(options.devices), covariance, locations, options) {}
  /// The same on a team that is there; its devices count, not the options'.
  CovarianceFactor(ExecutionSpace const& exec, Team const& team, MaternCovariance const& covariance,
                   Locations const& locations, CovarianceFactorOptions const& options = {});
  ~CovarianceFactor();
  CovarianceFactor(CovarianceFactor&&) noexcept;
  CovarianceFactor& operator=(CovarianceFactor&&) noexcept;

  /// Another covariance at the same locations, by the team and in the memory that is there.
  /// Contract as above; after an exception there is no factor.
  void refactor(ExecutionSpace const& exec, MaternCovariance const& covariance);

  /// Bytes of tiles of this order, all in fp64; tile_size 0: the one chosen.
  static std::size_t bytes_needed(std::int64_t n, std::int64_t tile_size = 0);
  /// The same with the options' ranks: of this one's tiles, and of the room for tiles of others
  /// while they factor.
  static std::size_t bytes_needed(std::int64_t n, CovarianceFactorOptions const& options);

  /// The one of the matrix.
  MaternCovariance const& covariance() const { return covariance_; }
  /// Where the observations are.
  Locations const& locations() const { return locations_; }
  /// What factors and solves, for others to share.
  Team const& team() const { return team_; }
  /// Rows, and columns, of the matrix.
  std::int64_t order() const { return locations_.size(); }
  /// The ranks that hold it; nullptr: this one alone.
  Communicator const* comm() const { return options_.comm.get(); }

  /// Whether there is a factor, else the leading minor that is not positive. Without one the calls
  /// below throw ValueError.
  Info info() const;
  /// Keep tiles for residuals from the next `refactor` on, as
  /// `CovarianceFactorOptions::keep_matrix`, or no longer.
  void keep_matrix(bool keep) { options_.keep_matrix = keep; }
  /// Whether it is whole, else in tiles.
  bool is_whole() const { return whole_ != nullptr; }
  /// The factor in tiles, which lives until the next `refactor`.
  ///
  /// Throws   ValueError if it is whole, or there is none.
  ooc::TileFactor<ExecutionSpace> const& factor() const;
  /// The precision of each tile.
  ooc::PrecisionMap const& map() const;
  /// ||S||_inf.
  double norm_inf() const;
  /// What it took.
  CovarianceFactorReport const& report() const { return report_; }

  /// log det M = 2 sum_i log l_ii.
  double factor_log_determinant() const;
  /// log det S as the options say, and what its error may be: of the estimate, for tiles in low
  /// precision, and of rounding. Infinite: the tiles' rounding is too large beside S for a
  /// statement. NaN: LogDet::Factor with such tiles, not known. The same probes serve every
  /// covariance. A factor in fp64 substitutes once, for the probes that tell the size of S^-1,
  /// which rounding goes by. Fences `exec`.
  [[nodiscard]] dense::LogDeterminantEstimate log_determinant(
      ExecutionSpace const& exec, dense::LogDeterminantOptions const& probes = {}) const;

  /// X = S^-1 B, as `TileFactor::solve`, which may make a more accurate factor. Shape: n x m.
  /// Fences `exec`.
  [[nodiscard]] dense::SolveReport solve(ExecutionSpace const& exec, Block const& B,
                                         Block const& X);
  /// V = L^-1 V (NoTrans) or V = L^-T V (Trans), as `TileFactor::half_solve`. Shape: n x m. Fences
  /// `exec`.
  void half_solve(ExecutionSpace const& exec, Op op, Block const& V,
                  std::int64_t first_row = 0) const;
  /// Y = S X in fp64. Shape: n x m. Fences `exec`.
  void apply(ExecutionSpace const& exec, Block const& X, Block const& Y) const;

 private:
  using WholeFactor = detail::WholeFactor<ExecutionSpace>;
  void refactor_tiles(ExecutionSpace const& exec, MaternCovariance const& covariance);
  bool has_room_for_a_copy(ExecutionSpace const& exec) const;
  void describe();
  WholeFactor& whole() const;                       // refuses where an exception left none
  void require_factor(char const* function) const;  // of a whole one
  WholeFactor& whole_after(ExecutionSpace const& exec, char const* function, Block const& X) const;

  Team team_;
  MaternCovariance covariance_;
  Locations locations_;
  CovarianceFactorOptions options_;
  CovarianceFactorReport report_;
  double first_fill_seconds_ = 0;
  std::shared_ptr<detail::KeptTiles<ExecutionSpace>> kept_;
  std::optional<ooc::TileFactor<ExecutionSpace>> factor_;
  std::unique_ptr<WholeFactor> whole_;
};

}  // namespace strata::geostat

#endif
