// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/detail/Strata_ZipArchive.hpp>

#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace strata::detail {

namespace {

constexpr std::size_t end_bytes = 22, locator_bytes = 20, wide_end_bytes = 56, entry_bytes = 46,
                      local_bytes = 30, longest_comment = 65535;
constexpr std::uint32_t unknown_32 = 0xffffffff;
constexpr std::uint64_t unpacked_floor_bytes = 4 << 20;

// The number of so many bytes, the lowest first.
std::uint64_t number(char const* at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t k = bytes; k-- > 0;) value = value << 8 | static_cast<unsigned char>(at[k]);
  return value;
}

std::string read(PlacedBytes const& bytes, std::uint64_t offset, std::uint64_t size,
                 char const* what) {
  bool const fits = offset <= bytes.size && size <= bytes.size - offset;
  STRATA_REQUIRE(IoError, fits, bytes.name, ": ", what, " of the archive is at byte ", offset,
                 ", the file has ", bytes.size);
  std::string text(size, '\0');
  auto const got = bytes.read_at(offset, text.data(), text.size());
  STRATA_REQUIRE(IoError, got == size, bytes.name, ": expected ", size, " bytes of ", what,
                 ", found ", got);
  return text;
}

// A member's bytes in order; the checksum is compared with its last one.
class MemberSource final : public ByteSource {
 public:
  MemberSource(PlacedBytes const& bytes, ZipArchive::Member const& member, std::uint64_t data)
      : ByteSource(bytes.name + ": " + member.name), bytes_(bytes), member_(member), next_(data) {
    if (!member.is_deflated) return;
    STRATA_REQUIRE(MemoryError, inflateInit2(&stream_, -MAX_WBITS) == Z_OK, name(),
                   ": no memory for inflating");
  }
  ~MemberSource() override {
    if (member_.is_deflated) inflateEnd(&stream_);
  }

  std::uint64_t size_limit() const override { return member_.size; }
  std::size_t read(char* buffer, std::size_t size) override {
    auto const wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(size, member_.size - done_));
    std::size_t got = 0;
    while (got < wanted) {
      auto const step = member_.is_deflated ? inflated(buffer + got, wanted - got)
                                            : packed(buffer + got, wanted - got);
      crc_ = static_cast<std::uint32_t>(
          crc32(crc_, reinterpret_cast<Bytef const*>(buffer + got), static_cast<uInt>(step)));
      got += step;
    }
    done_ += got;
    if (done_ == member_.size && !std::exchange(is_checked_, true)) check_end();
    return got;
  }

 private:
  // The next bytes of the archive, at least one and no more than `most`.
  std::size_t packed(char* buffer, std::size_t most) {
    auto const step = std::min({most, static_cast<std::size_t>(member_.packed - taken_), window});
    auto const got = bytes_.read_at(next_, buffer, step);
    STRATA_REQUIRE(IoError, step > 0 && got == step, name(), ": ends early, after ", done_,
                   " bytes of ", member_.size);
    next_ += got;
    taken_ += got;
    return got;
  }
  void refill() {
    input_.resize(window);
    stream_.avail_in = static_cast<uInt>(packed(input_.data(), input_.size()));
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  }
  std::size_t inflated(char* buffer, std::size_t most) {
    auto const room = static_cast<uInt>(std::min(most, window));
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = room;
    while (stream_.avail_out == room) {
      STRATA_REQUIRE(IoError, !is_over_, name(), ": ends early, after ", done_, " bytes of ",
                     member_.size);
      // With its last byte taken, inflate may still have numbers to give.
      if (stream_.avail_in == 0 && taken_ < member_.packed) refill();
      int const status = inflate(&stream_, Z_NO_FLUSH);
      STRATA_REQUIRE(IoError, status != Z_BUF_ERROR || taken_ < member_.packed, name(),
                     ": ends early, after ", done_, " bytes of ", member_.size);
      STRATA_REQUIRE(IoError, status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR,
                     name(), ": damaged deflate stream after ", done_,
                     " inflated bytes: ", stream_.msg ? stream_.msg : zError(status));
      is_over_ = status == Z_STREAM_END;
    }
    return room - stream_.avail_out;
  }
  void check_end() {
    if (member_.is_deflated && !is_over_) {
      char more = 0;
      stream_.next_out = reinterpret_cast<Bytef*>(&more);
      stream_.avail_out = 1;
      if (stream_.avail_in == 0 && taken_ < member_.packed) refill();
      int const status = inflate(&stream_, Z_NO_FLUSH);
      STRATA_REQUIRE(IoError, status == Z_STREAM_END && stream_.avail_out == 1, name(),
                     ": more than the ", member_.size, " bytes that the archive's directory says");
    }
    STRATA_REQUIRE(IoError, crc_ == member_.crc, name(), ": the checksum is ", crc_,
                   ", the archive's directory says ", member_.crc);
  }

  static constexpr std::size_t window = 1 << 16;
  PlacedBytes bytes_;
  ZipArchive::Member member_;
  std::uint64_t next_, taken_ = 0, done_ = 0;
  std::uint32_t crc_ = 0;
  bool is_over_ = false, is_checked_ = false;
  std::string input_;
  z_stream stream_{};
};

