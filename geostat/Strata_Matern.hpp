// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_MATERN_HPP
#define STRATA_MATERN_HPP

#include <core/Strata_Errors.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <geostat/Strata_Locations.hpp>
#include <geostat/detail/Strata_MaternColumns.hpp>
#include <geostat/detail/Strata_MaternKernel.hpp>
#include <geostat/model/Strata_Covariance.hpp>
#include <geostat/model/detail/Strata_MaternTable.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace strata::geostat {

/// Matern's and all other covariances have one type: a family is a member.
using MaternCovariance = Covariance;

/// Refuse locations and parameters that have no positive definite covariance matrix.
///
/// Throws   what `check_locations` and `check` throw; ValueError if two locations coincide and
///          neither nugget nor error variances part them (it names both). ValueError also for a
///          Gaussian covariance of great circles, which is none, and for directions on the sphere.
void check_covariance(MaternCovariance const& covariance, Locations const& locations);

/// Which part of a symmetric matrix is written.
enum class Triangle : std::uint8_t {
  Lower,  ///< the lower triangle
  Full,   ///< all of it
};

/// What a nugget is where the field is predicted.
enum class NuggetIs : std::uint8_t {
  Error,      ///< errors of the observations, which a prediction smooths
  Variation,  ///< a part of the field, at distances below all others: predictions are exact
};
/// The names of its values, for `name_of` and `from_name`.
constexpr auto names_of(NuggetIs) {
  return enum_names<NuggetIs>("nugget",
                              {{NuggetIs::Error, "error"}, {NuggetIs::Variation, "variation"}});
}
using strata::name_of;

/// The entries of a covariance matrix, C(h_ij) for the i-th of some locations and the j-th of
/// others, evaluated where they are asked for: a kernel can hold a copy.
///
/// On a host with many pairs of locations a table of nu stands for the Bessel function, see
/// detail::MaternTable.
///
/// Memory   40 bytes for each location in MemorySpace, on a host 56, and 8 for each coordinate
///          beyond y; 1.2 kB; of a table 27 kB.
/// Error    a few ulp for nu = 1/2, 3/2 and 5/2, else 1e-13 relative (tested). A matrix that is
///          filled on a host may differ by them from what operator() says, since it is filled in
///          vectors.
template <class MemorySpace>
class CovarianceEntries {
 public:
  /// Entries for observations at `locations`, with the nugget where i == j.
  ///
  /// Sync     fences `exec`.
  /// Throws   what `check_covariance` throws.
  template <class ExecutionSpace>
  CovarianceEntries(ExecutionSpace const& exec, MaternCovariance const& covariance,
                    Locations const& locations)
      : CovarianceEntries(exec, covariance, locations.metric,
                          locations.size() * locations.size() / 2) {
    check_covariance(covariance, locations);
    take(exec, locations);
    nugget_ = covariance.nugget;
  }

  /// The same as `other`, of observations at `locations` too, in memory of its own: nothing that
  /// `other`'s kernels read is touched, so that threads may do so at once. Sync: fences `exec`.
  template <class ExecutionSpace>
  CovarianceEntries(ExecutionSpace const& exec, CovarianceEntries const& other,
                    Locations const& locations)
      : sigma2_(other.sigma2_),
        range_(other.range_),
        nugget_(other.nugget_),
        metric_(other.metric_),
        directions_(other.directions_),
        correlation_(other.correlation_),
        table_(other.table_),
        table_on_host_(other.table_on_host_),
        second_(exec, other.second_) {
    take(exec, locations);
  }

  /// Between the field at `rows` and at `cols`: without a nugget, also where two of them coincide,
  /// or, if it is a variation of the field itself, with it there.
  ///
  /// Throws   what `check_locations` and `Covariance::check` throw; ValueError if their metrics
  ///          differ.
  template <class ExecutionSpace>
  CovarianceEntries(ExecutionSpace const& exec, MaternCovariance const& covariance,
                    Locations const& rows, Locations const& cols, NuggetIs nugget = NuggetIs::Error)
      : CovarianceEntries(exec, covariance, cols.metric, rows.size() * cols.size()) {
    covariance.check();
    check_locations(rows);
    check_locations(cols);
    STRATA_REQUIRE(ValueError, rows.metric == cols.metric,
                   "CovarianceEntries: the locations of rows and columns differ in their metric");
    STRATA_REQUIRE(ValueError, rows.further.size() == cols.further.size(),
                   "CovarianceEntries: the locations of rows have ", rows.coordinates(),
                   " coordinates, those of columns ", cols.coordinates());
    is_plane_ = rows.further.empty();
    row_ = detail::points_of<MemorySpace>(exec, directions_(rows));
    col_ = detail::points_of<MemorySpace>(exec, directions_(cols));
    coordinates_ = detail::coordinates_of<MemorySpace>(directions_(rows));
    if (nugget == NuggetIs::Variation) at_same_place_ = covariance.nugget;
  }

