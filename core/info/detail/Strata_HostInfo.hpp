// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_HOST_INFO_HPP
#define STRATA_HOST_INFO_HPP

#include <core/info/Strata_Version.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace strata::detail {

Host host();

/// The units that multiply small-format matrices or vectors: present and enabled by the system.
std::vector<std::string> matrix_units();

/// `root` is where the system's pseudo-files are found; tests give another.
std::size_t available_memory_bytes(std::string const& root = "");

}  // namespace strata::detail

#endif