// Of numbers that have no room in 32 bits, in the order of the fields that say so.
void take_wide(std::string const& path, std::string_view extra, ZipArchive::Member& member) {
  std::uint64_t* const fields[] = {&member.size, &member.packed, &member.header};
  while (extra.size() >= 4) {
    auto const id = number(extra.data(), 2), size = number(extra.data() + 2, 2);
    STRATA_REQUIRE(IoError, size <= extra.size() - 4, path, ": member ", member.name,
                   " has a damaged entry in the archive's directory");
    auto rest = extra.substr(4, size);
    extra.remove_prefix(4 + size);
    if (id != 1) continue;
    for (auto* const field : fields)
      if (*field == unknown_32 && rest.size() >= 8) {
        *field = number(rest.data(), 8);
        rest.remove_prefix(8);
      }
  }
}

}  // namespace

PlacedBytes placed_bytes(std::string const& path) {
  auto const file = std::make_shared<FileSource>(path);
  return {path, file->size_limit(), [file](std::uint64_t offset, char* to, std::size_t size) {
            return file->read_at(offset, to, size);
          }};
}

PlacedBytes placed_bytes(std::string name, char const* data, std::size_t size) {
  return {std::move(name), size, [=](std::uint64_t offset, char* to, std::size_t wanted) {
            if (offset >= size) return std::size_t{0};
            auto const got = std::min<std::size_t>(wanted, size - offset);
            std::memcpy(to, data + offset, got);
            return got;
          }};
}

ZipArchive::ZipArchive(PlacedBytes bytes) : bytes_(std::move(bytes)) {
  auto const tail_size = std::min<std::uint64_t>(bytes_.size, end_bytes + longest_comment);
  auto const tail = read(bytes_, bytes_.size - tail_size, tail_size, "the end");
  auto const at = tail.rfind(std::string_view("PK\5\6", 4));
  STRATA_REQUIRE(IoError, at != std::string::npos && tail.size() - at >= end_bytes, bytes_.name,
                 ": an archive without a directory at its end: it is truncated");
  char const* const end = tail.data() + at;
  std::uint64_t count = number(end + 10, 2), size = number(end + 12, 4),
                offset = number(end + 16, 4);
  bool const is_wide = at >= locator_bytes &&
                       std::string_view(end - locator_bytes, 4) == std::string_view("PK\6\7", 4);
  if (is_wide) {
    auto const wide =
        read(bytes_, number(end - locator_bytes + 8, 8), wide_end_bytes, "the directory's end");
    STRATA_REQUIRE(IoError, wide.starts_with(std::string_view("PK\6\6", 4)), bytes_.name,
                   ": the archive's directory has a damaged end");
    count = number(wide.data() + 32, 8);
    size = number(wide.data() + 40, 8);
    offset = number(wide.data() + 48, 8);
  }
  read_directory(offset, size, count);
}

