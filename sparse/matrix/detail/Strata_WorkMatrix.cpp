// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/matrix/detail/Strata_WorkMatrix.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/matrix/Strata_HostRows.hpp>
#include <sparse/matrix/detail/Strata_Norms.hpp>

#include <cmath>
#include <cstdlib>

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

// 2^-exponent A, exponent even.
template <class Exec>
DistributedMatrix<Exec> scaled(Exec const& exec, DistributedMatrix<Exec> const& A, int exponent) {
  auto const vector = [&] {
    return A.template allocate<double>(exec, "strata::sparse::WorkMatrix::scale");
  };
  auto const d = A.comm().agree(vector), none = A.comm().agree(vector);
  Kokkos::deep_copy(exec, d, std::ldexp(1.0, -exponent / 2));
  return A.modified(exec, d, none);
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

}  // namespace

template <class Exec>
WorkMatrix<Exec>::WorkMatrix(Exec const& exec, DistributedMatrix<Exec> const& A)
    : A_(A), work_(A), norm_A_(norm_inf(exec, A)), rows_(kind_of_rows(exec, A)) {
  constexpr int far_from_1 = 64;
  auto const& comm = A.comm();
  int const size = norm_A_ > 0 && std::isfinite(norm_A_) ? std::ilogb(norm_A_) : 0;
  auto const vector = [&](char const* label) {
    return comm.agree([&] { return allocate<Wide>(exec, label, A.rows()); });
  };
  if (rows_.empty > 0) {
    work_ = without_empty_rows(exec, A, std::ldexp(1.0, size));
    kept_ = vector("strata::sparse::WorkMatrix::kept");
    std::visit([&](auto const& stored) { mark_rows(exec, stored, A.order().old_row, kept_); },
               A.stored());
  }
  if (std::abs(size) > far_from_1 && A.precision() == Precision::fp64) {
    exponent_ = size / 2 * 2;
    work_ = scaled(exec, work_, exponent_);
  }
  if (is_other()) natural_ = vector("strata::sparse::WorkMatrix::natural");
  norm_ = is_other() ? norm_inf(exec, work_) : norm_A_;
}

// A x = b is work (2^exponent x) = b.
template <class Exec>
auto WorkMatrix<Exec>::translated(Exec const& exec, Wide const& b, Wide const& x) const -> System {
  auto const& comm = A_.comm();
  auto system = comm.agree([&] {
    return System{work_.template allocate<double>(exec, "strata::sparse::WorkMatrix::b"),
                  work_.template allocate<double>(exec, "strata::sparse::WorkMatrix::x")};
  });
  A_.scatter(exec, b, natural_);
  std::int64_t const cleared = rows_.empty > 0 ? clear_rows(exec, kept_, natural_) : 0;
  system.has_contradiction = comm.max(cleared > 0 ? 1 : 0) > 0;
  work_.gather(exec, natural_, system.b);
  A_.scatter(exec, x, natural_);
  if (rows_.empty > 0) (void)clear_rows(exec, kept_, natural_);
  work_.gather(exec, natural_, system.x);
  scale_by_power(exec, exponent_, system.x, A_.rows());
  return system;
}

template <class Exec>
void WorkMatrix<Exec>::translate_back(Exec const& exec, System const& system, Wide const& x) const {
  scale_by_power(exec, -exponent_, system.x, A_.rows());
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
