// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_KEPT_SQUARES_HPP
#define STRATA_KEPT_SQUARES_HPP

#include <comm/Strata_Communicator.hpp>
#include <core/io/Strata_HostMatrix.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_ForEachElement.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata::geostat::detail {

/// The squares (I, J), I >= J, of a matrix whose columns come block by block. A square comes with
/// block J, is kept by one rank, and has done its part when block I has come.
struct SquarePlan {
  std::int64_t blocks = 0;  ///< blocks of columns, and of rows
  int ranks = 1;

  /// The plan for n columns in blocks of `width`.
  static SquarePlan of(std::int64_t n, std::int64_t width, int ranks) {
    return {n > 0 ? (n + width - 1) / width : 0, ranks};
  }
  /// The rank that keeps a square.
  int keeper(std::int64_t I, std::int64_t J) const { return static_cast<int>((I + J) % ranks); }
  /// The most that a rank keeps of one row, or column.
  std::int64_t most_in_row() const { return (blocks + ranks - 1) / ranks; }
  /// The most squares that a rank keeps at a time. For many squares it is a fourth of the matrix's
  /// squares divided by the ranks. Once block b has come, these are the squares from row b on, in b
  /// + 1 columns. A rank has a b / R of a x b squares, and at most R / 4 more. So it has none more
  /// where b is further than R from the middle.
  std::int64_t most_at_a_time() const {
    std::int64_t const middle = blocks / 2, R = ranks;
    std::int64_t most = 0;
    for (std::int64_t a = std::max<std::int64_t>(1, middle - R);
         a <= std::min(blocks, middle + R + 1); ++a) {
      std::int64_t const b = blocks + 1 - a;
      most = std::max(most, a / R * b + b / R * (a % R) + std::min(a % R, b % R));
    }
    return most;
  }
};

/// T = A^T.
template <class Exec, class Block>
void transpose(Exec const& exec, Block const& A, Block const& T) {
  for_each_element(
      "strata::geostat::fisher_information::transpose", exec,
      static_cast<std::int64_t>(T.extent(0)), static_cast<std::int64_t>(T.extent(1)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j) { T(i, j) = A(j, i); });
}

/// sums(j, at) = (A' B)_jj.
template <class Exec, class Block>
void inner_products(Exec const& exec, Block const& A, Block const& B, Block const& sums,
                    std::int64_t at) {
  auto const rows = static_cast<std::int64_t>(A.extent(0));
  using Policy = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::geostat::fisher_information::products",
      Policy(exec, static_cast<int>(A.extent(1)), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        int const j = team.league_rank();
        double total = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, rows),
            [&](std::int64_t i, double& sum) { sum += A(i, j) * B(i, j); }, total);
        Kokkos::single(Kokkos::PerTeam(team), [&]() { sums(j, at) = total; });
      });
}

/// trace(A_k A_l) = sum_ij A_k(i, j) A_l(j, i) of some n x n matrices whose columns come block by
/// block, to all ranks.
///
/// Of each pair of squares that lie opposite each other one comes first, and is kept until the
/// other one comes. Its sums are its own and are added in one order at the end, so that the bits
/// are those of one rank on any number of ranks.
///
/// Memory   `SquarePlan::most_at_a_time` squares of each matrix on the host; one where a device
///          works.
template <class Exec>
class KeptSquares {
 public:
  using Block = Kokkos::View<double**, Kokkos::LayoutLeft, typename Exec::memory_space>;

  /// Keeps squares of so many matrices, with blocks of `width` columns. Throws MemoryError. Not
  /// collective.
  KeptSquares(Exec const& exec, std::int64_t n, std::int64_t width, std::size_t matrices,
              Communicator const* comm)
      : exec_(exec),
        n_(n),
        width_(width),
        matrices_(matrices),
        comm_(comm),
        plan_(SquarePlan::of(n, width, comm ? comm->size() : 1)) {
    if (matrices == 0) return;
    std::int64_t const slots = plan_.most_at_a_time(), columns = width * as_columns(matrices),
                       products = plan_.most_in_row() * as_columns(matrices * matrices);
    kept_ =
        allocate_host_matrix("strata::geostat::fisher_information::kept", width, slots * columns);
    if (!runs_on_host<Exec>)
      staged_ = allocate<Block>(exec, "strata::geostat::fisher_information::staged", width, width);
    sums_ = allocate<Block>(exec, "strata::geostat::fisher_information::sums_of_squares", width,
                            products);
    host_ = allocate_host_matrix("strata::geostat::fisher_information::host_sums_of_squares", width,
                                 products);
    for (std::int64_t slot = slots; slot > 0; --slot) free_.push_back(slot - 1);
    rows_.resize(static_cast<std::size_t>(plan_.blocks));
    auto const squares = static_cast<std::size_t>(plan_.blocks * (plan_.blocks + 1) / 2);
    products_.assign(squares * matrices * matrices, 0);
  }

