// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/matrix_file/Strata_MatrixFileFormat.hpp>

#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ByteSource.hpp>

#include <filesystem>
#include <utility>

namespace strata {

namespace {

// Formats that are common and not read, by their first bytes, and the way out of each.
void refuse_others(std::string const& path, std::string_view first) {
  auto const stem = std::filesystem::path(path).stem().string();
  // The line that writes it as .mtx: `imports`, and what makes the matrix.
  auto const line = [&](char const* imports, std::string const& matrix) {
    return " this writes it as .mtx: python3 -c \"import scipy.io" + std::string(imports) +
           "; scipy.io.mmwrite('" + stem + ".mtx', " + matrix + ")\"";
  };
  std::pair<std::string_view, std::string> const others[] = {
      {"BZh", "compressed by bzip2; bunzip2 it, or compress it by gzip"},
      {"\xfd"
       "7zX",
       "compressed by xz; unxz it, or compress it by gzip"},
      {"MATL", "a file of MATLAB (.mat);" + line("", "scipy.io.loadmat('" + path + "')['A']") +
                   ", if it is called A there"},
      {"\x89HDF", "a file of HDF5 (.mat of version 7.3, .h5); in MATLAB save it by save('" + path +
                      "', 'A', '-v7')"}};
  for (auto const& [begin, what] : others)
    STRATA_REQUIRE(IoError, !first.starts_with(begin), path, ": ", what);
}

// What the first bytes tell; text that is not Matrix Market can be anything.
std::optional<MatrixFileFormat> shown(std::string const& path) {
  constexpr std::string_view wide("\0\0\0\0", 4), petsc("\0\x12\x7b", 3);
  char bytes[8] = {};
  std::size_t const got = FileSource(path).read_at(0, bytes, sizeof bytes);
  std::string_view const first(bytes, got);
  if (first.starts_with('\x93')) return MatrixFileFormat::Npy;
  if (first.starts_with("PK\x03\x04")) return MatrixFileFormat::Npz;
  bool const is_petsc =
      first.starts_with(petsc) || (first.starts_with(wide) && first.substr(4).starts_with(petsc));
  if (is_petsc) return MatrixFileFormat::Petsc;
  refuse_others(path, first);
  bool const is_market = is_gzip(bytes, got) || first.starts_with("%%");
  if (is_market) return MatrixFileFormat::MatrixMarket;
  std::error_code error;
  if (std::filesystem::exists(path + ".json", error)) return MatrixFileFormat::Raw;
  return {};
}

}  // namespace

std::optional<MatrixFileFormat> promised_format(std::string_view path) {
  if (path.ends_with(".mtx") || path.ends_with(".mtx.gz")) return MatrixFileFormat::MatrixMarket;
  if (path.ends_with(".npy")) return MatrixFileFormat::Npy;
  if (path.ends_with(".npz")) return MatrixFileFormat::Npz;
  if (path.ends_with(".csv") || path.ends_with(".txt")) return MatrixFileFormat::Columns;
  return {};
}

MatrixFileFormat matrix_file_format(std::string const& path) {
  auto const by_name = promised_format(path), by_content = shown(path);
  bool const agree =
      !by_name || !by_content || *by_name == *by_content || *by_content == MatrixFileFormat::Raw;
  STRATA_REQUIRE(IoError, agree, path, ": by its name ", name_of(*by_name), ", by its content ",
                 name_of(*by_content), ": rename it");
  bool const is_numpys = by_name == MatrixFileFormat::Npy || by_name == MatrixFileFormat::Npz;
  STRATA_REQUIRE(IoError, by_content || !is_numpys, path, ": by its name ",
                 name_of(by_name.value_or(MatrixFileFormat::Npy)),
                 ", but it does not begin as one");
  return by_content ? *by_content : by_name.value_or(MatrixFileFormat::MatrixMarket);
}

}  // namespace strata
