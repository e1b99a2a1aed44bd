// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/shared/Strata_SameOnRanks.hpp>

#include <apps/shared/Strata_Files.hpp>
#include <apps/shared/Strata_Ranks.hpp>
#include <apps/shared/Strata_Text.hpp>
#include <comm/Strata_Communicator.hpp>
#include <core/info/Strata_Version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace strata::apps {

namespace {

struct Given {
  std::string name, value;
  bool operator==(Given const&) const = default;
};
using Start = std::vector<Given>;

constexpr char const* unread = "?";  // the value of a file that can't be read, or not twice
constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::uint64_t whole_bytes = 16 * mebibyte, piece_bytes = mebibyte / 16, pieces = 256;

// FNV-1a.
std::uint64_t hash_of(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325U) {
  for (char const byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash;
}

// Of a large file its beginning, its end and pieces at equal distances.
std::string contents_of(std::string const& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return unread;
  auto const size = static_cast<std::uint64_t>(std::filesystem::file_size(path, error));
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return unread;
  bool const is_whole = size <= whole_bytes;
  std::uint64_t const count = is_whole ? (size + piece_bytes - 1) / piece_bytes : pieces,
                      last = is_whole ? 0 : size - piece_bytes;
  std::uint64_t hash = hash_of("");
  std::string piece;
  for (std::uint64_t k = 0; k < count; ++k) {
    std::uint64_t const begin = is_whole ? k * piece_bytes : last / (count - 1) * k;
    std::uint64_t const from = k + 1 == count && !is_whole ? last : begin;
    piece.resize(std::min(piece_bytes, size - from));
    file.seekg(static_cast<std::streamoff>(from));
    if (!file.read(piece.data(), static_cast<std::streamsize>(piece.size()))) return unread;
    hash = hash_of(piece, hash);
  }
  return words(size, " bytes with hash ", text("%016llx", static_cast<unsigned long long>(hash)));
}

// With the description that raw numbers have beside them.
std::string contents_of(std::vector<std::string> const& paths) {
  std::vector<std::string> list;
  for (auto const& path : paths) {
    list.push_back(contents_of(path));
    if (path.ends_with(".bin") && list.back() != unread)
      list.back() += ", description " + contents_of(path + ".json");
  }
  return joined(list);
}

std::string value_of(CLI::Option const& option) {
  if (is_result(option) || option.get_type_name() == "FOLDER") return "given";
  return one_line(names_files(option) ? contents_of(option.results()) : joined(option.results()));
}

Start start_of(CLI::App const& program) {
  auto const built = configuration();
  Start start{{"the program", words("strata ", built.version, ", commit ", built.commit, ", for ",
                                    joined(built.backends))}};
  for (auto const* const command : program.get_subcommands()) {
    start.push_back({"the command", command->get_name()});
    for (auto const* const option : command->get_options())
      if (!option->empty() && option->get_configurable())
        start.push_back({option->get_name(), value_of(*option)});
  }
  return start;
}

std::string text_of(Start const& start) {
  std::string text;
  for (auto const& [name, value] : start) text += name + '\n' + value + '\n';
  return text;
}

Start start_from(std::string const& text) {
  Start start;
  std::istringstream lines(text);
  for (Given given; std::getline(lines, given.name) && std::getline(lines, given.value);)
    start.push_back(given);
  return start;
}

// nullptr: it was not given.
std::string const* find(Start const& start, std::string const& name) {
  auto const found = std::ranges::find(start, name, &Given::name);
  return found == start.end() ? nullptr : &found->value;
}

bool differ(std::string const* one, std::string const* other) {
  if (one && other) return *one != *other && *one != unread && *other != unread;
  return one != other;
}

// Whether the option `name` differs on any rank from rank 0's, in words; empty: it does not.
std::string difference(std::vector<Start> const& starts, std::string const& name) {
  auto const* const here = find(starts.front(), name);
  std::vector<std::size_t> others;
  for (std::size_t rank = 1; rank < starts.size(); ++rank)
    if (differ(here, find(starts[rank], name))) others.push_back(rank);
  if (others.empty()) return {};
  auto const* const there = find(starts[others.front()], name);
  auto const more = static_cast<std::int64_t>(others.size()) - 1;
  std::string const rank = words("rank ", others.front()),
                    rest = more > 0 ? words(" (", counted(more, "other rank"), " too)") : "";
  constexpr char const* rule = "; all ranks are to have the same options and files";
  if (!here) return words(name, " is given on ", rank, " and not on rank 0", rest, rule);
  if (!there) return words(name, " is given on rank 0 and not on ", rank, rest, rule);
  return words(name, " is ", *there, " on ", rank, " and ", *here, " on rank 0", rest, rule);
}

std::string first_difference(std::vector<Start> const& starts) {
  for (auto const& start : starts)
    for (auto const& [name, value] : start)
      if (auto words = difference(starts, name); !words.empty()) return words;
  return {};
}

}  // namespace

void require_same_on_ranks(Communicator const& comm, CLI::App const& program) {
  if (comm.size() == 1) return;
  auto const text = text_of(comm.agree([&] { return start_of(program); }));
  auto const hashes = comm.gather(static_cast<std::int64_t>(hash_of(text)));
  if (std::ranges::count(hashes, hashes.front()) == comm.size()) return;
  auto const texts = comm.gather_text(text);
  as_usage_of_ranks([&] {
    comm.agree([&] {
      std::vector<Start> starts;
      for (auto const& of_rank : texts) starts.push_back(start_from(of_rank));
      auto const found = first_difference(starts);
      if (!found.empty()) throw AgreedUsageError(found);
    });
  });
}

bool is_one_of_several() {
  for (auto const* const variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    char const* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    if (value && std::atoi(value) > 1) return true;
  }
  return false;
}

}  // namespace strata::apps
