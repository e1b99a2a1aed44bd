// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/tiles/detail/Strata_Checkpoint.hpp>

#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/io/files/Strata_ByteSink.hpp>
#include <core/io/files/Strata_ByteSource.hpp>
#include <ooc/team/detail/Strata_JobThread.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

namespace strata::ooc::detail {

namespace {

constexpr std::array<char, 8> magic = {'S', 'T', 'R', 'A', 'T', 'A', 'L', '3'};

struct FileHeader {
  std::array<char, 8> magic;
  CheckpointHeader column;
};
static_assert(sizeof(FileHeader) == 168);

struct TileTrailer {
  std::uint64_t bytes, crc;
};

std::uint64_t crc_of(TileBytes const& tile) {
  return crc32_z(0, reinterpret_cast<unsigned char const*>(tile.data), tile.bytes);
}

void write(strata::ByteSink& sink, void const* data, std::size_t bytes) {
  sink.write(static_cast<char const*>(data), bytes);
}

std::string advice_of(CheckpointHeader const& header) {
  return "; without this file the run goes on from column " + std::to_string(header.part.column) +
         " of tiles";
}

void read(strata::FileSource const& source, void* data, std::size_t bytes, std::size_t& offset,
          std::string const& advice) {
  std::size_t const found = source.read_at(offset, static_cast<char*>(data), bytes);
  STRATA_REQUIRE(IoError, found == bytes, source.name(), ": the checkpoint ends at byte ",
                 offset + found, ", ", bytes, " bytes are expected from byte ", offset, advice);
  offset += bytes;
}

template <std::size_t size>
std::string text_of(std::array<char, size> const& text) {
  return {text.data(), ::strnlen(text.data(), size)};
}
std::string text_of(std::int64_t number) { return std::to_string(number); }
std::string text_of(double number) {
  constexpr std::size_t widest = 32;
  std::array<char, widest> text{};
  std::to_chars(text.data(), text.data() + text.size(), number);
  return text.data();
}

template <class T>
void require_same(std::string const& path, char const* what, T const& expected, T const& found) {
  STRATA_REQUIRE(IoError, expected == found || text_of(expected) != text_of(found), path,
                 ": the checkpoint's header is damaged: ", what,
                 " has other bytes behind its text");
  STRATA_REQUIRE(IoError, expected == found, path, ": the checkpoint is of another run: ", what,
                 " is ", text_of(found), ", not ", text_of(expected));
}

void require_same_entries(std::string const& path, CheckpointHeader const& expected,
                          CheckpointHeader const& found) {
  std::string const here = text_of(expected.backend), there = text_of(found.backend);
  std::string const why =
      here == there ? ""
                    : "; they were evaluated by " + there + " and now by " + here +
                          ", whose functions round otherwise: go on there, or from the first "
                          "column in another folder";
  STRATA_REQUIRE(IoError, expected.digest == found.digest, path,
                 ": the checkpoint is of another matrix: the digest of its entries is ", std::hex,
                 found.digest, ", not ", expected.digest, why);
  STRATA_REQUIRE(IoError, expected.map == found.map, path,
                 ": the checkpoint is of another run: the precisions of its tiles differ", why);
}

// The file's header, which is the one that is expected.
void read_header(strata::FileSource const& source, CheckpointHeader const& expected,
                 std::size_t& offset) {
  FileHeader first{};
  read(source, &first, sizeof first, offset, advice_of(expected));
  std::string const& path = source.name();
  CheckpointHeader const& found = first.column;
  STRATA_REQUIRE(IoError, first.magic == magic, path, ": not a checkpoint of this version");
  require_same(path, "n", expected.n, found.n);
  require_same(path, "the tile size", expected.tile_size, found.tile_size);
  require_same(path, "the column", expected.part.column, found.part.column);
  require_same(path, "its part", expected.part.part, found.part.part);
  require_same(path, "the number of its parts", expected.part.parts, found.part.parts);
  require_same(path, "the accuracy (epsilon)", expected.accuracy, found.accuracy);
  require_same(path, "the list of precisions", expected.precisions, found.precisions);
  require_same_entries(path, expected, found);
}

// The tile where it is, or, of a device, room for it on the host.
TileBytes on_host(TileBytes const& tile, CopyTile const& copy, std::vector<std::byte>& stage) {
  if (!copy) return tile;
  stage.resize(tile.bytes);
  return {stage.data(), tile.bytes};
}

constexpr std::int64_t most_parts = 2 * std::int64_t{std::numeric_limits<int>::max()};  // of ranks

// The part that a file of this name holds; nothing if it is no column's.
std::optional<ColumnPart> part_named(std::string const& name) {
  ColumnPart part;
  std::size_t at = 0;
  auto const read = [&](std::string_view before, std::int64_t& number) {
    if (name.compare(at, before.size(), before) != 0) return;
    char const* const end = name.data() + name.size();
    auto const found = std::from_chars(name.data() + at + before.size(), end, number);
    at = static_cast<std::size_t>(found.ptr - name.data());
  };
  read("column_", part.column);
  read(".", part.part);
  read("_of_", part.parts);
  bool const is_one = part.column >= 0 && part.part >= 0 && part.part < part.parts &&
                      part.parts <= most_parts && column_path("", part) == "/" + name;
  return is_one ? std::optional(part) : std::nullopt;
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string path, Lock lock, Communicator const* comm)
    : path_(std::move(path)) {
  if (path_.empty()) return;
  together(comm, [&] { make(); });
  if (comm) find_keepers(*comm);
  together(comm, [&] {
    if (!comm || comm->rank() == keeper_) use(lock);
  });
}

void CheckpointFolder::make() const {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  STRATA_REQUIRE(IoError, !error, path_,
                 ": cannot create the checkpoint's folder: ", error.message(), " (errno ",
                 error.value(), ")");
}

// Each rank shows a file with a name that no other run has, and looks for the files of the ranks
// before it.
void CheckpointFolder::find_keepers(Communicator const& comm) {
  double number = comm.rank() == 0 ? std::random_device()() : 0;
  comm.broadcast({&number, 1}, 0);
  auto const shown_by = [&](std::int64_t rank) -> std::filesystem::path {
    return path_ + "/column_" + std::to_string(static_cast<std::int64_t>(number)) + "." +
           std::to_string(rank) + ".tmp";
  };
  struct Remove {
    std::filesystem::path path;
    ~Remove() {
      std::error_code error;
      std::filesystem::remove(path, error);
    }
  } const in_the_end{shown_by(comm.rank())};
  comm.agree([&] {
    std::string const own = shown_by(comm.rank());
    if (!FileDescriptor(::open(own.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)))
      throw_errno(path_, "cannot write to the checkpoint's folder");
  });
  comm.agree([&] {
    std::error_code error;
    while (keeper_ < comm.rank() && !std::filesystem::exists(shown_by(keeper_), error)) ++keeper_;
  });
  keepers_ = comm.gather(keeper_);
}

void CheckpointFolder::use(Lock lock) {
  namespace fs = std::filesystem;
  lock_ = strata::FileDescriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock_) strata::throw_errno(path_, "cannot open the checkpoint's folder");
  bool const locked = (lock ? lock : ::flock)(lock_.get(), LOCK_EX | LOCK_NB) == 0;
  STRATA_REQUIRE(IoError, locked || errno != EWOULDBLOCK, path_,
                 ": another factorisation uses this checkpoint");
  if (!locked) return;
  std::error_code error;
  for (auto const& entry : fs::directory_iterator(path_)) {
    std::string const name = entry.path().filename();
    if (name.starts_with("column_") && name.ends_with(".tmp") && entry.is_regular_file())
      fs::remove(entry.path(), error);
  }
}

std::string column_path(std::string const& folder, ColumnPart const& part) {
  std::string number = std::to_string(part.column);
  number.insert(0, number.size() < 6 ? 6 - number.size() : 0, '0');
  if (part.parts > 1)
    number += "." + std::to_string(part.part) + "_of_" + std::to_string(part.parts);
  return folder + "/column_" + number + ".strata";
}

std::set<ColumnPart> parts_in(std::string const& folder, std::int64_t tiles) {
  std::set<ColumnPart> parts;
  std::error_code error;
  for (auto const& entry : std::filesystem::directory_iterator(folder))
    if (auto const part = part_named(entry.path().filename());
        part && part->column < tiles && part->first_row() < tiles && entry.is_regular_file(error))
      parts.insert(*part);
  return parts;
}

void write_column(std::string const& folder, CheckpointHeader const& header,
                  std::vector<TileBytes> const& tiles, CopyTile const& copy) {
  strata::AtomicFile file(column_path(folder, header.part));
  FileHeader const first{magic, header};
  write(file, &first, sizeof first);
  std::vector<std::byte> stage;
  for (TileBytes const& there : tiles) {
    TileBytes const tile = on_host(there, copy, stage);
    if (copy) copy(tile.data, there.data, tile.bytes);
    TileTrailer const trailer{tile.bytes, crc_of(tile)};
    write(file, tile.data, tile.bytes);
    write(file, &trailer, sizeof trailer);
  }
  file.finish();
}

void check_column(std::string const& folder, CheckpointHeader const& header) {
  std::size_t offset = 0;
  read_header(strata::FileSource(column_path(folder, header.part)), header, offset);
}

void read_column(std::string const& folder, CheckpointHeader const& header,
                 std::vector<TileBytes> const& tiles, CopyTile const& copy) {
  strata::FileSource const source(column_path(folder, header.part));
  std::string const& path = source.name();
  std::string const advice = advice_of(header);
  std::size_t offset = 0, size = sizeof(FileHeader);
  read_header(source, header, offset);
  for (TileBytes const& tile : tiles) size += tile.bytes + sizeof(TileTrailer);
  STRATA_REQUIRE(IoError, source.size_limit() == size, path, ": the checkpoint has ",
                 source.size_limit(), " bytes, ", size, " are expected", advice);
  std::vector<std::byte> stage;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    if (!tiles[t].data) {  // another rank's
      offset += tiles[t].bytes + sizeof(TileTrailer);
      continue;
    }
    TileTrailer trailer{};
    TileBytes const tile = on_host(tiles[t], copy, stage);
    read(source, tile.data, tile.bytes, offset, advice);
    read(source, &trailer, sizeof trailer, offset, advice);
    std::uint64_t const crc = crc_of(tile);
    STRATA_REQUIRE(IoError, trailer.bytes == tile.bytes && trailer.crc == crc, path, ": tile ", t,
                   " of the column is damaged: CRC-32 ", crc, " of ", tile.bytes,
                   " bytes, the file says ", trailer.crc, " of ", trailer.bytes, advice);
    if (copy) copy(tiles[t].data, tile.data, tile.bytes);
  }
}

CheckpointWriter::CheckpointWriter(std::function<void(std::exception_ptr)> fail)
    : fail_(std::move(fail)), thread_(started([this] { run(); })) {}

CheckpointWriter::~CheckpointWriter() { finish(); }

void CheckpointWriter::enqueue(std::function<void()> job) {
  {
    std::lock_guard const lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void CheckpointWriter::finish() {
  {
    std::lock_guard const lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::run() {
  try {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      auto const job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }
  } catch (...) {
    fail_(std::current_exception());
  }
}

}  // namespace strata::ooc::detail
