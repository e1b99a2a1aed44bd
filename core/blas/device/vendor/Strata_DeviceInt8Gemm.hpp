// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_DEVICE_INT8_GEMM_HPP
#define STRATA_DEVICE_INT8_GEMM_HPP

#include <core/blas/device/vendor/Strata_DeviceBuffer.hpp>
#include <core/blas/device/vendor/Strata_LtMatmul.hpp>
#include <core/integers/vendor/Strata_VendorInt8.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace strata::vendor {

/// `Int8Gemm` by cublasLt or hipBLASLt: all moduli in one batch.
///
/// cublasLt's first choice of an algorithm may be a quarter slower than its best. So the first
/// large product of a kind is timed, once a process and device, by each of up to 16 algorithms with
/// the operands at hand; all are exact.
///
/// Memory   32 MiB of workspace, kept.
/// Sync     enqueued; the first large product of a kind fences while it is timed, unless work is
///          captured.
class DeviceInt8Gemm {
 public:
  using Exec = runtime::Exec;

  explicit DeviceInt8Gemm(Exec const& exec);

  bool operator()(Int8Product const& product);
  int device() const { return runtime::device_of(exec_); }

 private:
  /// What one call depends on.
  struct Shape {
    std::int64_t m, n, k, lda, ldb, ldc, plane_a, plane_b, plane_c;
    int count;
    auto operator<=>(Shape const&) const = default;
  };
  /// The library's descriptors of a shape and the algorithm, if it has one.
  struct Plan {
    explicit Plan(Shape const& shape);
    lt::Description description;
    lt::Layout a, b, c;
    std::optional<lt::Algorithm> algorithm;
    bool is_timed = false;
  };
  /// An algorithm by a name of this library's, which nvcc asks for in containers.
  struct Candidate {
    lt::Algorithm algorithm;
  };
  /// Products that one algorithm serves: a device, the columns, and the binary logarithm of the
  /// terms.
  struct Kind {
    int device;
    std::int64_t n;
    int k, count;
    auto operator<=>(Kind const&) const = default;
  };

  Plan& plan(Shape const& shape, Int8Product const& product);
  std::vector<Candidate> candidates(Plan const& plan) const;
  void choose(Plan& plan, Kind const& kind, Int8Product const& product);
  Candidate fastest(Plan const& plan, std::vector<Candidate> const& candidates,
                    Int8Product const& product);
  bool one_by_one(Int8Product const& product);
  bool takes(Plan const& plan, lt::Algorithm const& algorithm) const;
  bool enqueue(Plan const& plan, lt::Algorithm const& algorithm, Int8Product const& product);

  Exec exec_;
  lt::LibraryHandle handle_;
  DeviceBuffer<Exec> workspace_;
  std::map<Shape, Plan> plans_;
};

}  // namespace strata::vendor

#endif
