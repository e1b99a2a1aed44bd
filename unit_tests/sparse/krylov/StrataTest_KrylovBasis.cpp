// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <core/Strata_Precision.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;
using strata::sparse::KrylovBasis;

constexpr BasisNorm norms[] = {BasisNorm::Derived, BasisNorm::Summed};

double dot(std::vector<double> const& a, std::vector<double> const& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<long double>(a[i]) * b[i];
  return static_cast<double>(sum);
}

/// Old vector k = Q h + beta q, and q is as long as it should be and orthogonal to the others, over
/// the ranks.
void expect_column(Communicator const& comm, sparse::HessenbergColumn const& column,
                   std::vector<double> const& old, std::vector<std::vector<double>> const& Q,
                   std::vector<double> const& q, double u) {
  std::vector<double> products{dot(q, q), dot(old, old)};
  for (auto const& other : Q) products.push_back(dot(q, other));
  comm.sum(products);
  EXPECT_NEAR(products[0], 1, 20 * u);
  double const size = std::sqrt(products[1]);
  for (std::size_t j = 2; j < products.size(); ++j) EXPECT_NEAR(products[j], 0, 100 * u);
  for (std::size_t i = 0; i < q.size(); ++i) {
    double sum = column.beta * q[i];
    for (std::size_t j = 0; j < Q.size(); ++j) sum += column.h[j] * Q[j][i];
    ASSERT_NEAR(sum, old[i], 20 * u * size);
  }
}

/// Orthogonalises random vectors of lengths from 1 to `longest`, nearly parallel ones among them,
/// in rows of each rank. With Summed norms a vector is divided by the length of the one before.
template <class Exec, class Scalar, class Stored = Scalar>
void expect_orthonormal(std::int64_t rows, int vectors, BasisNorm norm, double longest = 1) {
  Exec const exec;
  auto const comm = test_ranks();
  KrylovBasis<Exec, Scalar, Stored> basis(exec, comm, rows, vectors, {}, norm);
  double const u = traits(precision_of<Stored>).unit_roundoff;
  std::vector<std::vector<double>> done;
  double divisor = 1;
  for (int k = 0; k < vectors && k < rows; ++k) {
    auto given = random_vector(rows, static_cast<std::uint64_t>(vectors * comm.rank() + k));
    if (k % 5 == 4)
      for (std::size_t i = 0; i < given.size(); ++i) given[i] = done.back()[i] + 1e-2 * given[i];
    for (auto& number : given) number *= std::pow(longest, k % 4 / 3.0);
    auto const device = to_device<Scalar>(exec, given);
    given = to_host(exec, device);
    Kokkos::deep_copy(exec, basis[k], device);
    basis.orthogonalise(exec, k);
    auto const column = basis.column(exec, k);
    auto q = to_host(exec, basis[k]);
    for (auto& number : given) number /= divisor;
    if (norm == BasisNorm::Summed) {
      divisor = column.beta;
      for (auto& number : q) number /= divisor;
    }
    expect_column(comm, column, given, done, q, u);
    done.push_back(q);
  }
  std::vector<double> t(done.size());
  for (std::size_t j = 0; j < t.size(); ++j) t[j] = static_cast<double>(j) - 3;
  auto const x = to_device<Scalar>(exec, std::vector<double>(static_cast<std::size_t>(rows)));
  basis.combine(exec, t, x);
  auto const combined = to_host(exec, x);
  for (std::size_t i = 0; i < combined.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < t.size(); ++j) sum += t[j] * done[j][i];
    ASSERT_NEAR(combined[i], sum, 400 * u);
  }
}

/// Vector 0 is alpha r, rounded to what is stored; entries of length 1 neither overflow nor get
/// lost.
template <class Exec, class Scalar, class Stored>
void expect_started() {
  Exec const exec;
  KrylovBasis<Exec, Scalar, Stored> basis(exec, Communicator(), 5, 1);
  std::vector<double> const r{0, 2, -2, 1e-4, 0.3};
  basis.start(exec, 0.5, to_device<double>(exec, r));
  auto const q = to_host(exec, basis[0]);
  auto const x = to_device<Scalar>(exec, std::vector<double>(5));
  basis.combine(exec, {1}, x);
  EXPECT_EQ(to_host(exec, x), q);
  double const u = traits(precision_of<Stored>).unit_roundoff;
  for (std::size_t i = 0; i < r.size(); ++i)
    EXPECT_NEAR(q[i], 0.5 * r[i], u * std::abs(0.5 * r[i]));
}

