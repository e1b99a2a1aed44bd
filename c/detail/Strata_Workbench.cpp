// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c/detail/Strata_Workbench.hpp>

#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace strata::c::detail {

struct Workbench::Parts {
  Exec exec = new_instance();
  LeafBlas<Exec> blas{exec};
  dense::BatchedCholesky<Exec> batch{exec};

  // The pivot status has its memory before a caller's matrix is overwritten.
  Parts() { (void)blas.scratch(0, sizeof(std::int64_t)); }
};

// A thread that finds the lock taken goes without: so a child can't wait for a thread that a fork has left behind.
struct Workbench::Left {
  static constexpr std::size_t most = 4;
  std::mutex changing;
  std::vector<std::unique_ptr<Parts>> idle;
  AtKokkosEnd at_end{[this] { idle.clear(); }};

  Left() { idle.reserve(most); }
  static Left& the() {
    static Left& one = *new Left;
    return one;
  }
  std::unique_ptr<Parts> take() {
    std::unique_lock const lock(changing, std::try_to_lock);
    if (!lock.owns_lock() || idle.empty()) return nullptr;
    auto parts = std::move(idle.back());
    idle.pop_back();
    return parts;
  }
  void leave(std::unique_ptr<Parts> parts) {
    std::unique_lock const lock(changing, std::try_to_lock);
    if (lock.owns_lock() && idle.size() < most) idle.push_back(std::move(parts));
  }
};

Workbench::Workbench() : exceptions_(std::uncaught_exceptions()), parts_(Left::the().take()) {
  if (!parts_) parts_ = std::make_unique<Parts>();
}
Workbench::~Workbench() {
  if (std::uncaught_exceptions() == exceptions_) Left::the().leave(std::move(parts_));
}

Exec const& Workbench::exec() const { return parts_->exec; }
LeafBlas<Exec>& Workbench::blas() const { return parts_->blas; }
dense::BatchedCholesky<Exec>& Workbench::batch() const { return parts_->batch; }

}  // namespace strata::c::detail
