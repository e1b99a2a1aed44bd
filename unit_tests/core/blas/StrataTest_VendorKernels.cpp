// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernels around the vendors' calls, which need no vendor.
#include "StrataTest_PaddedMatrix.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/blas/device/vendor/Strata_DeviceScalars.hpp>
#include <core/blas/device/vendor/Strata_PackOperand.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::test;

template <class Value, class Space>
using Array = Kokkos::View<Value*, typename Space::memory_space>;

template <class Space, class Value>
std::vector<Value> download(Space const& exec, Value const* data, Index count) {
  std::vector<Value> result(static_cast<std::size_t>(count));
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  Kokkos::View<Value*, Kokkos::HostSpace, Unmanaged> const host(result.data(), result.size());
  Kokkos::View<Value const*, typename Space::memory_space, Unmanaged> const device(data,
                                                                                   result.size());
  Kokkos::deep_copy(exec, host, device);
  exec.fence();
  return result;
}

template <class Space>
void check_pack(Op op, Index m, Index n) {
  Space const exec;
  Index const rows = vendor::round_up(op == Op::NoTrans ? m : n, 16);
  Index const cols = (op == Op::NoTrans ? n : m) + 3;
  PaddedMatrix<Space> const source(exec, Precision::fp8_e4m3, m, n, m + 5, noise(1));
  Array<std::uint8_t, Space> const packed(Kokkos::view_alloc(exec, "strata::test::packed"),
                                          static_cast<std::size_t>(rows * cols));
  Kokkos::deep_copy(exec, packed, std::uint8_t(0x55));
  vendor::pack_bytes(exec, op, source.ref(), packed.data(), rows, cols);
  auto const result = download(exec, packed.data(), rows * cols);
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i) {
      bool const inside = op == Op::NoTrans ? i < m && j < n : i < n && j < m;
      auto const found = fp8_e4m3::from_bits(result[static_cast<std::size_t>(i + j * rows)]);
      ASSERT_EQ(static_cast<double>(found), inside ? source(i, j, op) : 0) << i << ", " << j;
    }
}

// All 256 numbers of OCP's type T, recoded: half of each in the FNUZ type, exactly.
template <class T, class Fnuz, class Space>
void check_recoding(vendor::Recoding recoding) {
  Space const exec;
  Kokkos::View<std::uint8_t**, Kokkos::LayoutLeft, typename Space::memory_space> const codes(
      Kokkos::view_alloc(exec, "strata::test::codes"), 16, 16);
  Kokkos::View<std::uint8_t**, Kokkos::LayoutLeft, Kokkos::HostSpace> const host(
      "strata::test::host", 16, 16);
  for (int code = 0; code < 256; ++code) host.data()[code] = static_cast<std::uint8_t>(code);
  Kokkos::deep_copy(exec, codes, host);
  Array<std::uint8_t, Space> const packed(Kokkos::view_alloc(exec, "strata::test::packed"), 256);
  MatrixRef<typename Space::memory_space> const source{codes.data(), 16, 16, 16, precision_of<T>};
  vendor::pack_bytes(exec, Op::NoTrans, source, packed.data(), 16, 16, recoding);
  auto const result = download(exec, packed.data(), 256);
  for (int code = 0; code < 256; ++code) {
    auto const number = static_cast<double>(T::from_bits(static_cast<std::uint8_t>(code)));
    auto const found = static_cast<double>(Fnuz::from_bits(result[static_cast<std::size_t>(code)]));
    if (std::isfinite(number))
      EXPECT_EQ(found, number / 2) << code;
    else
      EXPECT_TRUE(std::isnan(found)) << code;
  }
}

