// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_FLOP_COUNT_HPP
#define STRATA_FLOP_COUNT_HPP

#include <cstdint>

// Operation counts and memory traffic of the dense operations. Additions, multiplications,
// divisions and square roots count one each. Factors alpha and beta are free, as in LAPACK's
// counts. All are exact in 64 bits up to n = 1e6, the order at which 2 n^3 is 2e18.
//
// The byte counts are the least that an operation can move: each operand once from memory, each
// result once to memory. Sizes are the bytes of one stored number.
//
// Source   Blackford & Dongarra, Installation Guide for LAPACK, LAPACK Working Note 41, 1999,
//          appendix C.
namespace strata {

/// C = A B + C with A: m x k, B: k x n.
constexpr std::int64_t gemm_flops(std::int64_t m, std::int64_t n, std::int64_t k) {
  return 2 * m * n * k;
}

/// One triangle of C = A A^T + C with A: n x k.
constexpr std::int64_t syrk_flops(std::int64_t n, std::int64_t k) { return n * (n + 1) * k; }

/// C = A B + C with a symmetric A of order n, B: n x nrhs.
constexpr std::int64_t symm_flops(std::int64_t n, std::int64_t nrhs) { return 2 * n * n * nrhs; }

/// L X = B with a triangular L of order n, B: n x nrhs (from the right: B is nrhs x n).
constexpr std::int64_t trsm_flops(std::int64_t n, std::int64_t nrhs) { return n * n * nrhs; }

/// A = L L^T of order n: n^3/3 + n^2/2 + n/6.
constexpr std::int64_t potrf_flops(std::int64_t n) { return n * (n + 1) / 2 * (2 * n + 1) / 3; }

/// L L^T X = B: both triangular solves.
constexpr std::int64_t potrs_flops(std::int64_t n, std::int64_t nrhs) {
  return 2 * trsm_flops(n, nrhs);
}

/// One step of classical refinement: R = B - A X, L L^T D = R, X = X + D.
constexpr std::int64_t refinement_flops(std::int64_t n, std::int64_t nrhs) {
  return symm_flops(n, nrhs) + potrs_flops(n, nrhs) + n * nrhs;
}

/// Traffic of `gemm_flops`'s operation; C is read and written.
constexpr std::int64_t gemm_bytes(std::int64_t m, std::int64_t n, std::int64_t k, int size_a,
                                  int size_b, int size_c) {
  return m * k * size_a + k * n * size_b + 2 * m * n * size_c;
}

/// Traffic of `syrk_flops`'s operation; one triangle of C is read and written.
constexpr std::int64_t syrk_bytes(std::int64_t n, std::int64_t k, int size_a, int size_c) {
  return n * k * size_a + n * (n + 1) * size_c;
}

/// Traffic of `trsm_flops`'s operation; B is read and written.
constexpr std::int64_t trsm_bytes(std::int64_t n, std::int64_t nrhs, int size_l, int size_b) {
  return n * (n + 1) / 2 * size_l + 2 * n * nrhs * size_b;
}

/// Traffic of `potrf_flops`'s operation; one triangle is read and written.
constexpr std::int64_t potrf_bytes(std::int64_t n, int size) { return n * (n + 1) * size; }

}  // namespace strata

#endif
