// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/Strata_LeafBlas.hpp>
#include <dense/tree/Strata_Quantise.hpp>

#include <StrataPerf_Harness.hpp>

#include <cmath>

namespace strata::perf {

namespace {

using enum Precision;

// stored = round(source / s) with the scale s of the block, of the size of the copy.
void quantise_block(Run& run, Precision source, Precision target, std::int64_t n) {
  Exec const& exec = run.exec();
  OwnedMatrix const A(exec, n, n, source), B(exec, n, n, target);
  Kokkos::View<double, Exec::memory_space> const scale(
      Kokkos::view_alloc(exec, "strata::perf::scale"));
  Matrix stored = B.ref();
  stored.scale = scale.data();
  fill_uniform(exec, A.ref(), 0.5, 1);
  LeafBlas<Exec>& blas = shared_blas();
  run.measure([] {}, [&] { dense::quantise(blas, A.ref(), stored, scale.data()); });
  run.count_bytes(n * n * static_cast<std::int64_t>(traits(source).bytes + traits(target).bytes));
  run.count_error("error", error_limit({target}, n), [&] {
    OwnedMatrix const v(exec, n, 1, fp64), y(exec, n, 1, fp64), z(exec, n, 1, fp64);
    fill_uniform(exec, v.ref(), 0, 5);
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, A.ref(), v.ref(), 0, z.ref());
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, stored, v.ref(), 0, y.ref());
    return relative_difference(exec, y.ref(), z.ref());
  });
}

Suite const suite([] {
  auto const n =
      static_cast<std::int64_t>(std::sqrt(static_cast<double>(settings().copy_bytes / 8)));
  for (Precision const target : {fp16, bf16, fp8_e4m3, fp8_e5m2}) {
    for (Precision const source : {fp32, fp16}) {
      if (source == target) continue;
      add("dense/quantise", text(traits(source).name, ',', traits(target).name, "/n:", n),
          [=](Run& run) { quantise_block(run, source, target, n); });
    }
  }
});

}  // namespace

}  // namespace strata::perf
