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
#include <geostat/model/detail/Strata_MaternTable.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace strata::geostat {

/// The Matern covariance of a stationary, isotropic Gaussian field,
///   C(h) = sigma2 2^(1-nu) / Gamma(nu) (h/range)^nu K_nu(h/range),   C(0) = sigma2,
/// observed with independent errors of variance `nugget`.
///
/// The nugget is added where an observation meets itself (i == j), which for distinct locations is
/// where h = 0.
///
/// Source   equation 2 of Ren et al., Accelerating mixed-precision out-of-core Cholesky
///          factorization with static task scheduling (paper B); Gneiting, Kleiber & Schlather,
///          JASA 105, 2010. There is no factor sqrt(2 nu) in h.
struct MaternCovariance {
  double sigma2 = 1;  ///< variance of the field; > 0
  /// range in the distance's unit; > 0. Paper B: 0.02627, 0.078809, 0.210158
  double range = 0.078809;
  double nu = 0.5;    ///< smoothness; in (0, 50]
  double nugget = 0;  ///< >= 0

  /// C(h) for h >= 0, without the nugget; on the host. What depends on nu is worked out, in a
  /// fraction of a millisecond, when a thread's nu is another than in its last call.
  double operator()(double h) const;

  /// Throws   ValueError that names the parameter out of range or not finite.
  void check() const;

  /// Read "matern:SIGMA2,RANGE,NU" or "matern:SIGMA2,RANGE,NU,NUGGET", without any space.
  ///
  /// Throws   ValueError with the text and the field that is wrong.
  static MaternCovariance parse(std::string_view text);
};

/// "matern:1,0.1,0.5,0": what `parse` reads back to the same numbers.
std::string to_string(MaternCovariance const& covariance);

/// sigma2, range, nu and nugget, in this order.
using Parameters = std::array<double, 4>;
/// Their names, in this order.
inline constexpr std::array<std::string_view, 4> parameter_names = {"sigma2", "range", "nu",
                                                                    "nugget"};
/// As an array.
Parameters parameters_of(MaternCovariance const& covariance);
/// From an array; nothing is checked.
MaternCovariance covariance_of(Parameters const& parameters);

/// Refuse locations and parameters that have no positive definite covariance matrix.
///
/// Throws   what `check_locations` and `check` throw; ValueError if two locations coincide and
///          there is no nugget (it names both).
void check_covariance(MaternCovariance const& covariance, Locations const& locations);

/// Which part of a symmetric matrix is written.
enum class Triangle : std::uint8_t {
  Lower,  ///< the lower triangle
  Full,   ///< all of it
};

/// The entries of a covariance matrix, C(h_ij) for the i-th of some locations and the j-th of
/// others, evaluated where they are asked for: a kernel can hold a copy.
///
/// On a host with many pairs of locations a table of nu stands for the Bessel function, see
/// detail::MaternTable.
///
/// Memory   24 bytes for each location in MemorySpace, on a host 40, and 1.2 kB; of a table 27 kB.
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
      : CovarianceEntries(covariance, locations.metric, locations.size() * locations.size() / 2) {
    check_covariance(covariance, locations);
    col_ = row_ = detail::points_of<MemorySpace>(exec, locations);
    coordinates_ = detail::coordinates_of<MemorySpace>(locations);
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
        correlation_(other.correlation_),
        table_(other.table_),
        table_on_host_(other.table_on_host_) {
    col_ = row_ = detail::points_of<MemorySpace>(exec, locations);
    coordinates_ = detail::coordinates_of<MemorySpace>(locations);
  }

  /// Between the field at `rows` and at `cols`: without a nugget, also where two of them coincide.
  ///
  /// Throws   what `check_locations` and `MaternCovariance::check` throw; ValueError if their
  ///          metrics differ.
  template <class ExecutionSpace>
  CovarianceEntries(ExecutionSpace const& exec, MaternCovariance const& covariance,
                    Locations const& rows, Locations const& cols)
      : CovarianceEntries(covariance, cols.metric, rows.size() * cols.size()) {
    covariance.check();
    check_locations(rows);
    check_locations(cols);
    STRATA_REQUIRE(ValueError, rows.metric == cols.metric,
                   "CovarianceEntries: the locations of rows and columns differ in their metric");
    row_ = detail::points_of<MemorySpace>(exec, rows);
    col_ = detail::points_of<MemorySpace>(exec, cols);
    coordinates_ = detail::coordinates_of<MemorySpace>(rows);
  }

  /// How many locations the rows have.
  std::int64_t rows() const { return static_cast<std::int64_t>(row_.extent(0)); }
  /// How many locations the columns have.
  std::int64_t cols() const { return static_cast<std::int64_t>(col_.extent(0)); }

  /// Entry (i, j).
  KOKKOS_FUNCTION double operator()(std::int64_t i, std::int64_t j) const {
    double const x = detail::distance(metric_, row_(i), col_(j)) / range_;
    return sigma2_ * correlation(x) + (i == j ? nugget_ : 0.0);
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
  CovarianceEntries(MaternCovariance const& c, Metric metric, std::int64_t pairs)
      : sigma2_(c.sigma2), range_(c.range), metric_(metric), correlation_(checked_nu(c)) {
    if (!correlation_.is_closed()) table_ = detail::table_for<MemorySpace>(c.nu, pairs, false);
    table_on_host_ = table_.get();
  }

  static double checked_nu(MaternCovariance const& covariance) {
    covariance.check();
    return covariance.nu;
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
      if ((correlation_.is_closed() || table_) && metric_ == Metric::Euclidean &&
          fill.A.stride(0) == 1)
        return fill_columns(exec, fill, begin, end);
    using Policy =
        Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>;
    auto const m = static_cast<std::int64_t>(fill.A.extent(0));
    Kokkos::parallel_for("strata::fill_covariance", Policy(exec, {0, begin}, {m, end}), fill);
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
        .covariance = {sigma2_, range_, correlation_.order(), table_on_host_},
        .x = x,
        .y = x + coordinates_.stride(1),
        .points = col_.data() + fill.first_col,
        .on_diagonal = fill.first_col - fill.first_row,
        .nugget = nugget_,
        .lower = fill.part == Fill::Part::Lower,
        .A = fill.A};
    Kokkos::parallel_for("strata::fill_covariance::columns", Policy(exec, begin, end), columns);
  }

  double sigma2_, range_, nugget_ = 0;
  Metric metric_;
  detail::MaternCorrelation correlation_;
  std::shared_ptr<detail::MaternTable const> table_;  // on hosts, if any
  detail::MaternTable const* table_on_host_ = nullptr;
  detail::Points<MemorySpace> row_, col_;
  detail::Coordinates<MemorySpace> coordinates_;  // of the rows
};

/// A = the covariance matrix of observations at `locations`, A_ij = C(h_ij) + nugget [i == j].
///
/// All is evaluated by `exec`. With great-circle distances the matrix is sure to be positive
/// definite for nu <= 1/2 only (Gneiting, Bernoulli 19, 2013).
///
/// Shape    A: n x n for n locations; any layout and stride, accessible to `exec`.
/// Result   the lower triangle, or both, equal to the last bit. `on_progress` hears now and then
///          what part of the lower triangle's entries is there, 0 to 1.
/// Sync     runs on `exec` and fences it before returning.
/// Memory   24 n bytes where A lives.
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
