// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/solve/Strata_Vtk.hpp>

#include <apps/shared/Strata_Exit.hpp>
#include <core/io/files/Strata_ByteSink.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>

#include <cstddef>

namespace strata::apps {

namespace {

constexpr std::size_t dimensions = 3;  // of points and vectors in VTK

// Three numbers a line, `at`(row, component).
template <class At>
void add_triples(TextWriter& text, std::size_t rows, At const& at) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < dimensions; ++k)
      text << at(i, k) << (k + 1 < dimensions ? ' ' : '\n');
}

}  // namespace

HostMatrix read_places(std::string const& path, std::int64_t n, ReadOptions const& options) {
  auto const places = read_matrix(path, options);
  auto const nodes = static_cast<std::int64_t>(places.extent(0));
  require(places.extent(1) == 2 || places.extent(1) == dimensions, path, ": ", places.extent(0),
          " x ", places.extent(1), " numbers, must be 2 or 3 coordinates a node");
  require(nodes > 0 && n % nodes == 0, path, ": ", nodes, " nodes do not fit the matrix of order ",
          n, ", which must be a multiple");
  return places;
}

void write_vtk(std::string const& path, HostMatrix const& places, std::vector<double> const& x) {
  std::size_t const nodes = places.extent(0), unknowns = x.size() / nodes;
  auto const count = static_cast<std::int64_t>(nodes);
  AtomicFile file(path);
  TextWriter text(file);
  text << "# vtk DataFile Version 3.0\nx of strata solve\nASCII\nDATASET POLYDATA\nPOINTS " << count
       << " double\n";
  add_triples(text, nodes, [&](std::size_t i, std::size_t k) {
    return k < places.extent(1) ? places(i, k) : 0.0;
  });
  text << "VERTICES " << count << ' ' << 2 * count << '\n';
  for (std::int64_t i = 0; i < count; ++i) text << "1 " << i << '\n';
  text << "POINT_DATA " << count << '\n';
  if (unknowns == 1) {
    text << "SCALARS x double 1\nLOOKUP_TABLE default\n";
    for (double const number : x) text << number << '\n';
  } else {
    text << "VECTORS x double\n";
    add_triples(text, nodes, [&](std::size_t i, std::size_t k) {
      return k < unknowns ? x[i * unknowns + k] : 0.0;
    });
  }
  text.finish();
}

}  // namespace strata::apps
