// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_ERRORS_HPP
#define STRATA_ERRORS_HPP

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

namespace strata {

/// Base of everything this library throws; numerical breakdown is not an exception but an `Info`.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Extents or strides that do not fit together; the text holds them all.
struct ShapeError : Error {
  using Error::Error;
};
/// An argument outside its range, or a non-finite number where one is needed.
struct ValueError : Error {
  using Error::Error;
};
/// A file that can't be read, written or believed: path, position, what was expected and what was
/// found.
struct IoError : Error {
  using Error::Error;
};
/// Too little memory: bytes needed and, where known, bytes available.
struct MemoryError : Error {
  using Error::Error;
};
/// A vendor library's status other than success, by its symbolic name.
struct VendorError : Error {
  using Error::Error;
};

/// Outcome of a factorisation.
class [[nodiscard]] Info {
 public:
  /// All leading minors are positive.
  static Info success() { return Info(0); }
  /// The leading minor of order `order` (1-based, global) is not positive, or not a number.
  static Info breakdown(std::int64_t order) { return Info(order); }

  /// Whether it succeeded.
  bool ok() const { return order_ == 0; }
  /// 0, or the order of the first leading minor that is not positive (LAPACK's `info`).
  std::int64_t order() const { return order_; }

 private:
  explicit Info(std::int64_t order) : order_(order) {}
  std::int64_t order_;
};

namespace detail {
template <class... Part>
std::string message(Part const&... part) {
  std::ostringstream text;
  (text << ... << part);
  return text.str();
}
}  // namespace detail

}  // namespace strata

/// Throw `exception` with the streamed rest as its text when `condition` is false.
#define STRATA_REQUIRE(exception, condition, ...)                                        \
  do {                                                                                   \
    if (!(condition)) throw ::strata::exception(::strata::detail::message(__VA_ARGS__)); \
  } while (0)

#endif
