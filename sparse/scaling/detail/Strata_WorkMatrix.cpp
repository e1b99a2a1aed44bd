// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/scaling/detail/Strata_WorkMatrix.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/formats/detail/Strata_Norms.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

namespace strata::sparse::detail {
namespace {

// A + diag(value on its empty rows), in an order of its own.
template <class Exec>
DistributedMatrix<Exec> without_empty_rows(Exec const& exec, DistributedMatrix<Exec> const& A,
                                           double value) {
  auto const given = rows_of(exec, A);
  auto const rows = A.comm().agree([&] {
    HostRows filled;
    for (std::int64_t i = 0; i < given.rows(); ++i) {
      bool is_empty = true;
      for (auto k = static_cast<std::size_t>(given.begin[static_cast<std::size_t>(i)]);
           k < static_cast<std::size_t>(given.begin[static_cast<std::size_t>(i) + 1]); ++k) {
        is_empty = is_empty && given.value[k] == 0;
        filled.add(given.column[k], given.value[k]);
      }
      if (is_empty) filled.add(A.first_row() + i, value);
      filled.end_row();
    }
    return filled;
  });
  MatrixOptions options;
  if (A.comm().size() > 1) options.transport = A.transport();
  return make_matrix(exec, A.comm(), rows, options);
}

// kept_i = 0 where row i of A is empty, else 1; both in the caller's order.
template <class Exec, class Matrix, class Rows>
void mark_rows(Exec const& exec, Matrix const& A, Rows const& old_row,
               Vector<double, typename Exec::memory_space> const& kept) {
  Kokkos::parallel_for(
      "strata::sparse::WorkMatrix::mark_rows", detail::RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) {
        auto const row = A.row(i);
        bool has_entry = false;
        for (int k = 0; k < row.width; ++k)
          has_entry = has_entry || static_cast<double>(A.values()[row.first + k * row.stride]) != 0;
        kept(old_row(i)) = has_entry ? 1 : 0;
      });
}

// b_i = 0 where kept_i is, which else is 1; how many were not 0 there.
template <class Exec>
std::int64_t clear_rows(Exec const& exec, Vector<double, typename Exec::memory_space> const& kept,
                        Vector<double, typename Exec::memory_space> const& b) {
  std::int64_t cleared = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::WorkMatrix::clear_rows",
      detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(kept.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& count) {
        if (kept(i) != 0) return;
        count += b(i) != 0;
        b(i) = 0;
      },
      cleared);
  exec.fence("strata::sparse::WorkMatrix::clear_rows");
  return cleared;
}

// y = y - x
template <class Exec>
void subtract(Exec const& exec, Vector<double, typename Exec::memory_space> const& x,
              Vector<double, typename Exec::memory_space> const& y, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::WorkMatrix::subtract", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) -= x(i); });
}

}  // namespace

template <class Exec>
WorkMatrix<Exec>::WorkMatrix(Exec const& exec, DistributedMatrix<Exec> const& A,
                             std::span<double const> modes, int width)
    : A_(A), work_(A), norm_A_(norm_inf(exec, A)), rows_(kind_of_rows(exec, A)) {
  auto const& comm = A.comm();
  if (rows_.empty > 0) {
    bool const has_size = norm_A_ > 0 && std::isfinite(norm_A_);
    auto const vector = [&](char const* label) {
      return comm.agree([&] { return allocate<Wide>(exec, label, A.rows()); });
    };
    work_ = without_empty_rows(exec, A, std::ldexp(1.0, has_size ? std::ilogb(norm_A_) : 0));
    kept_ = vector("strata::sparse::WorkMatrix::kept");
    natural_ = vector("strata::sparse::WorkMatrix::natural");
    std::visit([&](auto const& stored) { mark_rows(exec, stored, A.order().old_row, kept_); },
               A.stored());
  }
  auto const d = sparse::diagonal(exec, work_);
  symmetric_ = sparse::is_symmetric(exec, work_, d);
  diagonal_ = kind_of_diagonal(exec, work_, d);
  if (rows_.zero_sums > 0) parts_ = FloatingParts<Exec>(exec, work_);
  if (width > 0) find_null_vectors(exec, modes, width);
  rows_.null_vectors = parts_.null_vectors();
  rows_.floating_parts = parts_.count();
  rows_.floating_rows = parts_.rows();
  norm_ = norm_of_rows_ = rows_.empty > 0 ? norm_inf(exec, work_) : norm_A_;
  if (std::isfinite(norm_A_) && work_.precision() == Precision::fp64) scale(exec, d);
}

template <class Exec>
void WorkMatrix<Exec>::find_null_vectors(Exec const& exec, std::span<double const> modes,
                                         int width) {
  std::vector<Wide> vectors;
  std::vector<double> column(static_cast<std::size_t>(A_.rows()));
  Wide const natural = allocate<Wide>(exec, "strata::sparse::WorkMatrix::mode", A_.rows());
  for (int c = 0; c < width; ++c) {
    for (std::size_t i = 0; i < column.size(); ++i)
      column[i] = modes[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(c)];
    Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
        column.data(), column.size());
    Kokkos::deep_copy(exec, natural, host);
    exec.fence("strata::sparse::WorkMatrix::mode");  // `column` is the host's
    vectors.push_back(work_.template allocate<double>(exec, "strata::sparse::WorkMatrix::mode"));
    work_.gather(exec, natural, vectors.back());
  }
  parts_.add_null_vectors(exec, work_, vectors, norm_A_);
}

