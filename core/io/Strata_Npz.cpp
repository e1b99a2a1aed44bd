// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/Strata_Npz.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/detail/Strata_MatrixMarketStream.hpp>
#include <core/io/detail/Strata_NpyStream.hpp>
#include <core/io/detail/Strata_ZipArchive.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace strata {

namespace detail {

namespace {

// Binary numbers, which may be equal, are packed further than text. The default is more than
// deflate can do; the sizes in the headers bound memory.
double ratio_of(ReadOptions const& options) { return 6 * options.max_gz_ratio; }

std::unique_ptr<ByteSource> member(ZipArchive const& archive, std::string const& name,
                                   ReadOptions const& options) {
  auto const* const found = archive.find(name + ".npy");
  STRATA_REQUIRE(IoError, found, archive.name(), ": SciPy's sparse matrix has a member ", name,
                 ".npy, the archive has none");
  return archive.open(*found, ratio_of(options));
}

bool is_sparse(ZipArchive const& archive) { return archive.find("format.npy") != nullptr; }

ZipArchive::Member const& only_array(ZipArchive const& archive) {
  auto const& members = archive.members();
  std::string names;
  for (auto const& one : members)
    if (names.size() < 60) names += (names.empty() ? "" : ", ") + one.name;
  STRATA_REQUIRE(IoError, members.size() == 1, archive.name(), ": an archive of ", members.size(),
                 " members (", names, "), must have one array, or be SciPy's sparse matrix");
  return members.front();
}

NpzHeader read_sparse_header(ZipArchive const& archive, ReadOptions const& options) {
  NpzHeader header;
  header.is_sparse = true;
  header.format = read_npy_text(*member(archive, "format", options));
  bool const is_known = header.format == "csr" || header.format == "csc" || header.format == "coo";
  STRATA_REQUIRE(IoError, is_known, archive.name(), ": SciPy's format '", header.format,
                 "' is not read, only csr, csc and coo; scipy.sparse.save_npz(FILE, A.tocsr()) "
                 "writes one of them");
  auto const shape = read_npy_integers(*member(archive, "shape", options), options);
  STRATA_REQUIRE(IoError, shape.size() == 2 && shape[0] >= 0 && shape[1] >= 0, archive.name(),
                 ": a shape of ", shape.size(), " numbers, must be two that are not negative");
  header.rows = shape[0], header.cols = shape[1];
  header.entries = read_npy_header(*member(archive, "data", options), NpyKinds::Any).rows;
  return header;
}

void require_index(ZipArchive const& archive, std::int64_t index, std::int64_t extent,
                   char const* what, std::size_t k) {
  STRATA_REQUIRE(IoError, index >= 0 && index < extent, archive.name(), ": entry ", k, " has the ",
                 what, ' ', index, ", there are ", extent, " (from 0)");
}

// The line of each entry, from the pointers to the begin of each line.
std::vector<std::int64_t> lines_of(ZipArchive const& archive,
                                   std::vector<std::int64_t> const& begin, std::int64_t lines,
                                   std::int64_t entries) {
  bool const fits = !begin.empty() && static_cast<std::int64_t>(begin.size()) - 1 == lines &&
                    begin.front() == 0 && begin.back() == entries;
  STRATA_REQUIRE(IoError, fits, archive.name(), ": indptr has ", begin.size(), " numbers, from ",
                 begin.empty() ? 0 : begin.front(), " to ", begin.empty() ? 0 : begin.back(),
                 ", for ", lines, " lines with ", entries, " entries");
  std::vector<std::int64_t> line;
  line.reserve(static_cast<std::size_t>(entries));
  for (std::int64_t i = 0; i < lines; ++i) {
    auto const first = begin[static_cast<std::size_t>(i)],
               end = begin[static_cast<std::size_t>(i) + 1];
    STRATA_REQUIRE(IoError, first <= end && end <= entries, archive.name(), ": line ", i,
                   " is from ", first, " to ", end, " of ", entries, " entries");
    line.insert(line.end(), static_cast<std::size_t>(end - first), i);
  }
  return line;
}

}  // namespace

NpzHeader read_npz_header(ZipArchive const& archive, ReadOptions const& options) {
  if (is_sparse(archive)) return read_sparse_header(archive, options);
  auto const header = read_npy_header(*archive.open(only_array(archive), ratio_of(options)));
  return {false, "", header.rows, header.cols, 0};
}

CoordinateMatrix read_sparse_npz(ZipArchive const& archive, ReadOptions const& options) {
  STRATA_REQUIRE(IoError, is_sparse(archive), archive.name(),
                 ": an archive without format.npy: it is no sparse matrix of SciPy's");
  auto const header = read_sparse_header(archive, options);
  constexpr std::size_t bytes = 5 * sizeof(std::int64_t);
  STRATA_REQUIRE(MemoryError, static_cast<std::size_t>(header.entries) <= options.max_bytes / bytes,
                 archive.name(), ": ", header.entries, " entries need ", bytes,
                 " bytes each; the limit is ", options.max_bytes, " bytes");
  auto const values = read_npy(*member(archive, "data", options), options);
  STRATA_REQUIRE(IoError, values.header.rank == 1, archive.name(), ": data has rank ",
                 values.header.rank, ", must have 1");
  CoordinateMatrix A{header.rows, header.cols, false, {}, {}, {}};
  A.value.assign(values.values.data(), values.values.data() + header.entries);
  auto const integers = [&](char const* name) {
    return read_npy_integers(*member(archive, name, options), options);
  };
  bool const by_rows = header.format == "csr";
  if (header.format == "coo") {
    A.row = integers("row");
    A.col = integers("col");
  } else {
    auto line = lines_of(archive, integers("indptr"), by_rows ? A.rows : A.cols, header.entries);
    (by_rows ? A.row : A.col) = std::move(line);
    (by_rows ? A.col : A.row) = integers("indices");
  }
  STRATA_REQUIRE(IoError, A.row.size() == A.value.size() && A.col.size() == A.value.size(),
                 archive.name(), ": ", A.row.size(), " rows and ", A.col.size(), " columns for ",
                 A.value.size(), " values");
  for (std::size_t k = 0; k < A.value.size(); ++k) {
    require_index(archive, A.row[k], A.rows, "row", k);
    require_index(archive, A.col[k], A.cols, "column", k);
  }
  take_duplicates(archive.name(), A, header.entries, options);
  return A;
}

NpyMatrix read_npz(ZipArchive const& archive, ReadOptions const& options) {
  STRATA_REQUIRE(IoError, !is_sparse(archive), archive.name(),
                 ": SciPy's sparse matrix, must be one array");
  return read_npy(*archive.open(only_array(archive), ratio_of(options)), options);
}

}  // namespace detail

NpzHeader read_npz_header(std::string const& path) {
  return detail::read_npz_header(detail::ZipArchive(detail::placed_bytes(path)), {});
}

CoordinateMatrix read_sparse_npz(std::string const& path, ReadOptions const& options) {
  return detail::read_sparse_npz(detail::ZipArchive(detail::placed_bytes(path)), options);
}

NpyMatrix read_npz(std::string const& path, ReadOptions const& options) {
  return detail::read_npz(detail::ZipArchive(detail::placed_bytes(path)), options);
}

}  // namespace strata