void ZipArchive::read_directory(std::uint64_t offset, std::uint64_t size, std::uint64_t count) {
  constexpr std::uint64_t most = 1000, most_bytes = 1 << 20;
  STRATA_REQUIRE(IoError, count <= most && size <= most_bytes, bytes_.name, ": an archive of ",
                 count, " members with a directory of ", size, " bytes; at most ", most, " and ",
                 most_bytes, " are read");
  auto const directory = read(bytes_, offset, size, "the directory");
  std::string_view rest = directory;
  for (std::uint64_t k = 0; k < count; ++k) {
    bool const is_entry =
        rest.size() >= entry_bytes && rest.starts_with(std::string_view("PK\1\2", 4));
    STRATA_REQUIRE(IoError, is_entry, bytes_.name, ": the archive's directory has ", k,
                   " members, it says ", count);
    char const* const entry = rest.data();
    auto const name = number(entry + 28, 2), extra = number(entry + 30, 2),
               comment = number(entry + 32, 2);
    STRATA_REQUIRE(IoError, entry_bytes + name + extra + comment <= rest.size(), bytes_.name,
                   ": the archive's directory ends within member ", k + 1);
    Member member;
    member.name = rest.substr(entry_bytes, name);
    for (char& c : member.name)
      if (static_cast<unsigned char>(c) < ' ') c = '?';
    member.name.resize(std::min<std::size_t>(member.name.size(), 60));
    auto const method = number(entry + 10, 2);
    member.is_deflated = method == 8;
    member.crc = static_cast<std::uint32_t>(number(entry + 16, 4));
    member.packed = number(entry + 20, 4);
    member.size = number(entry + 24, 4);
    member.header = number(entry + 42, 4);
    take_wide(bytes_.name, rest.substr(entry_bytes + name, extra), member);
    STRATA_REQUIRE(IoError, (number(entry + 8, 2) & 1) == 0, bytes_.name, ": member ", member.name,
                   " is encrypted");
    STRATA_REQUIRE(IoError, method == 0 || method == 8, bytes_.name, ": member ", member.name,
                   " has compression ", method, ", only 0 (stored) and 8 (deflated) are read");
    STRATA_REQUIRE(IoError, method == 8 || member.packed == member.size, bytes_.name, ": member ",
                   member.name, " is stored with ", member.packed, " of ", member.size, " bytes");
    members_.push_back(std::move(member));
    rest.remove_prefix(entry_bytes + name + extra + comment);
  }
}

ZipArchive::Member const* ZipArchive::find(std::string const& name) const {
  auto const found =
      std::ranges::find_if(members_, [&](auto const& member) { return member.name == name; });
  return found == members_.end() ? nullptr : &*found;
}

std::unique_ptr<ByteSource> ZipArchive::open(Member const& member, double max_ratio) const {
  auto const local = read(bytes_, member.header, local_bytes, "a member's header");
  STRATA_REQUIRE(IoError, local.starts_with(std::string_view("PK\3\4", 4)), bytes_.name,
                 ": member ", member.name, " has no header where the archive's directory says");
  auto const data =
      member.header + local_bytes + number(local.data() + 26, 2) + number(local.data() + 28, 2);
  bool const fits = data <= bytes_.size && member.packed <= bytes_.size - data;
  STRATA_REQUIRE(IoError, fits, bytes_.name, ": member ", member.name, " needs ", member.packed,
                 " bytes from byte ", data, " on, the file has ", bytes_.size);
  bool const is_modest =
      member.size <= unpacked_floor_bytes ||
      static_cast<double>(member.size) <= max_ratio * static_cast<double>(member.packed);
  STRATA_REQUIRE(IoError, is_modest, bytes_.name, ": member ", member.name, " of ", member.packed,
                 " bytes would inflate to ", member.size, "; the largest ratio allowed is ",
                 max_ratio);
  return std::make_unique<MemberSource>(bytes_, member, data);
}

}  // namespace strata::detail