/// What is not a number does not stay in the basis when it is started again.
template <class Exec, class Scalar, class Stored>
void expect_fresh_start(std::int64_t rows, BasisNorm norm) {
  Exec const exec;
  KrylovBasis<Exec, Scalar, Stored> basis(exec, Communicator(), rows, 3, {}, norm);
  auto const steps = [&](double first) {
    basis.start(exec, 1, to_device<double>(exec, random_vector(rows, 1)));
    basis.orthogonalise(exec, 0);
    for (int k = 1; k < 3; ++k) {
      auto vector = random_vector(rows, static_cast<std::uint64_t>(k + 1));
      if (k == 1) vector[0] *= first;
      Kokkos::deep_copy(exec, basis[k], to_device<Scalar>(exec, vector));
      basis.orthogonalise(exec, k);
    }
    return basis.column(exec, 2).beta;
  };
  double const expected = steps(1);
  EXPECT_FALSE(std::isfinite(steps(std::numeric_limits<double>::infinity())));
  EXPECT_EQ(steps(1), expected);
}

template <class Exec>
void expect_dependent_vector_found(BasisNorm norm) {
  Exec const exec;
  KrylovBasis<Exec, double> basis(exec, Communicator(), 4, 2, {}, norm);
  Kokkos::deep_copy(exec, basis[0], 0.5);
  Kokkos::deep_copy(exec, basis[1], 3.0);
  basis.orthogonalise(exec, 0);
  EXPECT_EQ(basis.column(exec, 0).beta, 1);
  basis.orthogonalise(exec, 1);
  auto const column = basis.column(exec, 1);
  EXPECT_EQ(column.h, std::vector<double>{6});
  EXPECT_EQ(column.beta, 0);
  EXPECT_EQ(to_host(exec, basis[1]), std::vector<double>(4));
}

template <class Space>
struct KrylovBasisTest : testing::Test {};
TYPED_TEST_SUITE(KrylovBasisTest, Spaces, SpaceNames);

TYPED_TEST(KrylovBasisTest, IsOrthonormal) {
  for (auto const norm : norms) {
    for (std::int64_t const rows : {1, 7, 127, 128, 1023, 1024, 1025, 5000}) {
      SCOPED_TRACE(rows);
      expect_orthonormal<TypeParam, double>(rows, 12, norm);
      expect_orthonormal<TypeParam, float>(rows, 12, norm);
      expect_orthonormal<TypeParam, float, fp16>(rows, 12, norm);
    }
    expect_orthonormal<TypeParam, double>(3000, 70, norm);  // more than a thread's registers hold
    expect_orthonormal<TypeParam, float, fp16>(3000, 70, norm);
  }
}
TYPED_TEST(KrylovBasisTest, HoldsVectorsOfAnyLength) {
  for (auto const norm : norms)
    for (double const longest : {1e12, 1e-12}) {  // beyond fp16's range
      expect_orthonormal<TypeParam, float>(2051, 8, norm, longest);
      expect_orthonormal<TypeParam, float, fp16>(2051, 8, norm, longest);
    }
}
TYPED_TEST(KrylovBasisTest, Starts) {
  expect_started<TypeParam, double, double>();
  expect_started<TypeParam, float, float>();
  expect_started<TypeParam, float, fp16>();
}
TYPED_TEST(KrylovBasisTest, ForgetsInfinities) {
  for (auto const norm : norms)
    for (std::int64_t const rows : {4, 5, 2051}) {
      expect_fresh_start<TypeParam, double, double>(rows, norm);
      expect_fresh_start<TypeParam, float, fp16>(rows, norm);
    }
}
TYPED_TEST(KrylovBasisTest, FindsADependentVector) {
  for (auto const norm : norms) expect_dependent_vector_found<TypeParam>(norm);
}
TYPED_TEST(KrylovBasisTest, HoldsNoRows) {
  TypeParam const exec;
  for (auto const norm : norms) {
    KrylovBasis<TypeParam, double> basis(exec, Communicator(), 0, 3, {}, norm);
    basis.orthogonalise(exec, 2);
    EXPECT_EQ(basis.column(exec, 2).beta, 0);
    KrylovBasis<TypeParam, float, fp16> narrow(exec, Communicator(), 0, 3, {}, norm);
    narrow.orthogonalise(exec, 2);
    EXPECT_EQ(narrow.column(exec, 2).beta, 0);
  }
}

}  // namespace
