// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_VTK_HPP
#define STRATA_APPS_VTK_HPP

#include <core/io/Strata_HostMatrix.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace strata::apps {

/// Places of the nodes of a system of order n, 2 or 3 numbers a row, from any file of a matrix.
///
/// Throws   UsageError if they have neither 2 nor 3 columns, or n is no multiple of their number;
///          as `read_matrix`.
HostMatrix read_places(std::string const& path, std::int64_t n, ReadOptions const& options);

/// Write x at its places as points in a legacy file of VTK, for ParaView and the like. A node with
/// one number has a scalar there, a node with more a vector of the first three. A third coordinate
/// or component that is not there is 0.
///
/// Result   the file appears whole or not at all.
/// Throws   IoError.
void write_vtk(std::string const& path, HostMatrix const& places, std::vector<double> const& x);

}  // namespace strata::apps

#endif