// By the diagonal where A may be positive definite; not where that leaves numbers beyond fp64.
template <class Exec>
void WorkMatrix<Exec>::scale(Exec const& exec, Wide const& d) {
  bool const is_positive = symmetric_ && diagonal_.first < 0;
  auto const scales =
      find_scales(exec, work_, is_positive ? ScaleBy::Diagonal : ScaleBy::Evenness, d);
  if (!scales.any()) return;
  auto const scaled = work_.scaled(exec, scales.left, scales.right);
  double const norm = norm_inf(exec, scaled);
  if (!std::isfinite(norm)) return;
  auto const both = A_.comm().agree(
      [&] { return work_.template allocate<double>(exec, "strata::sparse::WorkMatrix::both"); });
  multiply_by_powers(exec, scales.left, Power::Itself, 0, scales.right, both, work_.rows());
  norm_of_rows_ = weighted_norm(exec, work_, both);
  scales_ = scales;
  work_ = scaled;
  norm_ = norm;
}

template <class Exec>
auto WorkMatrix<Exec>::scale_of_unknowns(Exec const& exec) const -> Wide {
  if (!scales_.any()) return {};
  auto const own = A_.comm().agree(
      [&] { return work_.template allocate<double>(exec, "strata::sparse::WorkMatrix::scale"); });
  Kokkos::deep_copy(exec, own, 1.0);
  multiply_by_powers(exec, scales_.right, Power::Itself, 0, own, own, A_.rows());
  auto const natural = A_.comm().agree(
      [&] { return allocate<Wide>(exec, "strata::sparse::WorkMatrix::natural", A_.rows()); });
  work_.scatter(exec, own, natural);
  exec.fence("strata::sparse::WorkMatrix::scale");
  return natural;
}

template <class Exec>
void WorkMatrix<Exec>::take_means(Exec const& exec, System& system) const {
  if (!symmetric_ || !parts_.any()) return;
  auto const& comm = A_.comm();
  auto const before = comm.agree(
      [&] { return work_.template allocate<double>(exec, "strata::sparse::WorkMatrix::given"); });
  Kokkos::deep_copy(exec, before, system.b);
  parts_.remove_means(exec, system.b);
  double const norm_b = detail::norm(exec, comm, before, A_.rows());
  subtract(exec, system.b, before, A_.rows());
  double const taken = detail::norm(exec, comm, before, A_.rows());
  system.incompatible = norm_b > 0 ? taken / norm_b : 0;
  constexpr double rounding = 1e-13;  // of a b that is nothing but what A maps to 0
  if (detail::norm(exec, comm, system.b, A_.rows()) <= rounding * norm_b)
    Kokkos::deep_copy(exec, system.b, 0.0);
}

template <class Exec>
auto WorkMatrix<Exec>::translated(Exec const& exec, Wide const& b, Wide const& x) const -> System {
  auto const& comm = A_.comm();
  auto system = comm.agree([&] {
    return System{work_.template allocate<double>(exec, "strata::sparse::WorkMatrix::b"),
                  work_.template allocate<double>(exec, "strata::sparse::WorkMatrix::x"), 0, false,
                  0};
  });
  if (rows_.empty > 0) {
    A_.scatter(exec, b, natural_);
    system.has_contradiction = comm.max(clear_rows(exec, kept_, natural_) > 0 ? 1 : 0) > 0;
    work_.gather(exec, natural_, system.b);
    A_.scatter(exec, x, natural_);
    (void)clear_rows(exec, kept_, natural_);
    work_.gather(exec, natural_, system.x);
  } else {
    Kokkos::deep_copy(exec, system.b, b);
    Kokkos::deep_copy(exec, system.x, x);
  }
  take_means(exec, system);
  if (!scales_.any()) return system;
  auto const exponent_of_b = [&] {
    double const size = max_norm(exec, comm, system.b, A_.rows());
    return size > 0 && std::isfinite(size) ? std::ilogb(size) : 0;
  };
  int const given = exponent_of_b();
  multiply_by_powers(exec, scales_.left, Power::Itself, -given, system.b, system.b, A_.rows());
  int const left = exponent_of_b();
  scale_by_power(exec, -left, system.b, A_.rows());
  system.exponent = given + left;
  multiply_by_powers(exec, scales_.right, Power::Inverse, -system.exponent, system.x, system.x,
                     A_.rows());
  return system;
}

template <class Exec>
void WorkMatrix<Exec>::remove_means(Exec const& exec, Wide const& x) const {
  if (!parts_.any()) return;
  if (rows_.empty == 0) return parts_.remove_means(exec, x);
  auto const own = A_.comm().agree(
      [&] { return work_.template allocate<double>(exec, "strata::sparse::WorkMatrix::x"); });
  A_.scatter(exec, x, natural_);
  work_.gather(exec, natural_, own);
  parts_.remove_means(exec, own);
  work_.scatter(exec, own, natural_);
  A_.gather(exec, natural_, x);
}

template <class Exec>
void WorkMatrix<Exec>::translate_back(Exec const& exec, System const& system, Wide const& x) const {
  if (scales_.any())
    multiply_by_powers(exec, scales_.right, Power::Itself, system.exponent, system.x, system.x,
                       A_.rows());
  parts_.remove_means(exec, system.x);
  if (rows_.empty == 0) {
    Kokkos::deep_copy(exec, x, system.x);
    return;
  }
  work_.scatter(exec, system.x, natural_);
  A_.gather(exec, natural_, x);
  clear_empty_rows(exec, x);  // of what rounding left there
}

template <class Exec>
void WorkMatrix<Exec>::clear_empty_rows(Exec const& exec, Wide const& x) const {
  if (rows_.empty == 0) return;
  A_.scatter(exec, x, natural_);
  (void)clear_rows(exec, kept_, natural_);
  A_.gather(exec, natural_, x);
}

#define STRATA_INSTANTIATE_WORK_MATRIX(Space) template class WorkMatrix<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_WORK_MATRIX)

}  // namespace strata::sparse::detail
