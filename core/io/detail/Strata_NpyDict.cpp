// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/io/detail/Strata_NpyStream.hpp>
#include <core/io/files/Strata_ParseNumber.hpp>
#include <core/io/files/detail/Strata_LineReader.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace strata::detail {

namespace {

// The part of Python's literals that a header is made of:
//   dict = '{' [pair {',' pair} [',']] '}'     pair = string ':' (string | 'True' | 'False' |
//   tuple)
class DictParser {
 public:
  DictParser(std::string const& name, std::string_view text, NpyKinds kinds)
      : name_(name), text_(text), takes_any_(kinds == NpyKinds::Any) {}

  NpyHeader parse() {
    expect('{');
    while (!take('}')) {
      pair();
      if (take('}')) break;
      expect(',');
    }
    skip_blanks();
    if (position_ != text_.size()) fail("the end");
    for (auto const& [key, seen] : seen_)
      STRATA_REQUIRE(IoError, seen, name_, ": the .npy header has no '", key, "'");
    return header_;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    throw IoError(message(name_, ": expected ", expected, " at byte ", position_,
                          " of the .npy header, found ", excerpt(text_.substr(position_))));
  }
  void skip_blanks() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n'))
      ++position_;
  }
  bool take(char c) {
    skip_blanks();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string{'\'', c, '\''});
  }
  std::string_view take_while(bool (*accept)(char)) {
    skip_blanks();
    auto const begin = position_;
    while (position_ < text_.size() && accept(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  std::string_view string() {
    char const quote = take('\'') ? '\'' : '"';
    if (quote == '"' && !take('"')) fail("a string");
    auto const end = text_.find(quote, position_);
    if (end == std::string_view::npos) fail("a closed string");
    auto const value = text_.substr(position_, end - position_);
    position_ = end + 1;
    return value;
  }

  void pair() {
    auto const key = string();
    auto const known =
        std::find_if(seen_.begin(), seen_.end(), [&](auto const& s) { return s.key == key; });
    STRATA_REQUIRE(IoError, known != seen_.end(), name_, ": unknown key ", excerpt(key),
                   " in the .npy header");
    STRATA_REQUIRE(IoError, !known->seen, name_, ": key ", excerpt(key),
                   " twice in the .npy header");
    known->seen = true;
    expect(':');
    if (key == "descr") return descr();
    if (key == "fortran_order") return fortran_order();
    shape();
  }

  void descr() {
    skip_blanks();
    STRATA_REQUIRE(
        IoError, position_ == text_.size() || text_[position_] != '[', name_,
        ": structured .npy arrays are not supported, only '<f4', '<f8', '>f4' and '>f8'");
    auto const value = string();
    header_.dtype = value;
    if (takes_any_) return;
    constexpr std::array<std::string_view, 4> supported{"<f4", "<f8", ">f4", ">f8"};
    STRATA_REQUIRE(IoError, std::find(supported.begin(), supported.end(), value) != supported.end(),
                   name_, ": dtype ", excerpt(value),
                   " is not supported, only '<f4', '<f8', '>f4' and '>f8'",
                   value.find_first_of("fiu") == 1  // halves, longs and integers
                       ? "; numpy.save(FILE, A.astype(float)) writes one of these"
                       : "");
  }

  void fortran_order() {
    auto const word =
        take_while([](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
    if (word != "True" && word != "False") fail("True or False before this position");
    header_.fortran_order = word == "True";
  }

  void shape() {
    std::vector<std::int64_t> extents;
    bool comma = true;
    expect('(');
    while (!take(')')) {
      if (!comma) fail("',' or ')'");
      auto const digits = take_while([](char c) { return c >= '0' && c <= '9'; });
      std::int64_t extent = 0;
      if (digits.empty()) fail("an extent");
      if (parse_number(digits, extent)) fail("an extent of 63 bits before this position");
      extents.push_back(extent);
      STRATA_REQUIRE(IoError, extents.size() <= 2, name_,
                     ": a .npy array of rank above 2; only 1 and 2 are supported");
      comma = take(',');
    }
    STRATA_REQUIRE(IoError, !extents.empty() || takes_any_, name_,
                   ": a .npy array of rank 0; only 1 and 2 are supported");
    header_.rank = static_cast<int>(extents.size());
    if (extents.empty()) extents.push_back(1);
    if (header_.rank == 1 && !comma) fail("a tuple, with a comma, before this position");
    header_.rows = extents[0];
    header_.cols = header_.rank == 2 ? extents[1] : 1;
  }

  struct Key {
    std::string_view key;
    bool seen = false;
  };
  std::string const& name_;
  std::string_view text_;
  bool takes_any_;
  std::size_t position_ = 0;
  NpyHeader header_;
  std::array<Key, 3> seen_{{{"descr"}, {"fortran_order"}, {"shape"}}};
};

}  // namespace

NpyHeader parse_npy_dict(std::string const& name, std::string_view text, NpyKinds kinds) {
  return DictParser(name, text, kinds).parse();
}

}  // namespace strata::detail