  /// How many locations the rows have.
  std::int64_t rows() const { return row_.size(); }
  /// How many locations the columns have.
  std::int64_t cols() const { return col_.size(); }

  /// Entry (i, j).
  KOKKOS_FUNCTION double operator()(std::int64_t i, std::int64_t j) const {
    double const h = detail::distance(metric_, row_(i), col_(j));
    double sum = sigma2_ * correlation(h / range_);
    if (second_.is_there()) sum += (*second_).sigma2 * (*second_)(h).value;
    return sum + beside(h, i, j);
  }

  /// A = the whole block whose first entry is (first_row, first_col). Enqueued on `exec`.
  ///
  /// Throws   ShapeError if the block is not inside the matrix.
  template <class ExecutionSpace, class MatrixView>
  void fill(ExecutionSpace const& exec, std::int64_t first_row, std::int64_t first_col,
            MatrixView const& A) const {
    auto const m = static_cast<std::int64_t>(A.extent(0)),
               n = static_cast<std::int64_t>(A.extent(1));
    STRATA_REQUIRE(
        ShapeError,
        first_row >= 0 && first_col >= 0 && first_row <= rows() - m && first_col <= cols() - n,
        "CovarianceEntries: a block of ", m, " x ", n, " at (", first_row, ", ", first_col,
        ") is not inside a matrix of ", rows(), " x ", cols());
    using Fill = detail::CovarianceFill<CovarianceEntries, MatrixView>;
    launch(exec, Fill{*this, first_row, first_col, Fill::Part::Block, A}, 0, n);
  }

  /// A = the whole symmetric matrix, the lower triangle or both. Enqueued on `exec`.
  ///
  /// Throws   ShapeError if A does not fit.
  template <class ExecutionSpace, class MatrixView>
  void fill(ExecutionSpace const& exec, MatrixView const& A, Triangle triangle) const {
    fill(exec, A, triangle, 0, cols());
  }
  /// Fills what comes from columns `begin` to `end` of the lower triangle. With both triangles it
  /// fills their rows, too. Columns from 0 to the last, in any parts, make the whole matrix.
  template <class ExecutionSpace, class MatrixView>
  void fill(ExecutionSpace const& exec, MatrixView const& A, Triangle triangle, std::int64_t begin,
            std::int64_t end) const {
    STRATA_REQUIRE(ShapeError, 0 <= begin && begin <= end && end <= cols(),
                   "fill_covariance: columns ", begin, " to ", end, " of ", cols());
    STRATA_REQUIRE(ShapeError,
                   static_cast<std::int64_t>(A.extent(0)) == rows() &&
                       static_cast<std::int64_t>(A.extent(1)) == cols(),
                   "fill_covariance: A is ", A.extent(0), " x ", A.extent(1),
                   ", the locations are ", cols());
    using Fill = detail::CovarianceFill<CovarianceEntries, MatrixView>;
    launch(exec,
           Fill{*this, 0, 0, triangle == Triangle::Full ? Fill::Part::Both : Fill::Part::Lower, A},
           begin, end);
  }

 private:
  template <class ExecutionSpace>
  CovarianceEntries(ExecutionSpace const& exec, MaternCovariance const& c, Metric metric,
                    std::int64_t pairs)
      : sigma2_(c.sigma2),
        range_(c.range),
        metric_(metric),
        directions_(checked(c)),
        correlation_(c),
        second_(exec, c, pairs, false) {
    if (correlation_.has_bessel()) table_ = detail::table_for<MemorySpace>(c.nu, pairs, false);
    table_on_host_ = table_.get();
  }

  static Covariance const& checked(Covariance const& covariance) {
    covariance.check();
    return covariance;
  }

  template <class ExecutionSpace>
  void take(ExecutionSpace const& exec, Locations const& locations) {
    is_plane_ = locations.further.empty();
    col_ = row_ = detail::points_of<MemorySpace>(exec, directions_(locations));
    coordinates_ = detail::coordinates_of<MemorySpace>(directions_(locations));
    if (locations.error_variances.empty()) return;
    errors_ = detail::copy_of<MemorySpace>(exec, locations.error_variances,
                                           "strata::CovarianceEntries::error_variances");
    exec.fence("strata::CovarianceEntries::taken");
  }

  // What an entry has beside the field's covariance.
  KOKKOS_FUNCTION double beside(double h, std::int64_t i, std::int64_t j) const {
    // On the sphere a place may have several longitudes, which round by less than a micrometre.
    double sum = h <= (metric_ == Metric::Euclidean ? 0 : 1e-9) ? at_same_place_ : 0;
    if (i == j) sum += nugget_ + (errors_.extent(0) > 0 ? errors_(i) : 0);
    return sum;
  }

  KOKKOS_FUNCTION double correlation(double x) const {
    if constexpr (std::is_same_v<MemorySpace, Kokkos::HostSpace>)
      if (table_on_host_) return (*table_on_host_)(x);
    return correlation_(x);
  }

