// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_RELAXED_WORD_HPP
#define STRATA_RELAXED_WORD_HPP

#include <Kokkos_Macros.hpp>

// A word that one thread writes while others of the device read it: atomic, of device scope, in no
// order with other words. `Kokkos::atomic_load` and `atomic_store` say the same and are loops of
// exchanges on GPUs, in the loads of every kernel.
namespace strata::vendor {

/// The word now.
///
/// Source   CUDA: PTX ISA, "Volatile Operations": a volatile access is a relaxed one of system
///          scope.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION Word load_relaxed(Word const* from) {
#if defined(__HIP_DEVICE_COMPILE__)
  return __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#elif defined(__CUDA_ARCH__)
  return *static_cast<Word const volatile*>(from);
#else
  return __atomic_load_n(from, __ATOMIC_RELAXED);
#endif
}

/// The word from now on.
template <class Word>
KOKKOS_FORCEINLINE_FUNCTION void store_relaxed(Word* to, Word word) {
#if defined(__HIP_DEVICE_COMPILE__)
  __hip_atomic_store(to, word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#elif defined(__CUDA_ARCH__)
  *static_cast<Word volatile*>(to) = word;
#else
  __atomic_store_n(to, word, __ATOMIC_RELAXED);
#endif
}

}  // namespace strata::vendor

#endif
