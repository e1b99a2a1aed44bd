// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c/detail/Strata_Workbench.hpp>

#include <cstdint>

namespace strata::c::detail {

struct Workbench::Parts {
  Instance instance = new_instance();
  LeafBlas<Exec> blas{*instance};
  dense::BatchedCholesky<Exec> batch{*instance};

  // The pivot status has its memory before a caller's matrix is overwritten.
  Parts() { (void)blas.scratch(0, sizeof(std::int64_t)); }
};

Workbench::Workbench() : parts_(std::make_unique<Lent<Parts>>(0)) {}
Workbench::~Workbench() = default;

Exec const& Workbench::exec() const { return *(*parts_)->instance; }
LeafBlas<Exec>& Workbench::blas() const { return (*parts_)->blas; }
dense::BatchedCholesky<Exec>& Workbench::batch() const { return (*parts_)->batch; }

}  // namespace strata::c::detail