  template <class ExecutionSpace, class Fill>
  void launch(ExecutionSpace const& exec, Fill const& fill, std::int64_t begin,
              std::int64_t end) const {
    using MatrixView = std::remove_cvref_t<decltype(fill.A)>;
    if constexpr (strata::runs_on_host<ExecutionSpace> &&
                  std::is_same_v<typename MatrixView::non_const_value_type, double>)
      if ((correlation_.is_vectorised() || table_) && metric_ == Metric::Euclidean && is_plane_ &&
          at_same_place_ == 0 && fill.A.stride(0) == 1 && second_has_columns())
        return fill_columns(exec, fill, begin, end);
    using Policy =
        Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>;
    auto const m = static_cast<std::int64_t>(fill.A.extent(0));
    Kokkos::parallel_for("strata::fill_covariance", Policy(exec, {0, begin}, {m, end}), fill);
  }

  bool second_has_columns() const {
    return !second_.on_host() || detail::has_columns(*second_.on_host());
  }

  // The same in vectors; both triangles are evaluated, which is faster than to copy one.
  template <class ExecutionSpace, class Fill>
  void fill_columns(ExecutionSpace const& exec, Fill const& fill, std::int64_t begin,
                    std::int64_t end) const {
    using MatrixView = std::remove_cvref_t<decltype(fill.A)>;
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
    double const* const x = coordinates_.data() + fill.first_row;
    detail::MaternColumns<MatrixView> const columns{
        .column = detail::matern_column(),
        .covariance = {sigma2_, range_, correlation_.order(), table_on_host_,
                       correlation_.family()},
        .second = second_.is_there() ? detail::columns_of(*second_.on_host(), true)
                                     : detail::ColumnCovariance{0, 1, 0.5},
        .x = x,
        .y = x + coordinates_.stride(1),
        .points = col_.data() + fill.first_col,
        .on_diagonal = fill.first_col - fill.first_row,
        .nugget = nugget_,
        .errors = errors_.extent(0) > 0 ? errors_.data() + fill.first_row : nullptr,
        .lower = fill.part == Fill::Part::Lower,
        .A = fill.A};
    Kokkos::parallel_for("strata::fill_covariance::columns", Policy(exec, begin, end), columns);
  }

  double sigma2_, range_, nugget_ = 0, at_same_place_ = 0;
  Metric metric_;
  bool is_plane_ = true;
  detail::Directions directions_;
  detail::Correlation correlation_;
  std::shared_ptr<detail::MaternTable const> table_;  // on hosts, if any
  detail::MaternTable const* table_on_host_ = nullptr;
  detail::Points<MemorySpace> row_, col_;
  detail::SecondTerms<MemorySpace, false> second_;
  detail::Coordinates<MemorySpace> coordinates_;  // of the rows
  Kokkos::View<double*, MemorySpace> errors_;     // known variances, if any
};

/// A = the covariance matrix of observations at `locations`, A_ij = C(h_ij) + (nugget + e_i) [i ==
/// j] for the locations' known error variances e, if they have any.
///
/// All is evaluated by `exec`. With great-circle distances the matrix is sure to be positive
/// definite for nu <= 1/2 only (Gneiting, Bernoulli 19, 2013).
///
/// Shape    A: n x n for n locations; any layout and stride, accessible to `exec`.
/// Result   the lower triangle, or both, equal to the last bit. `on_progress` hears now and then
///          what part of the lower triangle's entries is there, 0 to 1.
/// Sync     runs on `exec` and fences it before returning.
/// Memory   40 n bytes where A lives, and 8 n for each coordinate beyond y.
/// Throws   ShapeError if A does not fit; what `check_covariance` and `on_progress` throw.
/// Error    see CovarianceEntries.
template <class ExecutionSpace, class MatrixView>
void fill_covariance(ExecutionSpace const& exec, MaternCovariance const& covariance,
                     Locations const& locations, MatrixView const& A,
                     Triangle triangle = Triangle::Full,
                     std::function<void(double)> const& on_progress = {}) {
  CovarianceEntries<typename MatrixView::memory_space> const entries(exec, covariance, locations);
  std::int64_t const n = locations.size(), parts = on_progress ? 64 : 1;
  for (std::int64_t part = 0; part < parts; ++part) {
    std::int64_t const end = n * (part + 1) / parts;
    entries.fill(exec, A, triangle, n * part / parts, end);
    exec.fence("strata::fill_covariance::done");  // the last time the entries' coordinates die
    double const left =
        static_cast<double>(n - end) / static_cast<double>(std::max<std::int64_t>(n, 1));
    if (on_progress) on_progress(1 - left * left);
  }
}

/// The covariance matrix of observations at `locations` in host memory, both triangles.
///
/// Memory   8 n^2 bytes, the result itself.
/// Throws   what `fill_covariance` throws; MemoryError if 8 n^2 bytes can't be had.
[[nodiscard]] HostMatrix covariance_matrix(MaternCovariance const& covariance,
                                           Locations const& locations,
                                           std::function<void(double)> const& on_progress = {});

}  // namespace strata::geostat

#endif
