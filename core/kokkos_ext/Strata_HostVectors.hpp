// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HOST_VECTORS_HPP
#define STRATA_HOST_VECTORS_HPP

// There is one function for each length of a host's vectors. It has the attribute of its
// instructions, and its work is inlined. Elsewhere than on x86-64 the functions are the same, and
// the first is taken.

/// Attribute of what such a function calls.
#define STRATA_INLINE inline __attribute__((always_inline))
/// Attribute of the lambdas in such a function.
#define STRATA_INLINE_LAMBDA __attribute__((always_inline))
#if defined(__x86_64__)
#define STRATA_VECTORS_OF_32 __attribute__((target("avx2,fma")))
#define STRATA_VECTORS_OF_64 __attribute__((target("avx512f,avx512dq,fma")))
#else
/// Attribute of the function for vectors of 32 bytes.
#define STRATA_VECTORS_OF_32
/// Attribute of the function for vectors of 64 bytes.
#define STRATA_VECTORS_OF_64
#endif

namespace strata {

/// Bytes of the widest vectors for which the processor has the instructions of the attributes
/// above: 64, 32, or else 16. The result is at most `most_bytes`.
inline int host_vector_bytes([[maybe_unused]] int most_bytes = 64) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("fma")) return 16;
  bool const avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  if (most_bytes >= 64 && avx512) return 64;
  if (most_bytes >= 32 && __builtin_cpu_supports("avx2")) return 32;
#endif
  return 16;
}

/// Picks one of three functions: the one for vectors of so many bytes.
template <class Function>
Function* of_vectors(int bytes, Function* of_16, Function* of_32, Function* of_64) {
  return bytes >= 64 ? of_64 : bytes >= 32 ? of_32 : of_16;
}

}  // namespace strata

#endif