// Products and old values whose sums round in the result's type.
// With a scale that is no fp32 number and one that brings the result back.
template <class Space, class T>
void check_store(double beta) {
  Space const exec;
  Index const m = 33, n = 9, padded = 48;
  auto const start = beta == 0 ? Element([](Index, Index) { return not_a_number; }) : noise(1);
  PaddedMatrix<Space> const C(exec, precision_of<T>, m, n, m + 1, start);
  PaddedMatrix<Space> const product(exec, Precision::fp32, m, n, padded, noise(2));
  PaddedMatrix<Space> const large(exec, Precision::fp16, 1, 1, 1, noise(1), std::ldexp(1.0, 362));
  PaddedMatrix<Space> const small(exec, Precision::fp16, 1, 1, 1, noise(1), std::ldexp(1.0, -362));
  strata::detail::Factor const scale{1, large.ref().scale, small.ref().scale};
  vendor::store_product<T>(exec, scale, static_cast<float const*>(product.ref().data), padded, beta,
                           C.ref());
  EXPECT_TRUE(C.kept([](Index, Index) { return true; }));
  auto const result = C.now();
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      double const sum = product(i, j) + (beta == 0 ? 0 : beta * C(i, j));
      double const error = std::abs(result[C.position(i, j)] - sum);
      ASSERT_LE(error, allowed(Precision::fp32, precision_of<T>, 0, 2, sum));
    }
}

template <class Space>
void check_scalars() {
  Space const exec;
  vendor::DeviceScalars<Space> scalars(exec);
  PaddedMatrix<Space> const A(exec, Precision::fp16, 1, 1, 1, noise(1), 0.25);
  PaddedMatrix<Space> const B(exec, Precision::fp16, 1, 1, 1, noise(1), 32);
  auto const read = [&]<class T>(vendor::Scalars<T> const& s) {
    if (!s.on_device) return std::pair<double, double>(*s.alpha, *s.beta);
    auto const both = download(exec, s.alpha, 2);
    EXPECT_EQ(s.beta, s.alpha + 1);
    return std::pair<double, double>(both[0], both[1]);
  };
  using Pair = std::pair<double, double>;
  EXPECT_EQ(read(scalars.template product<float>(3, nullptr, nullptr, 5)), Pair(3, 5));
  EXPECT_EQ(read(scalars.template product<float>(3, A.ref().scale, nullptr, 5)), Pair(0.75, 5));
  EXPECT_EQ(read(scalars.template product<double>(3, A.ref().scale, B.ref().scale, 0)),
            Pair(24, 0));
  EXPECT_EQ(read(scalars.template product<double>(-1, nullptr, B.ref().scale, 2)), Pair(-32, 2));
  EXPECT_EQ(read(scalars.template quotient<float>(3, A.ref().scale)), Pair(12, 0));
  EXPECT_EQ(read(scalars.template quotient<double>(3, nullptr)), Pair(3, 0));
}

// What fixed scales give is made once, each in its place; with any other scale, or after the next
// call, again.
template <class Space>
void check_fixed_scales() {
  Space const exec;
  vendor::DeviceScalars<Space> scalars(exec);
  using View = Kokkos::View<double*, typename Space::memory_space>;
  View const fixed("strata::test::fixed", 2), other("strata::test::other", 1);
  auto const set = [&](View const& view, double value) {
    Kokkos::deep_copy(exec, view, value);
    exec.fence("strata::test::set");
  };
  set(fixed, 2), set(other, 3);
  auto const alpha = [&](double factor, double const* a, double const* b, double beta) {
    auto const s = scalars.template product<double>(factor, a, b, beta);
    auto const both = download(exec, s.alpha, 2);
    EXPECT_EQ(both[1], beta);
    return both[0];
  };
  double const *first = fixed.data(), *second = first + 1, *third = other.data();
  scalars.set_fixed_scales(fixed);
  EXPECT_EQ(alpha(5, first, second, 1), 20);
  EXPECT_EQ(alpha(7, first, second, 1), 28);
  EXPECT_EQ(alpha(5, first, nullptr, 0), 10);
  EXPECT_EQ(alpha(5, first, third, 0), 30);
  set(fixed, 4), set(other, 5);  // against the promise, to tell what is made anew
  EXPECT_EQ(alpha(5, first, second, 1), 20);
  EXPECT_EQ(alpha(7, first, second, 1), 28);
  EXPECT_EQ(alpha(5, first, nullptr, 0), 10);
  EXPECT_EQ(alpha(5, first, third, 0), 100);
  EXPECT_EQ(alpha(5, first, second, 0), 80) << "another beta";
  for (int k = 0; k < 600; ++k) EXPECT_EQ(alpha(k, first, first, 1), 16 * k);  // more than are kept
  scalars.set_fixed_scales(fixed);
  EXPECT_EQ(alpha(5, first, second, 1), 80);
  scalars.set_fixed_scales({});
  set(fixed, 2);
  EXPECT_EQ(alpha(5, first, second, 1), 20);
}

