// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HOST_LAPACK_HPP
#define STRATA_HOST_LAPACK_HPP

#include <core/Strata_Errors.hpp>
#include <core/Strata_MatrixRef.hpp>

#include <cstdint>
#include <limits>

// The Fortran symbols of BLAS and LAPACK with 32-bit integers, in both arithmetic types.
#define STRATA_DECLARE_LAPACK(T, prefix)                                                          \
  void prefix##gemm_(char const*, char const*, int const*, int const*, int const*, T const*,      \
                     T const*, int const*, T const*, int const*, T const*, T*, int const*);       \
  void prefix##syrk_(char const*, char const*, int const*, int const*, T const*, T const*,        \
                     int const*, T const*, T*, int const*);                                       \
  void prefix##trsm_(char const*, char const*, char const*, char const*, int const*, int const*,  \
                     T const*, T const*, int const*, T*, int const*);                             \
  void prefix##trsv_(char const*, char const*, char const*, int const*, T const*, int const*, T*, \
                     int const*);                                                                 \
  void prefix##symm_(char const*, char const*, int const*, int const*, T const*, T const*,        \
                     int const*, T const*, int const*, T const*, T*, int const*);                 \
  void prefix##symv_(char const*, int const*, T const*, T const*, int const*, T const*,           \
                     int const*, T const*, T*, int const*);                                       \
  void prefix##potrf_(char const*, int const*, T*, int const*, int*);                             \
  void prefix##potrs_(char const*, int const*, int const*, T const*, int const*, T*, int const*,  \
                      int*);
extern "C" {
STRATA_DECLARE_LAPACK(double, d)
STRATA_DECLARE_LAPACK(float, s)
}
#undef STRATA_DECLARE_LAPACK

namespace strata::vendor {

constexpr char letter(Side side) { return side == Side::Left ? 'L' : 'R'; }
constexpr char letter(Uplo uplo) { return uplo == Uplo::Lower ? 'L' : 'U'; }
constexpr char letter(Op op) { return op == Op::NoTrans ? 'N' : 'T'; }
constexpr char letter(Diag diag) { return diag == Diag::Unit ? 'U' : 'N'; }

/// An extent as BLAS takes it, by address.
///
/// Throws   ValueError with the number if it exceeds 32 bits.
class BlasInt {
 public:
  explicit BlasInt(std::int64_t extent) : value_(static_cast<int>(extent)) {
    STRATA_REQUIRE(ValueError, extent <= std::numeric_limits<int>::max(), "BLAS: an extent of ",
                   extent, " exceeds ", std::numeric_limits<int>::max());
  }
  operator int const*() const { return &value_; }

 private:
  int value_;
};

/// The routines of one type under one name.
template <class T>
struct Lapack;
template <>
struct Lapack<double> {
  static constexpr auto gemm = dgemm_;
  static constexpr auto syrk = dsyrk_;
  static constexpr auto trsm = dtrsm_;
  static constexpr auto trsv = dtrsv_;
  static constexpr auto symm = dsymm_;
  static constexpr auto symv = dsymv_;
  static constexpr auto potrf = dpotrf_;
  static constexpr auto potrs = dpotrs_;
};
template <>
struct Lapack<float> {
  static constexpr auto gemm = sgemm_;
  static constexpr auto syrk = ssyrk_;
  static constexpr auto trsm = strsm_;
  static constexpr auto trsv = strsv_;
  static constexpr auto symm = ssymm_;
  static constexpr auto symv = ssymv_;
  static constexpr auto potrf = spotrf_;
  static constexpr auto potrs = spotrs_;
};

/// The order of the first minor that isn't positive: LAPACK's info, or a diagonal element that let
/// NaN or Inf pass.
template <class T>
std::int64_t first_breakdown(T const* factor, std::int64_t n, std::int64_t ld, int info) {
  std::int64_t const done = info > 0 ? info - 1 : n;
  for (std::int64_t j = 0; j < done; ++j) {
    T const d = factor[j + j * ld];
    if (!(d > 0 && d <= std::numeric_limits<T>::max())) return j + 1;
  }
  return info;
}

}  // namespace strata::vendor

#endif