  /// The columns of the matrices from number `first` on, a block behind the one before. Fences the
  /// instance where it has sums. Not collective.
  void take(std::int64_t first, std::vector<Block> const& A) {
    if (matrices_ == 0) return;
    std::int64_t const block = first / width_;
    for (std::int64_t I = block; I < plan_.blocks; ++I)
      if (plan_.keeper(I, block) == (comm_ ? comm_->rank() : 0)) keep(I, block, A);
    multiply(block, A);
  }

  /// trace(A_k A_l) at [k][l], k <= l, once all columns have come. Collective.
  std::vector<std::vector<double>> traces() {
    std::vector<std::vector<double>> result(matrices_, std::vector<double>(matrices_, 0));
    if (comm_) comm_->sum(products_);  // of one number and zeros
    for (std::int64_t I = 0; I < plan_.blocks; ++I)
      for (std::int64_t J = 0; J <= I; ++J)
        for (std::size_t k = 0; k < matrices_; ++k)
          for (std::size_t l = k; l < matrices_; ++l)
            result[k][l] +=
                I == J ? product(I, J, k, l) : product(I, J, k, l) + product(I, J, l, k);
    return result;
  }

 private:
  struct Kept {
    std::int64_t J, slot;
  };
  using Range = std::pair<std::int64_t, std::int64_t>;

  static std::int64_t as_columns(std::size_t count) { return static_cast<std::int64_t>(count); }
  std::int64_t rows(std::int64_t I) const { return std::min(width_, n_ - I * width_); }
  Block rows_of(Block const& A, std::int64_t I) const {
    return Kokkos::subview(A, Range(I * width_, I * width_ + rows(I)), Kokkos::ALL);
  }
  HostMatrix slot(std::int64_t number, std::size_t k) const {
    std::int64_t const first = (number * as_columns(matrices_) + as_columns(k)) * width_;
    return Kokkos::subview(kept_, Kokkos::ALL, Range(first, first + width_));
  }
  // Where kernels have it.
  Block near(HostMatrix const& kept) const {
    if constexpr (runs_on_host<Exec>)
      return kept;
    else
      return staged_;
  }
  // Square (I, J), transposed.
  Block transposed(Block const& near, std::int64_t I, std::int64_t J) const {
    return Kokkos::subview(near, Range(0, rows(J)), Range(0, rows(I)));
  }
  double& product(std::int64_t I, std::int64_t J, std::size_t k, std::size_t l) {
    auto const square = static_cast<std::size_t>(I * (I + 1) / 2 + J);
    return products_[(square * matrices_ + k) * matrices_ + l];
  }

  void keep(std::int64_t I, std::int64_t J, std::vector<Block> const& A) {
    std::int64_t const number = free_.back();
    rows_[static_cast<std::size_t>(I)].push_back({J, number});
    free_.pop_back();
    for (std::size_t k = 0; k < matrices_; ++k) {
      HostMatrix const kept = slot(number, k);
      transpose(exec_, rows_of(A[k], I), transposed(near(kept), I, J));
      if constexpr (!runs_on_host<Exec>) Kokkos::deep_copy(exec_, kept, staged_);
    }
  }

  // product(I, J, k, l) = sum_ij A_k(i, j) A_l(j, i), i in I, j in J, of the squares that are here.
  void multiply(std::int64_t I, std::vector<Block> const& A) {
    auto& row = rows_[static_cast<std::size_t>(I)];
    if (row.empty()) return;
    std::int64_t at = 0;
    for (auto const& [J, number] : row)
      for (std::size_t k = 0; k < matrices_; ++k) {
        HostMatrix const kept = slot(number, k);
        if constexpr (!runs_on_host<Exec>) Kokkos::deep_copy(exec_, staged_, kept);
        for (std::size_t l = 0; l < matrices_; ++l)
          inner_products(exec_, transposed(near(kept), I, J), rows_of(A[l], J), sums_, at++);
      }
    Kokkos::deep_copy(exec_, host_, sums_);
    exec_.fence("strata::geostat::fisher_information::squares");
    at = 0;
    for (auto const& [J, number] : row) {
      for (std::size_t k = 0; k < matrices_; ++k)
        for (std::size_t l = 0; l < matrices_; ++l, ++at)
          for (std::int64_t i = 0; i < rows(I); ++i) product(I, J, k, l) += host_(i, at);
      free_.push_back(number);
    }
    row.clear();
  }

  Exec exec_;
  std::int64_t n_, width_;
  std::size_t matrices_;
  Communicator const* comm_;
  SquarePlan plan_;
  HostMatrix kept_;                 // slots of a square of each matrix
  Block staged_;                    // one square on the device
  Block sums_;                      // of the products' columns
  HostMatrix host_;                 // the same on the host
  std::vector<std::int64_t> free_;  // slots
  std::vector<std::vector<Kept>> rows_;
  std::vector<double> products_;  // of all squares; those of other ranks are 0
};

}  // namespace strata::geostat::detail

#endif
