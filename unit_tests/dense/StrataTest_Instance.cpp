// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The instance rule of the whole dense pipeline, seen from outside.
#include "StrataTest_InstanceRecorder.hpp"
#include "StrataTest_Spaces.hpp"
#include <core/kokkos_ext/Strata_Team.hpp>
#include <core/problems/Strata_Generators.hpp>
#include <dense/Strata_Cholesky.hpp>

#include <gtest/gtest.h>

namespace {

using namespace strata;
using strata::test::InstanceRecorder;

template <class Space>
class InstanceOn : public testing::Test {
 protected:
  void SetUp() override { STRATATEST_NEEDS_INSTANCES(Space, 2); }
};
TYPED_TEST_SUITE(InstanceOn, strata::test::Spaces, strata::test::SpaceNames);

// An instance that is not the default one, where the backend has several.
template <class Space>
Space second_instance() {
  return Kokkos::Experimental::partition_space(Space(), 1, 1)[1];
}

template <class Space>
using Vector = Kokkos::View<double*, typename Space::memory_space>;

template <class Space>
void check_pipeline(dense::LayerList const& layers, dense::Refine refine) {
  Space const exec = second_instance<Space>();
  bool const has_threads = runs_on_host<Space> && Space().concurrency() > 1;
  int const n = has_threads ? 1100 : 300;  // to 1024 one of a host's threads works
  auto const A =
      Kokkos::create_mirror_view_and_copy(Kokkos::view_alloc(exec, typename Space::memory_space()),
                                          generate(MatrixKind::Geometric, n, {.condition = 1e4}));
  Vector<Space> const b(Kokkos::view_alloc(exec, "strata::test::b"), n);
  Vector<Space> const x(Kokkos::view_alloc(exec, "strata::test::x"), n);
  Kokkos::deep_copy(exec, b, 1.0);

  InstanceRecorder const recorder(exec);
  auto factor = dense::cholesky(exec, A, layers, {.leaf_size = 64});
  ASSERT_TRUE(factor.info().ok());
  EXPECT_TRUE(factor.solve(exec, b, x, {.refine = refine}).converged);
  EXPECT_GE(factor.log_determinant(exec).standard_error, 0);
  for (auto const& offence : recorder.offences()) ADD_FAILURE() << offence;
}

TYPED_TEST(InstanceOn, RunsTheFp64PipelineOnTheInstancePassed) {
  check_pipeline<TypeParam>(dense::Layers<fp64>::list(), dense::Refine::Classical);
}

TYPED_TEST(InstanceOn, RunsTheLayeredPipelineOnTheInstancePassed) {
  check_pipeline<TypeParam>(dense::Layers<fp16, fp16, fp32>::list(), dense::Refine::Gmres);
}

TYPED_TEST(InstanceOn, RunsConjugateGradientsOnTheInstancePassed) {
  check_pipeline<TypeParam>(dense::Layers<bf16, fp32>::list(), dense::Refine::Cg);
}

TYPED_TEST(InstanceOn, RunsProductFormatsOnTheInstancePassed) {
  check_pipeline<TypeParam>({Precision::fp16_split, Precision::tf32, Precision::fp32},
                            dense::Refine::Classical);
}

// The test of the test: a copy that is given no instance is noticed, one that is given its own is
// not.
TYPED_TEST(InstanceOn, IsToldFromACallWithoutOne) {
  TypeParam const exec = second_instance<TypeParam>();
  Vector<TypeParam> const x(Kokkos::view_alloc(exec, "strata::test::x"), 8);
  InstanceRecorder const recorder(exec);
  Kokkos::deep_copy(exec, x, 1.0);
  EXPECT_TRUE(recorder.offences().empty());
  Kokkos::deep_copy(x, 2.0);
  EXPECT_FALSE(recorder.offences().empty());
}

}  // namespace
