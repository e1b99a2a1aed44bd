// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Raw numbers and the sidecar that describes them: the input is the sidecar, a zero, and the
// numbers.
#include "Strata_Fuzz.hpp"
#include <core/io/matrix_file/Strata_MatrixBlocks.hpp>
#include <core/io/matrix_file/Strata_MatrixFile.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>

namespace {

using namespace strata;
using namespace strata::fuzz;

/// A folder that ends with the process.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("strata_fuzz_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

void put(std::string const& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static Folder const folder;
  std::string_view const input(reinterpret_cast<char const*>(data), size);
  auto const zero = std::min(input.find('\0'), size);
  std::string const path = (folder.path / "A.bin").string();
  put(path + ".json", input.substr(0, zero));
  put(path, zero < size ? input.substr(zero + 1) : std::string_view());
  HostMatrix A;
  if (!accepted([&] { A = read_matrix(path, limits); })) return 0;
  MatrixBlocks const blocks(path);
  auto const n = static_cast<std::int64_t>(A.extent(0));
  check(blocks.order() == n && static_cast<std::int64_t>(A.extent(1)) == n, "the order is n");
  if (n == 0 || blocks.is_lower()) return 0;
  HostMatrix const last("strata::fuzz::last", n, 1);
  blocks.read(0, n - 1, HostBlock(last.data(), n, 1));
  for (std::int64_t i = 0; i < n; ++i)
    check(same(last(i, 0), A(i, n - 1)), "a block holds the numbers of the whole");
  return 0;
}
