// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/Strata_Npy.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/detail/Strata_NpyStream.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>
#include <core/io/files/detail/Strata_LineReader.hpp>
#include <core/io/files/detail/Strata_NumberLayout.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace strata {

namespace detail {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_header = 1 << 16;
constexpr std::size_t chunk_elements = 1 << 19;  // 4 MiB in fp64

void read_exactly(ByteSource& source, char* buffer, std::size_t size, char const* what) {
  auto const got = source.read(buffer, size);
  STRATA_REQUIRE(IoError, got == size, source.name(), ": expected ", size, " bytes of ", what,
                 ", found ", got);
}

// The length of the dict, from the bytes before it; adds their number to `position`.
std::size_t read_preamble(ByteSource& source, std::uint64_t& position) {
  unsigned char bytes[12] = {};
  auto const text = reinterpret_cast<char*>(bytes);
  auto const got = source.read(text, 8);
  STRATA_REQUIRE(IoError, got == 8 && std::string_view(text, magic.size()) == magic, source.name(),
                 ": not a .npy file: it does not begin with \\x93NUMPY",
                 is_gzip(text, got) ? " (it is a gzip file; inflate it first)" : "");
  int const major = bytes[6], minor = bytes[7];
  STRATA_REQUIRE(IoError, major >= 1 && major <= 3 && minor == 0, source.name(), ": .npy version ",
                 major, '.', minor, " is not supported, only 1.0, 2.0 and 3.0");
  std::size_t const length_bytes = major == 1 ? 2 : 4;
  read_exactly(source, text + 8, length_bytes, "the header's length");
  std::size_t length = 0;
  for (std::size_t k = length_bytes; k-- > 0;) length = length << 8 | bytes[8 + k];
  position = 8 + length_bytes;
  STRATA_REQUIRE(IoError, length <= longest_header, source.name(), ": a .npy header of ", length,
                 " bytes; the limit is ", longest_header);
  return length;
}

// Of '<f8' 8, of '<U3' 12; 0 of what has no such number.
std::size_t element_bytes(NpyHeader const& header) {
  std::string_view const dtype = header.dtype;
  std::uint64_t size = 0;
  bool const has_size = dtype.size() >= 3 && !parse_number(dtype.substr(2), size);
  if (!has_size || size > 1 << 16) return 0;
  return dtype[1] == 'U' ? 4 * size : size;
}

NpyHeader read_header(ByteSource& source, NpyKinds kinds = NpyKinds::Numbers) {
  std::uint64_t position = 0;
  auto const length = read_preamble(source, position);
  STRATA_REQUIRE(IoError, length <= source.size_limit() - position, source.name(),
                 ": expected a .npy header of ", length, " bytes, the file has ",
                 source.size_limit() - position, " left");
  std::string text(length, '\0');
  read_exactly(source, text.data(), length, "the header");
  auto const header = parse_npy_dict(source.name(), text, kinds);

  auto const rest = source.size_limit() - position - length;
  auto const m = static_cast<std::uint64_t>(header.rows),
             n = static_cast<std::uint64_t>(header.cols);
  auto const size = element_bytes(header);
  STRATA_REQUIRE(IoError, size > 0, source.name(), ": dtype ", excerpt(header.dtype),
                 " is not supported");
  bool const fits = m == 0 || n <= rest / size / m;
  STRATA_REQUIRE(IoError, fits && m * n * size == rest, source.name(), ": a ", m, " x ", n,
                 " array of '", header.dtype, "' needs ", double(m) * double(n) * double(size),
                 " bytes, the file has ", rest, " after its header");
  // a matrix of no elements is cheap to promise: keep loops over its other extent short
  constexpr std::uint64_t longest_empty = 1 << 30;
  STRATA_REQUIRE(IoError, rest > 0 || std::max(m, n) <= longest_empty, source.name(),
                 ": an array without elements of ", m, " x ", n);
  return header;
}

// The file's elements in their order, as fp64.
class ElementReader {
 public:
  ElementReader(ByteSource& source, NpyHeader const& header)
      : source_(source),
        layout_(element_bytes(header) == 4, header.dtype[0] == '<'),
        stage_(layout_.is_native() ? 0 : chunk_elements * layout_.bytes()) {}

  // Read the next `count` elements, at most a chunk; the index of the first that is not finite, or
  // `count`.
  std::size_t read(double* out, std::size_t count) {
    if (layout_.is_native()) {
      read_exactly(source_, reinterpret_cast<char*>(out), count * sizeof(double), "data");
    } else {
      read_exactly(source_, stage_.data(), count * layout_.bytes(), "data");
      layout_.decode(stage_.data(), count, out);
    }
    return first_not_finite(out, count);
  }