// *info after the vendor's `status` and a factor whose pivot `bad` (if any) is `value`.
template <class Space>
Index merged(Index status, Index bad, double value, Index before) {
  Space const exec;
  auto const pivot = [=](Index i, Index j) { return i == j && i == bad - 1 ? value : 1.0; };
  PaddedMatrix<Space> const factor(exec, Precision::fp32, 70, 70, 75, pivot);
  vendor::PotrfStatus<int, Space> const potrf(exec);
  Kokkos::View<int, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const
      slot(potrf.data());
  Kokkos::deep_copy(exec, slot, static_cast<int>(status));
  Kokkos::View<Index, typename Space::memory_space> const info(
      Kokkos::view_alloc(exec, "strata::test::info"));
  Kokkos::deep_copy(exec, info, before);
  potrf.template merge<float>(factor.ref(), 1000, info);
  Index after = -1;
  Kokkos::deep_copy(exec, after, info);
  exec.fence();
  return after;
}

template <class Space>
void check_merge() {
  EXPECT_EQ(merged<Space>(0, 0, 0, 0), 0);
  EXPECT_EQ(merged<Space>(5, 0, 0, 0), 1005);
  for (double const value : {0.0, -1.0, not_a_number, HUGE_VAL})
    EXPECT_EQ(merged<Space>(0, 70, value, 0), 1070) << value;
  EXPECT_EQ(merged<Space>(30, 20, not_a_number, 0), 1020);
  EXPECT_EQ(merged<Space>(20, 30, -1, 0), 1020);
  EXPECT_EQ(merged<Space>(20, 0, 0, 7), 7);
  EXPECT_EQ(merged<Space>(-3, 0, 0, 0), -3);
}

template <class Space>
class VendorKernels : public testing::Test {};
TYPED_TEST_SUITE(VendorKernels, strata::test::Spaces, strata::test::SpaceNames);

TYPED_TEST(VendorKernels, PackOperandsWithZerosAround) {
  for (Op const op : {Op::NoTrans, Op::Trans}) {
    check_pack<TypeParam>(op, 1, 1);
    check_pack<TypeParam>(op, 64, 64);
    check_pack<TypeParam>(op, 33, 129);
    check_pack<TypeParam>(op, 200, 65);
  }
}

TYPED_TEST(VendorKernels, RecodeFp8AtHalfItsValue) {
  check_recoding<fp8_e4m3, fp8_e4m3fnuz, TypeParam>(vendor::Recoding::E4m3ToFnuz);
  check_recoding<fp8_e5m2, fp8_e5m2fnuz, TypeParam>(vendor::Recoding::E5m2ToFnuz);
}

TYPED_TEST(VendorKernels, StoreProductsInAnyType) {
  for (double const beta : {0.0, -0.5}) {
    check_store<TypeParam, fp64>(beta);
    check_store<TypeParam, fp32>(beta);
    check_store<TypeParam, fp16>(beta);
    check_store<TypeParam, fp8_e5m2>(beta);
  }
}

TYPED_TEST(VendorKernels, MultiplyTheScalesOnTheDevice) { check_scalars<TypeParam>(); }
TYPED_TEST(VendorKernels, MultiplyFixedScalesOnce) { check_fixed_scales<TypeParam>(); }

TYPED_TEST(VendorKernels, MergeTheStatusOfAFactorisation) { check_merge<TypeParam>(); }

}  // namespace
