// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/Strata_PetscMatrix.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/detail/Strata_MatrixMarketStream.hpp>
#include <core/io/files/Strata_ByteSource.hpp>
#include <core/io/files/detail/Strata_NumberLayout.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace strata {

namespace detail {

namespace {

constexpr std::int64_t matrix_class = 1211216, vector_class = 1211214;
constexpr std::size_t chunk_numbers = 1 << 16;

/// Big-endian numbers in their order.
class BigEndianNumbers {
 public:
  explicit BigEndianNumbers(ByteSource& source) : source_(source) {}

  void set_wide(bool is_wide) { is_wide_ = is_wide; }
  std::uint64_t integer_bytes() const { return is_wide_ ? 8 : 4; }
  std::uint64_t left() const { return source_.size_limit() - taken_; }

  // integer(k, value) for each of the next ones.
  template <class Take>
  void integers(std::int64_t count, char const* what, Take const& take) {
    each(count, integer_bytes(), what, [&](std::int64_t k, unsigned char const* bytes) {
      std::uint64_t value = 0;
      for (std::size_t b = 0; b < integer_bytes(); ++b) value = value << 8 | bytes[b];
      take(k, is_wide_ ? static_cast<std::int64_t>(value)
                       : std::int64_t{static_cast<std::int32_t>(value)});
    });
  }
  std::int64_t integer(char const* what) {
    std::int64_t found = 0;
    integers(1, what, [&](std::int64_t, std::int64_t value) { found = value; });
    return found;
  }
  // The next ones in fp64; throws for what is not finite.
  void reals(std::int64_t count, double* out) {
    NumberLayout const layout(false, false);
    each(count, sizeof(double), "values", [&](std::int64_t k, unsigned char const* bytes) {
      layout.decode(reinterpret_cast<char const*>(bytes), 1, out + k);
      STRATA_REQUIRE(IoError, std::isfinite(out[k]), source_.name(), ": value ", k, " is ", out[k],
                     ", must be finite");
    });
  }

 private:
  template <class Take>
  void each(std::int64_t count, std::uint64_t bytes, char const* what, Take const& take) {
    std::vector<char> stage(static_cast<std::size_t>(std::min<std::int64_t>(count, chunk_numbers) *
                                                     static_cast<std::int64_t>(bytes)));
    for (std::int64_t k = 0; k < count; k += chunk_numbers) {
      auto const some = std::min<std::int64_t>(chunk_numbers, count - k);
      auto const wanted = static_cast<std::size_t>(some) * bytes;
      auto const got = source_.read(stage.data(), wanted);
      taken_ += got;
      STRATA_REQUIRE(IoError, got == wanted, source_.name(), ": expected ", wanted, " bytes of ",
                     what, ", found ", got);
      auto const* at = reinterpret_cast<unsigned char const*>(stage.data());
      for (std::int64_t i = 0; i < some; ++i, at += bytes) take(k + i, at);
    }
  }

