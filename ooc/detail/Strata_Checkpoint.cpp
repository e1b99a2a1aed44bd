// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/file.h>
#include <zlib.h>

#include <array>
#include <core/Strata_Errors.hpp>
#include <core/detail/Strata_ByteSink.hpp>
#include <core/detail/Strata_ByteSource.hpp>
#include <cstring>
#include <filesystem>
#include <ooc/detail/Strata_Checkpoint.hpp>

namespace strata::ooc::detail {

namespace {

constexpr std::array<char, 8> magic = {'S', 'T', 'R', 'A', 'T', 'A', 'L', '1'};

struct FileHeader {
  std::array<char, 8> magic;
  std::int64_t n, tile_size, column;
  std::uint64_t matrix_hash;
  std::uint64_t tiles;
};
static_assert(sizeof(FileHeader) == 48);

struct TileTrailer {
  std::uint64_t bytes, crc;
};

std::uint64_t crc_of(TileBytes const& tile) {
  return crc32_z(0, reinterpret_cast<unsigned char const*>(tile.data), tile.bytes);
}

void write(strata::detail::ByteSink& sink, void const* data, std::size_t bytes) {
  sink.write(static_cast<char const*>(data), bytes);
}

void read(strata::detail::ByteSource& source, void* data, std::size_t bytes, std::size_t& offset,
          std::string const& advice) {
  std::size_t const found = source.read(static_cast<char*>(data), bytes);
  STRATA_REQUIRE(IoError, found == bytes, source.name(), ": the checkpoint ends at byte ",
                 offset + found, ", ", bytes, " bytes are expected from byte ", offset, advice);
  offset += bytes;
}

template <class T>
void require_same(std::string const& path, char const* what, T expected, T found) {
  STRATA_REQUIRE(IoError, expected == found, path, ": the checkpoint is of another matrix: ", what,
                 " is ", found, ", not ", expected);
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string path) : path_(std::move(path)) {
  namespace fs = std::filesystem;
  if (path_.empty()) return;
  std::error_code error;
  fs::create_directories(path_, error);
  STRATA_REQUIRE(IoError, !error, path_,
                 ": cannot create the checkpoint's folder: ", error.message(), " (errno ",
                 error.value(), ")");
  lock_ = strata::detail::FileDescriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock_) strata::detail::throw_errno(path_, "cannot open the checkpoint's folder");
  // Some file systems can't lock folders: there the user must see to it.
  STRATA_REQUIRE(IoError, ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK,
                 path_, ": another factorisation uses this checkpoint");
  for (auto const& entry : fs::directory_iterator(path_)) {
    std::string const name = entry.path().filename();
    if (name.starts_with("column_") && name.ends_with(".tmp") && entry.is_regular_file())
      fs::remove(entry.path(), error);
  }
}

std::string column_path(std::string const& folder, std::int64_t column) {
  std::string number = std::to_string(column);
  number.insert(0, number.size() < 6 ? 6 - number.size() : 0, '0');
  return folder + "/column_" + number + ".strata";
}

void write_column(std::string const& folder, CheckpointHeader const& header,
                  std::vector<TileBytes> const& tiles) {
  strata::detail::AtomicFile file(column_path(folder, header.column));
  FileHeader const first{magic,         header.n,           header.tile_size,
                         header.column, header.matrix_hash, tiles.size()};
  write(file, &first, sizeof first);
  for (TileBytes const& tile : tiles) {
    TileTrailer const trailer{tile.bytes, crc_of(tile)};
    write(file, tile.data, tile.bytes);
    write(file, &trailer, sizeof trailer);
  }
  file.finish();
}

bool read_column(std::string const& folder, CheckpointHeader const& header,
                 std::vector<TileBytes> const& tiles) {
  std::string const path = column_path(folder, header.column);
  if (!std::filesystem::exists(path)) return false;
  strata::detail::FileSource source(path);
  std::string const advice = "; without this file the run goes on from column " +
                             std::to_string(header.column) + " of tiles";
  std::size_t offset = 0, size = sizeof(FileHeader);
  FileHeader first{};
  read(source, &first, sizeof first, offset, advice);
  STRATA_REQUIRE(IoError, first.magic == magic, path, ": not a checkpoint of this version");
  require_same(path, "n", header.n, first.n);
  require_same(path, "the tile size", header.tile_size, first.tile_size);
  require_same(path, "the column", header.column, first.column);
  require_same(path, "the hash", header.matrix_hash, first.matrix_hash);
  require_same(path, "the number of tiles", std::uint64_t{tiles.size()}, first.tiles);
  for (TileBytes const& tile : tiles) size += tile.bytes + sizeof(TileTrailer);
  STRATA_REQUIRE(IoError, source.size_limit() == size, path, ": the checkpoint has ",
                 source.size_limit(), " bytes, ", size, " are expected", advice);
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    TileTrailer trailer{};
    read(source, tiles[t].data, tiles[t].bytes, offset, advice);
    read(source, &trailer, sizeof trailer, offset, advice);
    std::uint64_t const crc = crc_of(tiles[t]);
    STRATA_REQUIRE(IoError, trailer.bytes == tiles[t].bytes && trailer.crc == crc, path, ": tile ",
                   t, " of the column is damaged: CRC-32 ", crc, " of ", tiles[t].bytes,
                   " bytes, the file says ", trailer.crc, " of ", trailer.bytes, advice);
  }
  return true;
}

CheckpointWriter::CheckpointWriter(std::function<void(std::exception_ptr)> fail)
    : fail_(std::move(fail)), thread_([this] { run(); }) {}

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
