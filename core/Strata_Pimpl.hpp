// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_PIMPL_HPP
#define STRATA_PIMPL_HPP

#include <core/Strata_Errors.hpp>

#include <memory>
#include <utility>

namespace strata {

/// A pointer to all that an object consists of. After a move the object may be destroyed or
/// assigned to; whatever else uses it throws ValueError "NAME: moved from".
///
/// Pointer   std::unique_ptr, or std::shared_ptr where copies of the object are the same one.
template <class T, class Pointer = std::unique_ptr<T>>
class Pimpl {
 public:
  /// `name`: the class, for messages.
  explicit Pimpl(char const* name, Pointer pointer = nullptr)
      : name_(name), pointer_(std::move(pointer)) {}

  /// Throws   ValueError after a move.
  T& operator*() const {
    STRATA_REQUIRE(ValueError, pointer_ != nullptr, name_, ": moved from");
    return *pointer_;
  }
  /// Throws   ValueError after a move.
  T* operator->() const { return &**this; }

 private:
  char const* name_;  // of the class
  Pointer pointer_;
};

}  // namespace strata

#endif