 private:
  static std::size_t first_not_finite(double const* x, std::size_t count) {
    constexpr auto largest = std::numeric_limits<double>::max();
    bool finite = true;
    for (std::size_t k = 0; k < count; ++k) finite &= std::abs(x[k]) <= largest;
    if (finite) return count;
    return static_cast<std::size_t>(
        std::find_if_not(x, x + count, [](double v) { return std::isfinite(v); }) - x);
  }

  ByteSource& source_;
  NumberLayout layout_;
  std::vector<char> stage_;
};

[[noreturn]] void fail_not_finite(ByteSource const& source, std::size_t i, std::size_t j,
                                  double value) {
  throw IoError(
      message(source.name(), ": element (", i + 1, ", ", j + 1, ") = ", value, " is not finite"));
}

void read_columns(ByteSource& source, ElementReader& elements, HostMatrix const& A) {
  for (std::size_t k = 0; k < A.size(); k += chunk_elements) {
    auto const count = std::min(chunk_elements, A.size() - k);
    auto const bad = k + elements.read(A.data() + k, count);
    if (bad < k + count)
      fail_not_finite(source, bad % A.extent(0), bad / A.extent(0), A.data()[bad]);
  }
}

// panel: m x n by rows, to the block of A at (i0, j0), by tiles that stay in cache.
void transpose(std::vector<double> const& panel, std::size_t m, std::size_t n, HostMatrix const& A,
               std::size_t i0, std::size_t j0) {
  constexpr std::size_t tile = 8;
  for (std::size_t ii = 0; ii < m; ii += tile)
    for (std::size_t jj = 0; jj < n; jj += tile)
      for (std::size_t j = jj; j < std::min(n, jj + tile); ++j)
        for (std::size_t i = ii; i < std::min(m, ii + tile); ++i)
          A(i0 + i, j0 + j) = panel[i * n + j];
}

void read_rows(ByteSource& source, ElementReader& elements, HostMatrix const& A) {
  auto const rows = A.extent(0), cols = A.extent(1);
  // whole rows where one fits a chunk, else pieces of one row
  auto const height = std::max<std::size_t>(1, std::min(rows, chunk_elements / cols));
  auto const width = std::min(cols, chunk_elements);
  std::vector<double> panel(height * width);
  for (std::size_t i = 0; i < rows; i += height)
    for (std::size_t j = 0; j < cols; j += width) {
      auto const m = std::min(height, rows - i), n = std::min(width, cols - j);
      auto const bad = elements.read(panel.data(), m * n);
      if (bad < m * n) fail_not_finite(source, i + bad / n, j + bad % n, panel[bad]);
      transpose(panel, m, n, A, i, j);
    }
}

std::string header_text(ConstHostMatrix const& A, NpyWriteOptions const& options) {
  STRATA_REQUIRE(ShapeError, options.rank == 2 || (options.rank == 1 && A.extent(1) == 1),
                 "write_npy: rank ", options.rank, " of a ", A.extent(0), " x ", A.extent(1),
                 " matrix");
  std::string const shape = options.rank == 1 ? message('(', A.extent(0), ",)")
                                              : message('(', A.extent(0), ", ", A.extent(1), ')');
  char const byte_order = std::endian::native == std::endian::little ? '<' : '>';
  bool const fortran = options.order == NpyOrder::Fortran;
  auto dict =
      message("{'descr': '", byte_order, "f8', 'fortran_order': ", fortran ? "True" : "False",
              ", 'shape': ", shape, ", }");
  constexpr std::size_t preamble = 10, alignment = 64;
  dict.append((alignment - (preamble + dict.size() + 1) % alignment) % alignment, ' ') += '\n';
  std::string text(magic);
  text += {'\1', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return text + dict;
}

void write_columns(ByteSink& sink, ConstHostMatrix const& A, WrittenPart part) {
  for (std::size_t j = 0; j < A.extent(1); ++j) {
    sink.write(reinterpret_cast<char const*>(&A(0, j)), A.extent(0) * sizeof(double));
    part.add(A.extent(0));
  }
}

void write_rows(ByteSink& sink, ConstHostMatrix const& A, WrittenPart part) {
  auto const rows = A.extent(0), cols = A.extent(1);
  auto const height = std::max<std::size_t>(1, std::min(rows, chunk_elements / cols));
  std::vector<double> panel(height * cols);
  constexpr std::size_t tile = 8;
  for (std::size_t i0 = 0; i0 < rows; i0 += height) {
    auto const m = std::min(height, rows - i0);
    for (std::size_t jj = 0; jj < cols; jj += tile)
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = jj; j < std::min(cols, jj + tile); ++j)
          panel[i * cols + j] = A(i0 + i, j);
    sink.write(reinterpret_cast<char const*>(panel.data()), m * cols * sizeof(double));
    part.add(m * cols);
  }
}

}  // namespace

