// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Errors.hpp>
#include <core/io/Strata_MatrixMarket.hpp>
#include <core/io/detail/Strata_MatrixMarketStream.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

namespace strata {

namespace {

// The bytes of a file from `begin` on.
class RestOfFile final : public ByteSource {
 public:
  RestOfFile(FileSource const& file, std::uint64_t begin)
      : ByteSource(file.name()), file_(file), begin_(begin), position_(begin) {}
  std::size_t read(char* buffer, std::size_t size) override {
    auto const got = file_.read_at(position_, buffer, size);
    position_ += got;
    return got;
  }
  std::uint64_t size_limit() const override { return file_.size_limit() - begin_; }

 private:
  FileSource const& file_;
  std::uint64_t begin_, position_;
};

struct Bytes {
  std::uint64_t begin = 0, end = 0;
};

Bytes share_of(Bytes whole, int share, int shares) {
  auto const size = whole.end - whole.begin, count = static_cast<std::uint64_t>(shares);
  auto const at = [&](int k) {
    auto const part = static_cast<std::uint64_t>(k);
    return whole.begin + size / count * part + std::min(part, size % count);
  };
  return {at(share), at(share + 1)};
}

template <class Field>
void read_share(detail::LineReader& lines, std::uint64_t bytes, ReadOptions const& options,
                MatrixMarketShare& result) {
  auto const& header = result.header;
  auto& A = result.entries;
  bool const one_triangle = header.symmetric || header.skew;
  double const sign = header.skew ? -1 : 1;
  std::uint64_t const most = options.max_bytes / (2 * sizeof(std::int64_t) + sizeof(double));
  auto const add = [&A](std::int64_t i, std::int64_t j, double value) {
    A.row.push_back(i), A.col.push_back(j), A.value.push_back(value);
  };
  std::string_view line;
  while (lines.position() < bytes && lines.next(line)) {
    if (!detail::has_content(line)) continue;
    detail::take_entry<Field>(lines, line, header,
                              [&](std::int64_t i, std::int64_t j, double value) {
                                // as `read_matrix_market` lists them: of a symmetric matrix the
                                // lower one first
                                bool const turns = header.symmetric && i < j;
                                turns ? add(j, i, value) : add(i, j, value);
                                result.has_above |= i<j, result.has_below |= i> j;
                                if (one_triangle && i != j)
                                  turns ? add(i, j, value) : add(j, i, sign * value);
                              });
    ++result.listed;
    STRATA_REQUIRE(MemoryError, A.value.size() <= most, lines.source().name(), ": ", A.value.size(),
                   " entries need more than the limit of ", options.max_bytes, " bytes");
  }
}

}  // namespace

bool has_shares(std::string const& path) {
  char first[2];
  FileSource const file(path);
  return !is_gzip(first, file.read_at(0, first, sizeof first));
}

MatrixMarketShare read_matrix_market_share(std::string const& path, int share, int shares,
                                           ReadOptions const& options) {
  STRATA_REQUIRE(ValueError, 0 <= share && share < shares, path, ": share ", share, " of ", shares);
  STRATA_REQUIRE(ValueError, has_shares(path), path, ": a compressed file has no shares");
  FileSource const file(path);
  RestOfFile whole(file, 0);
  detail::LineReader first_lines(whole);
  MatrixMarketShare result;
  result.header = detail::read_market_header(first_lines);
  STRATA_REQUIRE(ValueError, result.header.format == MatrixMarketFormat::Coordinate, path,
                 ": an array has no shares");
  result.entries.rows = result.header.rows, result.entries.cols = result.header.cols;
  auto const mine = share_of({first_lines.position(), file.size_limit()}, share, shares);
  // A line that begins just here is told from one that began before by the byte before it.
  std::uint64_t const before = share > 0 ? 1 : 0;
  if (mine.begin == mine.end) return result;
  RestOfFile rest(file, mine.begin - before);
  detail::LineReader lines(rest);
  std::string_view line;
  if (before > 0) lines.next(line);
  detail::with_field(result.header.field, [&]<class Field>(Field) {
    read_share<Field>(lines, mine.end - mine.begin + before, options, result);
  });
  return result;
}

bool add_entries_at_one_position(CoordinateMatrix& A) { return !detail::add_duplicates(A); }

}  // namespace strata
