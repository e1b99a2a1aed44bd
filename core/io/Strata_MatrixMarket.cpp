// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/Strata_MatrixMarket.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/detail/Strata_MatrixMarketStream.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace strata {

namespace detail {

namespace {

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

std::string lower_case(std::string_view word) {
  std::string result(word);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// m n, or the largest number where that is more.
std::int64_t product(std::int64_t m, std::int64_t n) {
  return m != 0 && n > int64_max / m ? int64_max : m * n;
}

// n (n + 1) / 2, or the largest number where that is more.
std::int64_t triangle(std::int64_t n) {
  if (n == int64_max) return int64_max;
  return n % 2 == 0 ? product(n / 2, n + 1) : product(n, (n + 1) / 2);
}

std::int64_t take_size(LineReader const& lines, std::string_view& line, char const* what) {
  auto const size = take_number<std::int64_t>(lines, line, what);
  if (size < 0) lines.fail(what, ' ', size, " is negative");
  return size;
}

// Whether a line is `row column value`.
bool is_triple(std::string_view line) {
  std::int64_t index = 0;
  double value = 0;
  for (int k = 0; k < 2; ++k)
    if (parse_number(take_word(line), index)) return false;
  return !parse_number(take_word(line), value) && take_word(line).empty();
}

void require_banner(LineReader const& lines, std::string_view line) {
  auto rest = line;
  if (lower_case(take_word(rest)) == "%%matrixmarket") return;
  lines.fail(
      "not a Matrix Market file: the first line does not begin with %%MatrixMarket",
      is_triple(line)
          ? "; if its lines are `row column value`, counted from 1, put these two before them: "
            "`%%MatrixMarket matrix coordinate real general` (`symmetric` if one triangle is "
            "listed), and the numbers of rows, columns and entries"
          : "");
}

MatrixMarketHeader read_banner(LineReader& lines) {
  std::string_view line;
  if (!lines.next(line)) lines.fail_at_end("expected a Matrix Market file, found nothing");
  require_banner(lines, line);
  take_word(line);
  auto const object = lower_case(take_word(line)), format = lower_case(take_word(line)),
             field = lower_case(take_word(line)), symmetry = lower_case(take_word(line));
  MatrixMarketHeader header;
  if (object != "matrix")
    lines.fail("object ", excerpt(object), " is not supported, only 'matrix'");
  if (format != "array" && format != "coordinate")
    lines.fail("format ", excerpt(format), " is not supported, only 'array' and 'coordinate'");
  if (field != "real" && field != "integer" && (field != "pattern" || format == "array"))
    lines.fail("field ", excerpt(field), " is not supported, only 'real' and 'integer'",
               format == "array" ? "" : " and 'pattern'");
  bool const is_array = format == "array";
  if (symmetry != "general" && symmetry != "symmetric" &&
      (symmetry != "skew-symmetric" || is_array || field == "pattern"))
    lines.fail("symmetry ", excerpt(symmetry), " is not supported, only 'general' and 'symmetric'",
               is_array ? "" : " and, of numbers, 'skew-symmetric'");
  refuse_rest(lines, line);
  header.format = format == "array" ? MatrixMarketFormat::Array : MatrixMarketFormat::Coordinate;
  header.field = field == "real"      ? MatrixMarketField::Real
                 : field == "integer" ? MatrixMarketField::Integer
                                      : MatrixMarketField::Pattern;
  header.symmetric = symmetry == "symmetric";
  header.skew = symmetry == "skew-symmetric";
  return header;
}

}  // namespace

MatrixMarketHeader read_market_header(LineReader& lines) {
  auto header = read_banner(lines);
  std::string_view line;
  if (!next_content(lines, line)) lines.fail_at_end("expected a line of sizes");
  bool const array = header.format == MatrixMarketFormat::Array;
  header.rows = take_size(lines, line, "number of rows");
  header.cols = take_size(lines, line, "number of columns");
  auto const positions =
      header.symmetric ? triangle(header.rows) : product(header.rows, header.cols);
  header.entries = array ? positions : take_size(lines, line, "number of entries");
  refuse_rest(lines, line);

  if ((header.symmetric || header.skew) && header.rows != header.cols)
    lines.fail("a symmetric matrix is square, this one is ", header.rows, " x ", header.cols);
  if (positions == 0 && header.entries > 0)
    lines.fail(header.entries, " entries in a ", header.rows, " x ", header.cols, " matrix");
  // "1\n", "1 1\n" and "1 1 1\n"; the last line may lack its end
  std::uint64_t const least_bytes = array                                        ? 2
                                    : header.field == MatrixMarketField::Pattern ? 4
                                                                                 : 6,
                      limit = lines.source().size_limit();
  if (static_cast<std::uint64_t>(header.entries) > (limit + 1) / least_bytes)
    lines.fail("the header promises ", header.entries == int64_max ? "at least " : "",
               header.entries, " entries of at least ", least_bytes, " bytes, the file has ",
               lines.source().compressed() ? "(inflated) at most " : "", limit, " bytes");
  // a matrix of no elements is cheap to promise: keep loops over its other extent short
  constexpr std::int64_t longest_empty = 1 << 30;
  if (std::min(header.rows, header.cols) == 0 && std::max(header.rows, header.cols) > longest_empty)
    lines.fail("a matrix without elements of ", header.rows, " x ", header.cols);
  return header;
}

namespace {

// Call entry(line), which takes the whole line, for each entry's line. There must be exactly as
// many as the header says.
template <class Entry>
void read_entries(LineReader& lines, std::int64_t entries, Entry const& entry) {
  std::string_view line;
  std::int64_t found = 0;
  while (next_content(lines, line)) {
    if (found == entries)
      lines.fail("expected nothing after the last of ", entries, " entries, found ", excerpt(line));
    entry(line);
    ++found;
  }
  if (found < entries) lines.fail_at_end("expected ", entries, " entries, found ", found);
}

// Vectors grow as entries arrive; a plain file's size vouches for its header, so that it may be
// believed.
std::size_t reserve_count(LineReader const& lines, std::int64_t entries) {
  return lines.source().compressed() ? 0 : static_cast<std::size_t>(entries);
}

void require_memory(LineReader const& lines, std::int64_t entries, std::size_t entry_bytes,
                    ReadOptions const& options) {
  STRATA_REQUIRE(MemoryError, static_cast<std::size_t>(entries) <= options.max_bytes / entry_bytes,
                 lines.source().name(), ": ", entries, " entries need ", entry_bytes,
                 " bytes each; the limit is ", options.max_bytes, " bytes");
}

template <class Field>
ArrayMatrix read_array(LineReader& lines, MatrixMarketHeader const& header,
                       ReadOptions const& options) {
  require_memory(lines, header.entries, sizeof(double), options);
  ArrayMatrix A{header.rows, header.cols, header.symmetric, {}};
  A.value.reserve(reserve_count(lines, header.entries));
  read_entries(lines, header.entries, [&](std::string_view& line) {
    A.value.push_back(take_value<Field>(lines, line));
    refuse_rest(lines, line);
  });
  return A;
}

// Which side of the diagonal the entries of a symmetric list are on.
class Triangle {
 public:
  void take(LineReader const& lines, std::int64_t i, std::int64_t j) {
    if (i == j) return;
    bool const is_above = i < j;
    if (!is_known_) is_known_ = true, is_above_ = is_above;
    if (is_above == is_above_) return;
    lines.fail("entry (", i + 1, ", ", j + 1, ") is ", is_above ? "above" : "below",
               " the diagonal of a symmetric matrix, others are on its other side: list one "
               "triangle, or both as 'general'");
  }

