// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/Strata_MatrixFile.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/Strata_ByteSource.hpp>
#include <core/io/Strata_MatrixBlocks.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/Strata_Npy.hpp>
#include <core/io/detail/Strata_ColumnsStream.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace strata {

namespace {

// What the ending of a file's name promises.
std::optional<MatrixFileFormat> promised(std::string_view path) {
  if (path.ends_with(".mtx") || path.ends_with(".mtx.gz")) return MatrixFileFormat::MatrixMarket;
  if (path.ends_with(".npy")) return MatrixFileFormat::Npy;
  if (path.ends_with(".csv") || path.ends_with(".txt")) return MatrixFileFormat::Columns;
  return {};
}

// Formats that are common and not read, by their first bytes, and the way out of each.
void refuse_others(std::string const& path, std::string_view first) {
  constexpr std::string_view petsc("\0\x12\x7b\x50", 4);
  constexpr std::pair<std::string_view, char const*> others[] = {
      {"PK\x03\x04",
       "an archive (.npz, .zip); write the one array in it with numpy.save as .npy, or a sparse "
       "matrix with scipy.io.mmwrite as .mtx"},
      {"BZh", "compressed by bzip2; bunzip2 it, or compress it by gzip"},
      {"\xfd"
       "7zX",
       "compressed by xz; unxz it, or compress it by gzip"},
      {"MATL", "a file of MATLAB (.mat); scipy.io.loadmat reads it, scipy.io.mmwrite writes .mtx"},
      {"\x89HDF", "a file of HDF5 (.mat, .h5); h5py reads it, scipy.io.mmwrite writes .mtx"},
      {petsc,
       "a binary matrix of PETSc; MatView with the format ascii_matrixmarket writes it as .mtx"}};
  for (auto const& [begin, what] : others)
    STRATA_REQUIRE(IoError, !first.starts_with(begin), path, ": ", what);
}

// What the first bytes tell; text that is not Matrix Market can be anything.
std::optional<MatrixFileFormat> shown(std::string const& path) {
  char bytes[4] = {};
  std::size_t const got = FileSource(path).read_at(0, bytes, sizeof bytes);
  std::string_view const first(bytes, got);
  if (first.starts_with('\x93')) return MatrixFileFormat::Npy;
  refuse_others(path, first);
  bool const is_market = is_gzip(bytes, got) || first.starts_with("%%");
  if (is_market) return MatrixFileFormat::MatrixMarket;
  std::error_code error;
  if (std::filesystem::exists(path + ".json", error)) return MatrixFileFormat::Raw;
  return {};
}

HostMatrix read_raw(std::string const& path, ReadOptions const& options) {
  MatrixBlocks const blocks(path);
  std::int64_t const n = blocks.order(), width = std::max<std::int64_t>(64, n / 64);
  auto const A = allocate_host_matrix("strata::read_matrix", n, n, options.max_bytes);
  for (std::int64_t col = 0; col < n; col += width) {
    std::int64_t const end = std::min(n, col + width);
    blocks.read(
        0, col,
        HostBlock(&A(0, col), static_cast<std::size_t>(n), static_cast<std::size_t>(end - col)));
    if (options.on_progress) options.on_progress(static_cast<double>(end) / static_cast<double>(n));
  }
  return A;
}

// What is wrong with the matrix is wrong with the file: name it.
template <class Read>
HostMatrix blame_file(std::string const& path, Read const& read) {
  try {
    return read();
  } catch (ShapeError const& error) {
    throw IoError(path + ": " + error.what());
  } catch (ValueError const& error) {
    throw IoError(path + ": " + error.what());
  }
}

HostMatrix read(std::string const& path, MatrixFileFormat format, ReadOptions const& options) {
  switch (format) {
    case MatrixFileFormat::Npy:
      return read_npy(path, options).values;
    case MatrixFileFormat::Raw:
      return read_raw(path, options);
    case MatrixFileFormat::Columns:
      return detail::read_columns(*open_source(path, options), options);
    case MatrixFileFormat::MatrixMarket:
      break;
  }
  return to_dense(read_matrix_market(path, options), options);
}

}  // namespace

MatrixFileFormat matrix_file_format(std::string const& path) {
  auto const by_name = promised(path), by_content = shown(path);
  bool const agree =
      !by_name || !by_content || *by_name == *by_content || *by_content == MatrixFileFormat::Raw;
  STRATA_REQUIRE(IoError, agree, path, ": by its name ", name_of(*by_name), ", by its content ",
                 name_of(*by_content), ": rename it");
  STRATA_REQUIRE(IoError, by_content || by_name != MatrixFileFormat::Npy, path,
                 ": by its name a .npy file of NumPy, but it does not begin as one");
  return by_content ? *by_content : by_name.value_or(MatrixFileFormat::MatrixMarket);
}

HostMatrix read_matrix(std::string const& path, ReadOptions const& options) {
  auto const format = matrix_file_format(path);
  return blame_file(path, [&] { return read(path, format, options); });
}

HostMatrix read_symmetric_matrix(std::string const& path, ReadOptions const& options) {
  auto const format = matrix_file_format(path);
  return blame_file(path, [&] {
    if (format == MatrixFileFormat::MatrixMarket)
      return to_dense_symmetric(read_matrix_market(path, options), options);
    auto const A = read(path, format, options);
    symmetrize(A);
    return A;
  });
}

void require_matrix_name(std::string const& path) {
  STRATA_REQUIRE(ValueError, promised(path), path,
                 ": no format is known by this name; a matrix is written as .npy, .mtx, .mtx.gz, "
                 ".csv or .txt");
}

void write_matrix(std::string const& path, ConstHostMatrix const& A,
                  std::function<void(double)> const& on_progress) {
  require_matrix_name(path);
  switch (*promised(path)) {
    case MatrixFileFormat::Npy:
      return write_npy(path, A, {.rank = A.extent(1) == 1 ? 1 : 2, .on_progress = on_progress});
    case MatrixFileFormat::MatrixMarket: {
      auto const how = path.ends_with(".gz") ? Compression::Gzip : Compression::None;
      return write_matrix_market(path, A, {.compression = how, .on_progress = on_progress});
    }
    default:
      break;
  }
  AtomicFile file(path);
  detail::write_columns(file, A, path.ends_with(".csv") ? ',' : ' ', on_progress);
}

}  // namespace strata
