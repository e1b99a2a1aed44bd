// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What is refused at compile time, in sentences: each mistake below has one, in this order. No
// program.
#include <dense/Strata_Cholesky.hpp>

using namespace strata;
using Exec = Kokkos::DefaultHostExecutionSpace;
using Kokkos::View;

void layers() { (void)dense::Layers<fp16, int>::list(); }
void not_a_view(Exec const& exec, double* A) { (void)dense::cholesky(exec, A); }
void rank_one(Exec const& exec, View<double*> const& A) { (void)dense::cholesky(exec, A); }
void in_float(Exec const& exec, View<float**> const& A) {
  (void)dense::cholesky<dense::Layers<fp16, float>>(exec, A);
}
void in_complex(Exec const& exec, View<Kokkos::complex<double>**> const& A) {
  (void)dense::cholesky(exec, A, dense::LayerList{Precision::fp32});
}
