// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATAFUZZ_DENSE_HPP
#define STRATAFUZZ_DENSE_HPP

#include "StrataTest_Fuzz.hpp"
#include <core/Strata_Float.hpp>
#include <core/Strata_MatrixRef.hpp>
#include <dense/tree/Strata_BlockTree.hpp>
#include <dense/tree/Strata_Layers.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

// Matrices of fuzzers: stored in any of the ways that a caller may, filled on the host.
namespace strata::test {

using FuzzSpace = Kokkos::DefaultExecutionSpace;

inline constexpr double fuzz_nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double fuzz_infinity = std::numeric_limits<double>::infinity();

/// What nobody may read.
inline double garbage(FuzzRandom& random) {
  static constexpr double values[] = {
      fuzz_nan, fuzz_infinity, -fuzz_infinity, 1e25, -1e300, 4.9e-324, 0.0};
  return random.one_of(values);
}

/// An m x n matrix by columns or by rows, with gaps between them and numbers around it that must
/// stay.
template <class T>
class StoredMatrix {
 public:
  using View = Kokkos::View<T**, Kokkos::LayoutStride, FuzzSpace::memory_space>;

  StoredMatrix(FuzzRandom& random, std::int64_t m, std::int64_t n, bool by_columns)
      : rows_(m), cols_(n), by_columns_(by_columns) {
    std::int64_t const length = by_columns_ ? m : n, lines = by_columns_ ? n : m;
    ld_ = std::max<std::int64_t>(1, length) + random.integer(0, 5) * random.integer(0, 1);
    offset_ = random.integer(0, 3);
    auto const size = static_cast<std::size_t>(offset_ + ld_ * lines + 3);
    device_ = Buffer("strata::fuzz::matrix", size);
    host_.resize(size);
    for (T& number : host_) number = static_cast<T>(garbage(random));
    before_ = host_;
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  T& operator()(std::int64_t i, std::int64_t j) { return host_[position(i, j)]; }
  T const& operator()(std::int64_t i, std::int64_t j) const { return host_[position(i, j)]; }
  /// As it was when it was last sent.
  T const& before(std::int64_t i, std::int64_t j) const { return before_[position(i, j)]; }

  /// The View, which now holds the numbers.
  View send() {
    before_ = host_;
    Kokkos::deep_copy(device_, HostBuffer(host_.data(), host_.size()));
    return view();
  }
  View view() const {
    auto const m = static_cast<std::size_t>(rows_), n = static_cast<std::size_t>(cols_);
    auto const ld = static_cast<std::size_t>(ld_);
    return View(device_.data() + offset_,
                Kokkos::LayoutStride(m, by_columns_ ? 1 : ld, n, by_columns_ ? ld : 1));
  }
  /// The same for functions that take a MatrixRef; by columns only.
  MatrixRef<FuzzSpace::memory_space> ref() const {
    return {device_.data() + offset_, rows_, cols_, ld_, precision_of<T>, nullptr};
  }
  void fetch() { Kokkos::deep_copy(HostBuffer(host_.data(), host_.size()), device_); }

  /// Which number other than those (i, j) with may_change(i, j) is no longer the same bits; "":
  /// none.
  template <class Predicate>
  std::string changed(Predicate const& may_change) const {
    std::vector<T> expected = before_;
    for (std::int64_t j = 0; j < cols_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i) {
        auto const k = position(i, j);
        bool const same = std::memcmp(&before_[k], &host_[k], sizeof(T)) == 0;
        if (!same && !may_change(i, j))
          return '(' + std::to_string(i) + ", " + std::to_string(j) + ") changed";
        expected[k] = host_[k];
      }
    bool const kept = std::memcmp(expected.data(), host_.data(), sizeof(T) * host_.size()) == 0;
    return kept ? "" : "a number around the matrix changed";
  }
  std::string changed() const {
    return changed([](auto, auto) { return false; });
  }

 private:
  using Buffer = Kokkos::View<T*, FuzzSpace::memory_space>;
  using HostBuffer = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;

  std::size_t position(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(offset_ + (by_columns_ ? i + j * ld_ : i * ld_ + j));
  }

  std::int64_t rows_, cols_, ld_ = 1, offset_ = 0;
  bool by_columns_;
  Buffer device_;
  std::vector<T> host_, before_;
};

/// Layers that users take, or any others.
inline dense::LayerList any_layers(FuzzRandom& random) {
  if (random.coin()) return random.one_of(dense::studied_layer_lists());
  std::vector<Precision> layers;
  for (auto count = random.integer(1, 4); count > 0; --count)
    layers.push_back(random.one_of(all_precisions));
  return dense::LayerList(layers);
}

/// The layer of the block of a tree of order n that holds (i, j), i >= j.
inline Precision layer_of(std::int64_t i, std::int64_t j, std::int64_t n, std::int64_t leaf_size,
                          dense::LayerList const& layers) {
  for (std::size_t depth = 0; n > leaf_size; ++depth) {
    std::int64_t const half = dense::half_of_leaves(n, leaf_size);
    if (j < half && i >= half) return layers.at_depth(depth);
    if (j >= half)
      i -= half, j -= half, n -= half;
    else
      n = half;
  }
  return layers.leaf();
}

/// Random stations of the unit square, of which up to five pairs nearly coincide, and their
/// exponential covariance.
class Stations {
 public:
  Stations(FuzzRandom& random, std::int64_t n) : range_(std::pow(10.0, -random.number(0, 2))) {
    for (std::int64_t i = 0; i < n; ++i) {
      x_.push_back(random.number(0, 1));
      y_.push_back(random.number(0, 1));
    }
    for (auto pairs = n > 1 ? random.integer(1, 5) : 0; pairs > 0; --pairs) {
      auto const i = static_cast<std::size_t>(random.integer(0, n - 1)),
                 j = static_cast<std::size_t>(random.integer(0, n - 1));
      x_[j] = x_[i] + (i == j ? 0 : std::pow(10.0, -random.number(3, 10)));
      y_[j] = y_[i];
    }
  }
  double covariance(std::int64_t i, std::int64_t j) const {
    auto const a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    return std::exp(-std::hypot(x_[a] - x_[b], y_[a] - y_[b]) / range_);
  }

 private:
  double range_;
  std::vector<double> x_, y_;
};

}  // namespace strata::test

#endif