 private:
  bool is_known_ = false, is_above_ = false;
};

template <class Field>
CoordinateMatrix read_coordinates(LineReader& lines, MatrixMarketHeader const& header,
                                  ReadOptions const& options) {
  std::int64_t const most = header.skew ? 2 * header.entries : header.entries;
  require_memory(lines, most, sizeof(double) + 2 * sizeof(std::int64_t), options);
  CoordinateMatrix A{header.rows, header.cols, header.symmetric, {}, {}, {}};
  auto const count = reserve_count(lines, most);
  A.row.reserve(count);
  A.col.reserve(count);
  A.value.reserve(count);
  auto const add = [&A](std::int64_t i, std::int64_t j, double value) {
    A.row.push_back(i), A.col.push_back(j), A.value.push_back(value);
  };
  Triangle triangle;
  read_entries(lines, header.entries, [&](std::string_view& line) {
    take_entry<Field>(lines, line, header, [&](std::int64_t i, std::int64_t j, double value) {
      if (header.symmetric || header.skew) triangle.take(lines, i, j);
      if (header.symmetric)
        add(std::max(i, j), std::min(i, j), value);
      else
        add(i, j, value);
      if (header.skew) add(j, i, -value);
    });
  });
  take_duplicates(lines.source().name(), A, header.entries, options);
  return A;
}

}  // namespace

void read_array_entries(ByteSource& source,
                        std::function<void(MatrixMarketHeader const&)> const& begin,
                        std::function<void(double)> const& entry) {
  LineReader lines(source);
  auto const header = read_market_header(lines);
  begin(header);
  bool const integer = header.field == MatrixMarketField::Integer;
  read_entries(lines, header.entries, [&](std::string_view& line) {
    auto const value =
        integer ? take_value<std::int64_t>(lines, line) : take_value<double>(lines, line);
    refuse_rest(lines, line);
    entry(value);
  });
}

MatrixMarketMatrix read_matrix_market(ByteSource& source, ReadOptions const& options) {
  LineReader lines(source);
  auto const header = read_market_header(lines);
  return with_field(header.field, [&]<class Field>(Field) -> MatrixMarketMatrix {
    if constexpr (!std::is_same_v<Field, PatternField>)
      if (header.format == MatrixMarketFormat::Array)
        return read_array<Field>(lines, header, options);
    return read_coordinates<Field>(lines, header, options);
  });
}

}  // namespace detail

MatrixMarketHeader read_matrix_market_header(std::string const& path, ReadOptions const& options) {
  auto const source = open_source(path, options);
  detail::LineReader lines(*source);
  return detail::read_market_header(lines);
}

MatrixMarketMatrix read_matrix_market(std::string const& path, ReadOptions const& options) {
  auto const source = open_source(path, options);
  return detail::read_matrix_market(*source, options);
}

namespace {

void fill(HostMatrix const& dense, ArrayMatrix const& A) {
  if (!A.symmetric) {
    std::copy(A.value.begin(), A.value.end(), dense.data());
    return;
  }
  auto next = A.value.begin();
  for (std::int64_t j = 0; j < A.cols; ++j)
    for (std::int64_t i = j; i < A.rows; ++i) dense(i, j) = dense(j, i) = *next++;
}

void fill(HostMatrix const& dense, CoordinateMatrix const& A) {
  std::fill_n(dense.data(), dense.size(), 0.0);
  for (std::size_t k = 0; k < A.value.size(); ++k) {
    dense(A.row[k], A.col[k]) = A.value[k];
    if (A.symmetric) dense(A.col[k], A.row[k]) = A.value[k];
  }
}

}  // namespace

HostMatrix to_dense(MatrixMarketMatrix const& matrix, ReadOptions const& options) {
  return std::visit(
      [&](auto const& A) {
        constexpr std::size_t free_bytes = 16 << 20;
        auto const bytes = dense_bytes("to_dense", A.rows, A.cols, options.max_bytes);
        auto const listed = static_cast<std::int64_t>(A.value.size());
        STRATA_REQUIRE(ShapeError, bytes <= free_bytes || listed >= std::max(A.rows, A.cols),
                       "to_dense: ", listed, " entries in a ", A.rows, " x ", A.cols,
                       " matrix: some row or column has none, it is singular");
        auto dense = allocate_host_matrix("strata::to_dense", A.rows, A.cols, options.max_bytes);
        fill(dense, A);
        return dense;
      },
      matrix);
}

HostMatrix to_dense_symmetric(MatrixMarketMatrix const& matrix, ReadOptions const& options) {
  bool const declared = std::visit([](auto const& A) { return A.symmetric; }, matrix);
  std::visit(
      [](auto const& A) {
        STRATA_REQUIRE(ShapeError, A.rows == A.cols, "a symmetric matrix is square, this one is ",
                       A.rows, " x ", A.cols);
      },
      matrix);
  auto dense = to_dense(matrix, options);
  if (!declared) symmetrize(dense);
  return dense;
}

}  // namespace strata
