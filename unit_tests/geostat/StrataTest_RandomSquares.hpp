// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_RANDOM_SQUARES_HPP
#define STRATATEST_RANDOM_SQUARES_HPP

#include "StrataTest_Reference.hpp"
#include <geostat/detail/Strata_KeptSquares.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata::test {

/// Some n x n matrices, and the traces of their products.
class RandomSquares {
 public:
  RandomSquares(std::int64_t n, std::size_t matrices) : n_(n) {
    for (unsigned k = 0; k < matrices; ++k) A_.push_back(reference::random(n, n, 7 + k));
  }

  /// trace(A_k A_l), and the same of magnitudes.
  std::pair<double, double> by_loops(std::size_t k, std::size_t l) const {
    long double sum = 0, magnitudes = 0;
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < n_; ++i) {
        long double const product = static_cast<long double>(A_[k](i, j)) * A_[l](j, i);
        sum += product;
        magnitudes += std::abs(product);
      }
    return {static_cast<double>(sum), static_cast<double>(magnitudes)};
  }

  /// The same by squares, of which the ranks, if there are some, keep their parts.
  template <class Exec>
  std::vector<std::vector<double>> traces(std::int64_t width, Communicator const* comm) const {
    using Squares = geostat::detail::KeptSquares<Exec>;
    Exec const exec;
    Squares squares(exec, n_, width, A_.size(), comm);
    for (std::int64_t first = 0; first < n_; first += width) {
      std::vector<typename Squares::Block> columns;
      for (auto const& A : A_) {
        auto const block =
            Kokkos::subview(A, Kokkos::ALL, std::pair(first, std::min(n_, first + width)));
        columns.push_back(
            allocate<typename Squares::Block>(exec, "strata::test::columns", n_, block.extent(1)));
        Kokkos::deep_copy(exec, columns.back(), block);
      }
      squares.take(first, columns);
      exec.fence("strata::test::columns");
    }
    return squares.traces();
  }

 private:
  std::int64_t n_;
  std::vector<HostMatrix> A_;
};

}  // namespace strata::test

#endif
