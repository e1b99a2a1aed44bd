// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATATEST_STORED_MATRIX_HPP
#define STRATATEST_STORED_MATRIX_HPP

#include <core/Strata_MatrixRef.hpp>
#include <core/Strata_Precision.hpp>
#include <core/io/Strata_HostMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

namespace strata::test {

/// A matrix of a run-time precision in a space's memory, padded, with a scale if asked for.
template <class Space>
class StoredMatrix {
 public:
  using Matrix = MatrixRef<typename Space::memory_space>;

  /// `values` / 2^scale_exponent, rounded to `precision`, with `pad` rows of a pattern below each
  /// column.
  StoredMatrix(HostMatrix const& values, Precision precision, std::int64_t pad = 0,
               std::optional<int> scale_exponent = {})
      : rows_(static_cast<std::int64_t>(values.extent(0))),
        cols_(static_cast<std::int64_t>(values.extent(1))),
        ld_(std::max<std::int64_t>(1, rows_ + pad)),
        precision_(precision),
        bytes_("strata::test::stored",
               static_cast<std::size_t>(ld_ * cols_) * traits(precision).bytes) {
    if (scale_exponent) {
      scale_ = Kokkos::View<double, typename Space::memory_space>("strata::test::scale");
      Kokkos::deep_copy(Space(), scale_, std::ldexp(1.0, *scale_exponent));
      factor_ = std::ldexp(1.0, *scale_exponent);
    }
    auto const host = Kokkos::create_mirror_view(bytes_);
    if (host.size() > 0) std::memset(host.data(), pattern, host.size());
    with_type(precision_, [&]<class T>(std::type_identity<T>) {
      for (std::int64_t j = 0; j < cols_; ++j)
        for (std::int64_t i = 0; i < rows_; ++i)
          reinterpret_cast<T*>(host.data())[i + j * ld_] = static_cast<T>(values(i, j) / factor_);
    });
    Kokkos::deep_copy(Space(), bytes_, host);
    Space().fence("strata::test::stored");
  }

  Matrix ref() const { return {bytes_.data(), rows_, cols_, ld_, precision_, scale_.data()}; }

  /// The numbers that the matrix stands for.
  HostMatrix read() const {
    HostMatrix const values("strata::test::values", rows_, cols_);
    auto const host = bytes_on_host();
    with_type(precision_, [&]<class T>(std::type_identity<T>) {
      for (std::int64_t j = 0; j < cols_; ++j)
        for (std::int64_t i = 0; i < rows_; ++i)
          values(i, j) =
              static_cast<double>(reinterpret_cast<T const*>(host.data())[i + j * ld_]) * factor_;
    });
    return values;
  }

  /// Whether the bytes below the columns still hold the pattern.
  bool padding_is_untouched() const {
    auto const host = bytes_on_host();
    auto const size = static_cast<std::int64_t>(traits(precision_).bytes);
    for (std::int64_t j = 0; j < cols_; ++j)
      for (std::int64_t b = (rows_ + j * ld_) * size; b < (j + 1) * ld_ * size; ++b)
        if (host(static_cast<std::size_t>(b)) != pattern) return false;
    return true;
  }

 private:
  static constexpr unsigned char pattern = 0xa5;
  auto bytes_on_host() const {
    Kokkos::fence("strata::test::read");
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), bytes_);
  }

  std::int64_t rows_, cols_, ld_;
  Precision precision_;
  double factor_ = 1;
  Kokkos::View<unsigned char*, typename Space::memory_space> bytes_;
  Kokkos::View<double, typename Space::memory_space> scale_;
};

}  // namespace strata::test

#endif
