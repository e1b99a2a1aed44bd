// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_SPARSE_DETAIL_ALLOCATE_HPP
#define STRATA_SPARSE_DETAIL_ALLOCATE_HPP

#include <Kokkos_Core.hpp>
#include <core/Strata_Errors.hpp>
#include <cstdint>
#include <exception>
#include <string>

namespace strata::sparse::detail {

/// A View of `n` elements without values.
///
/// Throws   MemoryError with the label and the bytes.
template <class View, class Exec>
View allocate(Exec const& exec, std::string const& label, std::int64_t n) {
  try {
    return View(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label), n);
  } catch (std::exception const& failure) {
    throw MemoryError(
        strata::detail::message(label, ": can't allocate ",
                                n * static_cast<std::int64_t>(sizeof(typename View::value_type)),
                                " bytes: ", failure.what()));
  }
}

}  // namespace strata::sparse::detail

#endif