  ByteSource& source_;
  bool is_wide_ = false;
  std::uint64_t taken_ = 0;
};

// The class number has 32 bits, or 64 that begin with 0.
std::int64_t read_class(BigEndianNumbers& numbers, PetscHeader& header) {
  std::int64_t found = numbers.integer("a class number");
  header.has_wide_indices = found == 0;
  if (header.has_wide_indices) found = numbers.integer("a class number");
  numbers.set_wide(header.has_wide_indices);
  return found;
}

PetscHeader read_header(ByteSource& source, BigEndianNumbers& numbers) {
  PetscHeader header;
  auto const number = read_class(numbers, header);
  STRATA_REQUIRE(IoError, number == matrix_class || number == vector_class, source.name(),
                 ": no binary matrix or vector of PETSc: the class number is ", number);
  header.is_vector = number == vector_class;
  header.rows = numbers.integer("the number of rows");
  header.cols = header.is_vector ? 1 : numbers.integer("the number of columns");
  header.entries = header.is_vector ? 0 : numbers.integer("the number of entries");
  STRATA_REQUIRE(IoError, header.is_vector || header.entries != -1, source.name(),
                 ": a dense matrix of PETSc; MatConvert to MATAIJ writes a sparse one");
  bool const is_sound = header.rows >= 0 && header.cols >= 0 && header.entries >= 0;
  STRATA_REQUIRE(IoError, is_sound, source.name(), ": a matrix of ", header.rows, " x ",
                 header.cols, " with ", header.entries, " entries");
  auto const rows = static_cast<std::uint64_t>(header.rows),
             entries = static_cast<std::uint64_t>(header.entries), left = numbers.left(),
             integer = numbers.integer_bytes();
  std::uint64_t const each_row = header.is_vector ? sizeof(double) : integer,
                      each_entry = integer + sizeof(double);
  bool const fits = rows <= left / each_row && entries <= (left - rows * each_row) / each_entry;
  STRATA_REQUIRE(IoError, fits, source.name(), ": ", header.rows, " rows and ", header.entries,
                 " entries need more bytes than the ", left, " behind the header");
  std::uint64_t const complex =
      header.is_vector ? 16 * rows : rows * integer + entries * (integer + 16);
  STRATA_REQUIRE(IoError, left != complex || rows == 0 || (!header.is_vector && entries == 0),
                 source.name(),
                 ": numbers of 16 bytes, as a PETSc with complex numbers writes; "
                 "only real ones are read");
  return header;
}

}  // namespace

PetscHeader read_petsc_header(ByteSource& source) {
  BigEndianNumbers numbers(source);
  return read_header(source, numbers);
}

CoordinateMatrix read_petsc_matrix(ByteSource& source, ReadOptions const& options) {
  BigEndianNumbers numbers(source);
  auto const header = read_header(source, numbers);
  STRATA_REQUIRE(IoError, !header.is_vector, source.name(),
                 ": a vector of PETSc, where a matrix is wanted");
  constexpr std::size_t bytes = 3 * sizeof(double);
  STRATA_REQUIRE(MemoryError, static_cast<std::size_t>(header.entries) <= options.max_bytes / bytes,
                 source.name(), ": ", header.entries, " entries need ", bytes,
                 " bytes each; the limit is ", options.max_bytes, " bytes");
  CoordinateMatrix A{header.rows, header.cols, false, {}, {}, {}};
  A.row.reserve(static_cast<std::size_t>(header.entries));
  numbers.integers(header.rows, "row lengths", [&](std::int64_t i, std::int64_t length) {
    auto const found = static_cast<std::int64_t>(A.row.size());
    STRATA_REQUIRE(IoError, length >= 0 && length <= header.entries - found, source.name(),
                   ": row ", i, " has ", length, " of ", header.entries, " entries, ", found,
                   " are in the rows before it");
    A.row.insert(A.row.end(), static_cast<std::size_t>(length), i);
  });
  STRATA_REQUIRE(IoError, static_cast<std::int64_t>(A.row.size()) == header.entries, source.name(),
                 ": the rows have ", A.row.size(), " entries, the header says ", header.entries);
  A.col.resize(A.row.size());
  A.value.resize(A.row.size());
  numbers.integers(header.entries, "columns", [&](std::int64_t k, std::int64_t column) {
    STRATA_REQUIRE(IoError, column >= 0 && column < header.cols, source.name(), ": entry ", k,
                   " has the column ", column, ", there are ", header.cols, " (from 0)");
    A.col[static_cast<std::size_t>(k)] = column;
  });
  numbers.reals(header.entries, A.value.data());
  if (numbers.left() > 0 && options.on_remark)
    options.on_remark(
        message(source.name(), ": ", numbers.left(), " bytes behind the matrix are not read"));
  take_duplicates(source.name(), A, header.entries, options);
  return A;
}

HostMatrix read_petsc_vector(ByteSource& source, ReadOptions const& options) {
  BigEndianNumbers numbers(source);
  auto const header = read_header(source, numbers);
  STRATA_REQUIRE(IoError, header.is_vector, source.name(),
                 ": a matrix of PETSc, where a vector is wanted");
  auto const x = allocate_host_matrix("strata::read_petsc", header.rows, 1, options.max_bytes);
  numbers.reals(header.rows, x.data());
  return x;
}

}  // namespace detail

PetscHeader read_petsc_header(std::string const& path) {
  FileSource source(path);
  return detail::read_petsc_header(source);
}

CoordinateMatrix read_petsc_matrix(std::string const& path, ReadOptions const& options) {
  FileSource source(path, options.on_progress);
  return detail::read_petsc_matrix(source, options);
}

HostMatrix read_petsc_vector(std::string const& path, ReadOptions const& options) {
  FileSource source(path, options.on_progress);
  return detail::read_petsc_vector(source, options);
}

}  // namespace strata