NpyHeader read_npy_header(ByteSource& source, NpyKinds kinds) { return read_header(source, kinds); }

std::vector<std::int64_t> read_npy_integers(ByteSource& source, ReadOptions const& options) {
  auto const header = read_header(source, NpyKinds::Any);
  std::string_view const dtype = header.dtype;
  bool const is_wide = dtype.ends_with("i8"), is_whole = is_wide || dtype.ends_with("i4");
  STRATA_REQUIRE(IoError, is_whole && dtype.size() == 3 && header.cols == 1, source.name(),
                 ": an array of rank ", header.rank, " and dtype ", excerpt(dtype),
                 ", must have rank 0 or 1 and 'i4' or 'i8'");
  auto const count = static_cast<std::size_t>(header.rows);
  STRATA_REQUIRE(MemoryError, count <= options.max_bytes / sizeof(std::int64_t), source.name(),
                 ": ", count, " numbers need 8 bytes each; the limit is ", options.max_bytes,
                 " bytes");
  bool const swaps = (dtype[0] == '>') == (std::endian::native == std::endian::little);
  std::size_t const size = is_wide ? 8 : 4;
  std::vector<std::int64_t> numbers(count);
  std::vector<char> stage(std::min(count, chunk_elements) * size);
  for (std::size_t k = 0; k < count; k += chunk_elements) {
    auto const some = std::min(chunk_elements, count - k);
    read_exactly(source, stage.data(), some * size, "data");
    for (std::size_t i = 0; i < some; ++i) {
      char* const bytes = stage.data() + i * size;
      if (swaps) std::reverse(bytes, bytes + size);
      std::int32_t narrow = 0;
      if (is_wide)
        std::memcpy(&numbers[k + i], bytes, size);
      else
        std::memcpy(&narrow, bytes, size), numbers[k + i] = narrow;
    }
  }
  return numbers;
}

std::string read_npy_text(ByteSource& source) {
  constexpr std::size_t most = 64;
  auto const header = read_header(source, NpyKinds::Any);
  char const kind = header.dtype[1];
  std::size_t const bytes = element_bytes(header);
  STRATA_REQUIRE(IoError, header.rank == 0 && (kind == 'S' || kind == 'U') && bytes <= most,
                 source.name(), ": an array of rank ", header.rank, " and dtype ",
                 excerpt(header.dtype), ", must be one short text");
  char text[most] = {};
  read_exactly(source, text, bytes, "data");
  std::string found;
  for (char const c : std::string_view(text, bytes))
    if (c > ' ' && c < '\x7f') found += c;
  return found;
}

NpyMatrix read_npy(ByteSource& source, ReadOptions const& options) {
  auto const header = read_header(source);
  auto const A =
      allocate_host_matrix("strata::read_npy", header.rows, header.cols, options.max_bytes);
  ElementReader elements(source, header);
  bool const by_columns = header.fortran_order || header.rows == 1 || header.cols == 1;
  bool const some = A.extent(0) > 0 && A.extent(1) > 0;
  if (some) by_columns ? read_columns(source, elements, A) : read_rows(source, elements, A);
  return {A, header};
}

void write_npy(ByteSink& sink, ConstHostMatrix const& A, NpyWriteOptions const& options) {
  auto const header = header_text(A, options);
  sink.write(header.data(), header.size());
  WrittenPart const part(A.size(), options.on_progress);
  if (A.extent(0) > 0 && A.extent(1) > 0)
    options.order == NpyOrder::Fortran ? write_columns(sink, A, part) : write_rows(sink, A, part);
  sink.finish();
}

}  // namespace detail

NpyHeader read_npy_header(std::string const& path) {
  FileSource source(path);
  return detail::read_header(source);
}

NpyMatrix read_npy(std::string const& path, ReadOptions const& options) {
  FileSource source(path, options.on_progress);
  return detail::read_npy(source, options);
}

void write_npy(std::string const& path, ConstHostMatrix const& A, NpyWriteOptions const& options) {
  detail::header_text(A, options);  // refuse before there is a file
  AtomicFile file(path);
  detail::write_npy(file, A, options);
}

}  // namespace strata
