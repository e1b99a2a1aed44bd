// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/Strata_Npy.hpp>
#include <core/io/detail/Strata_MatrixMarketStream.hpp>
#include <core/io/files/Strata_ByteSource.hpp>
#include <core/io/files/detail/Strata_NumberLayout.hpp>
#include <core/io/files/detail/Strata_ScratchFile.hpp>
#include <core/io/matrix_file/Strata_MatrixFileFormat.hpp>
#include <core/io/matrix_file/detail/Strata_RawSidecar.hpp>

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace strata {

namespace {

constexpr std::size_t buffer_bytes = 4 << 20;

void verify_checksum(FileSource const& file, std::uint32_t expected) {
  std::vector<char> buffer(buffer_bytes);
  uLong crc = 0;
  std::uint64_t offset = 0;
  while (std::size_t const got = file.read_at(offset, buffer.data(), buffer.size())) {
    crc = crc32_z(crc, reinterpret_cast<unsigned char const*>(buffer.data()), got);
    offset += got;
  }
  STRATA_REQUIRE(IoError, crc == expected, file.name(), ": the CRC-32 of the ", offset,
                 " bytes is ", std::hex, crc, ", the sidecar says ", expected);
}

}  // namespace

struct MatrixBlocks::State {
  std::unique_ptr<FileSource> file;  // none: all is in the scratch file
  std::unique_ptr<detail::ScratchFile> scratch;
  std::string path, format;
  std::int64_t n = 0, ld = 0;
  std::uint64_t offset = 0;  // of the first number
  std::uint64_t size = 0;    // of the user's file
  bool by_rows = false, lower = false;
  detail::NumberLayout numbers;

  void open(MatrixBlocksOptions const& options);
  void open_npy();
  void open_raw(MatrixBlocksOptions const& options);
  void open_text(MatrixBlocksOptions const& options);
  /// `count` numbers from element (major, minor), along the direction that is contiguous.
  void read_run(std::int64_t major, std::int64_t minor, std::int64_t count,
                std::vector<char>& bytes, double* out) const;
};

void MatrixBlocks::State::open_npy() {
  auto const header = read_npy_header(path);
  STRATA_REQUIRE(IoError, header.rank == 2 && header.rows == header.cols, path, ": the matrix is ",
                 header.rows, " x ", header.cols, ", must be square");
  n = ld = header.rows;
  by_rows = !header.fortran_order;
  numbers = detail::NumberLayout(header.dtype[2] == '4', header.dtype[0] == '<');
  file = std::make_unique<FileSource>(path);
  offset = file->size_limit() - static_cast<std::uint64_t>(n * n) * numbers.bytes();
  format = "NumPy " + header.dtype + (by_rows ? ", C order" : ", Fortran order");
}

void MatrixBlocks::State::open_raw(MatrixBlocksOptions const& options) {
  auto const sidecar = detail::read_raw_sidecar(path + ".json");
  file = std::make_unique<FileSource>(path);
  n = sidecar.n;
  ld = sidecar.ld;
  by_rows = sidecar.by_rows;
  numbers = detail::NumberLayout(sidecar.single, sidecar.little_endian);
  // the last column may end where the matrix does
  auto const found = file->size_limit(), width = std::uint64_t{numbers.bytes()};
  bool const fits =
      n == 0 || static_cast<std::uint64_t>(n) <= found / width / static_cast<std::uint64_t>(ld) + 1;
  auto const all =
      fits ? static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(ld) * width : 0;
  auto const least = n > 0 && fits ? all - static_cast<std::uint64_t>(ld - n) * width : all;
  STRATA_REQUIRE(IoError, fits && (found == all || found == least), path, ": a matrix of order ", n,
                 " with ld ", ld, " and numbers of ", width, " bytes needs ",
                 static_cast<double>(n) * static_cast<double>(ld) * static_cast<double>(width),
                 " bytes, the file has ", found);
  if (sidecar.crc32 && options.verify_checksum) verify_checksum(*file, *sidecar.crc32);
  format = detail::message("raw ", sidecar.single ? "float32" : "float64", ", ",
                           by_rows ? "by rows" : "by columns", ", ld ", ld);
}

void MatrixBlocks::State::open_text(MatrixBlocksOptions const& options) {
  auto const source =
      open_source(path, {.max_gz_ratio = options.max_gz_ratio, .on_progress = options.on_progress});
  std::int64_t i = 0, j = 0;
  auto const begin = [&](MatrixMarketHeader const& header) {
    STRATA_REQUIRE(IoError, header.format == MatrixMarketFormat::Array, path,
                   ": a coordinate file lists the entries of a sparse matrix; a dense one can be "
                   "read in blocks, from an array, .npy or raw numbers");
    STRATA_REQUIRE(IoError, header.rows == header.cols, path, ": the matrix is ", header.rows,
                   " x ", header.cols, ", must be square");
    n = ld = header.rows;
    lower = header.symmetric;
    scratch = std::make_unique<detail::ScratchFile>(options.scratch_folder);
    format = std::string("Matrix Market, array ") +
             (header.field == MatrixMarketField::Integer ? "integer " : "real ") +
             (lower ? "symmetric" : "general");
  };
  detail::read_array_entries(*source, begin, [&](double value) {
    scratch->put(static_cast<std::uint64_t>(j * n + i), value);
    if (++i == n) i = lower ? ++j : (++j, 0);
  });
  scratch->finish();
}

void MatrixBlocks::State::read_run(std::int64_t major, std::int64_t minor, std::int64_t count,
                                   std::vector<char>& bytes, double* out) const {
  auto const size = static_cast<std::size_t>(count) * numbers.bytes();
  auto const position = offset + static_cast<std::uint64_t>(major * ld + minor) * numbers.bytes();
  bytes.resize(size);
  std::size_t const got = scratch ? scratch->read_at(position, bytes.data(), size)
                                  : file->read_at(position, bytes.data(), size);
  STRATA_REQUIRE(IoError, got == size, path, ": expected ", size, " bytes from byte ", position,
                 ", found ", got, ": the file has become shorter");
  numbers.decode(bytes.data(), static_cast<std::size_t>(count), out);
}

void MatrixBlocks::State::open(MatrixBlocksOptions const& options) {
  switch (matrix_file_format(path)) {
    case MatrixFileFormat::Npy:
      return open_npy();
    case MatrixFileFormat::Raw:
      return open_raw(options);
    case MatrixFileFormat::MatrixMarket:
      return open_text(options);
    default:
      break;
  }
  throw IoError(detail::message(path, ": ", name_of(matrix_file_format(path)),
                                " can't be read in blocks; Matrix Market arrays, .npy and raw "
                                "numbers can"));
}

MatrixBlocks::MatrixBlocks(std::string const& path, MatrixBlocksOptions const& options)
    : state_("MatrixBlocks", std::make_unique<State>()) {
  state_->path = path;
  state_->size = FileSource(path).size_limit();
  state_->open(options);
}
MatrixBlocks::~MatrixBlocks() = default;
MatrixBlocks::MatrixBlocks(MatrixBlocks&&) noexcept = default;
MatrixBlocks& MatrixBlocks::operator=(MatrixBlocks&&) noexcept = default;

std::int64_t MatrixBlocks::order() const { return state_->n; }
std::string const& MatrixBlocks::format() const { return state_->format; }
bool MatrixBlocks::is_lower() const { return state_->lower; }
std::uint64_t MatrixBlocks::file_bytes() const { return state_->size; }
std::uint64_t MatrixBlocks::scratch_bytes() const {
  return state_->scratch ? state_->scratch->bytes() : 0;
}

void MatrixBlocks::read(std::int64_t row, std::int64_t col, HostBlock const& A) const {
  auto const rows = static_cast<std::int64_t>(A.extent(0)),
             cols = static_cast<std::int64_t>(A.extent(1));
  STRATA_REQUIRE(ShapeError, row >= 0 && col >= 0 && row <= order() - rows && col <= order() - cols,
                 state_->path, ": a block of ", rows, " x ", cols, " at (", row, ", ", col,
                 ") is not inside a matrix of order ", order());
  if (A.size() == 0) return;
  std::vector<char> bytes;
  if (!state_->by_rows) {
    for (std::int64_t j = 0; j < cols; ++j) state_->read_run(col + j, row, rows, bytes, &A(0, j));
    return;
  }
  constexpr std::int64_t height = 8;  // rows that are turned together
  std::vector<double> panel(static_cast<std::size_t>(height * cols));
  for (std::int64_t i0 = 0; i0 < rows; i0 += height) {
    std::int64_t const m = std::min(height, rows - i0);
    for (std::int64_t i = 0; i < m; ++i)
      state_->read_run(row + i0 + i, col, cols, bytes, panel.data() + i * cols);
    for (std::int64_t j = 0; j < cols; ++j)
      for (std::int64_t i = 0; i < m; ++i)
        A(i0 + i, j) = panel[static_cast<std::size_t>(i * cols + j)];
  }
}

std::optional<AsymmetricPair> MatrixBlocks::find_asymmetry(SymmetryCheck const& check) const {
  auto const [block_size, share, of] = check;
  STRATA_REQUIRE(ValueError, block_size >= 1, "find_asymmetry: blocks of ", block_size);
  STRATA_REQUIRE(ValueError, share >= 0 && share < of, "find_asymmetry: share ", share, " of ", of);
  if (is_lower()) return {};
  std::int64_t const n = order(), edge = std::min(n, block_size);
  std::vector<double> roots(static_cast<std::size_t>(n), -1),  // -1: not read yet
      below(static_cast<std::size_t>(edge * edge)), above(below.size());
  auto const root = [&](std::int64_t i) {
    double& value = roots[static_cast<std::size_t>(i)];
    if (value != -1) return value;
    read(i, i, HostBlock(&value, 1, 1));
    return value = std::sqrt(std::abs(value));
  };
  constexpr double tolerance = 16 * std::numeric_limits<double>::epsilon();
  std::int64_t block = -1;
  for (std::int64_t col = 0; col < n; col += edge)
    for (std::int64_t row = col; row < n; row += edge) {
      if (++block % of != share) continue;
      std::int64_t const m = std::min(edge, n - row), k = std::min(edge, n - col);
      HostBlock const L(below.data(), m, k), U(above.data(), k, m);
      read(row, col, L);
      if (row != col) read(col, row, U);
      auto const& other = row == col ? L : U;
      for (std::int64_t j = 0; j < k; ++j)
        for (std::int64_t i = row == col ? j + 1 : 0; i < m; ++i) {
          if (L(i, j) == other(j, i)) continue;
          double const bound = tolerance * root(row + i) * root(col + j);
          if (!(std::abs(L(i, j) - other(j, i)) > bound)) continue;
          return AsymmetricPair{
              block, detail::message(state_->path, ": the matrix is not symmetric: A(", row + i + 1,
                                     ", ", col + j + 1, ") = ", L(i, j), " but A(", col + j + 1,
                                     ", ", row + i + 1, ") = ", other(j, i))};
        }
    }
  return {};
}

void MatrixBlocks::require_symmetric(std::int64_t block_size) const {
  if (auto const found = find_asymmetry({.block_size = block_size})) throw IoError(found->text);
}

}  // namespace strata
