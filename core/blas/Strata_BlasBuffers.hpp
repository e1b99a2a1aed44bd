// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_BLAS_BUFFERS_HPP
#define STRATA_BLAS_BUFFERS_HPP

#include <cstddef>
#include <optional>

namespace strata {

/// Bytes that the limit on this process' address space (RLIMIT_AS, `ulimit -v`) leaves; nothing
/// without a limit.
std::optional<std::size_t> address_space_left();

/// How many of `wanted` threads may call the host's BLAS at once under that limit: all without one.
/// With a limit, a quarter of what is left is for their buffers and stacks. At least one thread is
/// allowed, and all threads whose buffers are there already.
int blas_threads_that_fit(int wanted);

/// Bytes of address space that so many threads which call the BLAS would take yet, under a limit; 0
/// without one.
std::size_t blas_buffer_bytes(int threads);

/// Make OpenBLAS take the buffers of so many threads that will call it at once, if address space is
/// limited. It waits for ever for a buffer that can't be had.
///
/// Throws   MemoryError with the bytes needed and left where they can't be had.
void reserve_blas_buffers(int threads);

}  // namespace strata

#endif
