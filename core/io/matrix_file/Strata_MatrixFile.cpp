// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/matrix_file/Strata_MatrixFile.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/Strata_Npy.hpp>
#include <core/io/Strata_Npz.hpp>
#include <core/io/Strata_PetscMatrix.hpp>
#include <core/io/files/Strata_ByteSource.hpp>
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>
#include <core/io/matrix_file/detail/Strata_ColumnsStream.hpp>

#include <algorithm>
#include <cstdint>

namespace strata {

namespace {

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
    case MatrixFileFormat::Npz:
      if (read_npz_header(path).is_sparse) return to_dense(read_sparse_npz(path, options), options);
      return read_npz(path, options).values;
    case MatrixFileFormat::Petsc:
      if (read_petsc_header(path).is_vector) return read_petsc_vector(path, options);
      return to_dense(read_petsc_matrix(path, options), options);
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
  auto const format = promised_format(path);
  STRATA_REQUIRE(ValueError, format && format != MatrixFileFormat::Npz, path,
                 ": no format is known by this name; a matrix is written as .npy, .mtx, .mtx.gz, "
                 ".csv or .txt");
}

void write_matrix(std::string const& path, ConstHostMatrix const& A,
                  std::function<void(double)> const& on_progress) {
  require_matrix_name(path);
  switch (*promised_format(path)) {
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
