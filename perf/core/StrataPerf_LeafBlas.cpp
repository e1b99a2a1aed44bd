// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/Strata_FlopCount.hpp>
#include <core/blas/Strata_LeafBlas.hpp>

#include <StrataPerf_Harness.hpp>

#include <algorithm>
#include <cmath>

namespace strata::perf {

namespace {

using Blas = LeafBlas<Exec>;
using enum Precision;

std::string name_of_types(Precision operand, Precision result) {
  std::string const name(traits(operand).name);
  return operand == result ? name : name + ',' + std::string(traits(result).name);
}
std::string path_name(BlasPath path) { return path == BlasPath::Vendor ? "vendor/" : ""; }
int size_of(Precision precision) { return static_cast<int>(traits(precision).bytes); }

// A leaf operation's error: products of length k in the accumulator of its type, and the rounding
// of operands to a format.
double sum_limit(Precision precision, std::int64_t k) {
  bool const is_format = is_product_format(precision);
  return error_limit(dense::LayerList{is_format ? precision : dense::accumulator(precision)}, k);
}

void finish(Run& run, BlasPath path, std::string const& problem) {
  path == BlasPath::Vendor ? run.is_vendor(problem) : run.count_ratio(problem);
}

// ||(C + A B^T) v|| / ||A B^T v|| for a random v: the error of C = -A B^T.
double product_error(Blas& blas, Matrix const& A, Matrix const& B, Matrix const& C, bool lower) {
  Exec const& exec = blas.exec();
  OwnedMatrix const v(exec, C.cols, 1, fp64), t(exec, A.cols, 1, fp64), y(exec, C.rows, 1, fp64),
      z(exec, C.rows, 1, fp64);
  fill_uniform(exec, v.ref(), -1, 5);
  blas.gemm(Op::Trans, Op::NoTrans, 1, B, v.ref(), 0, t.ref());
  blas.gemm(Op::NoTrans, Op::NoTrans, -1, A, t.ref(), 0, z.ref());
  if (lower) {
    blas.symm(Uplo::Lower, 1, C, v.ref(), 0, y.ref());
  } else {
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, C, v.ref(), 0, y.ref());
  }
  return relative_difference(exec, y.ref(), z.ref());
}

// C -= A B^T, as the updates of the factorisation are.
void gemm(Run& run, BlasPath path, Precision type, std::int64_t n, std::int64_t k) {
  Exec const& exec = run.exec();
  Precision const result = dense::accumulator(type);
  OwnedMatrix const A(exec, n, k, type), B(exec, n, k, type), C(exec, n, n, result);
  fill_uniform(exec, A.ref(), -1, 1);
  fill_uniform(exec, B.ref(), -1, 2);
  Blas &blas = shared_blas(path), &automatic = shared_blas();
  run.measure([&] { fill_zero(exec, C.ref()); },
              [&] { blas.gemm(Op::NoTrans, Op::Trans, -1, A.ref(), B.ref(), 1, C.ref()); });
  run.count_flops(gemm_flops(n, n, k), type);
  run.count_bytes(gemm_bytes(n, n, k, size_of(type), size_of(type), size_of(result)));
  run.count_error("error", sum_limit(type, k),
                  [&] { return product_error(automatic, A.ref(), B.ref(), C.ref(), false); });
  finish(run, path, text("gemm ", n, ' ', k));
}

// Lower triangle of C -= A A^T.
void syrk(Run& run, BlasPath path, Precision type, std::int64_t n, std::int64_t k) {
  Exec const& exec = run.exec();
  OwnedMatrix const A(exec, n, k, type), C(exec, n, n, type);
  fill_uniform(exec, A.ref(), -1, 1);
  Blas &blas = shared_blas(path), &automatic = shared_blas();
  run.measure([&] { fill_zero(exec, C.ref()); },
              [&] { blas.syrk(Uplo::Lower, Op::NoTrans, -1, A.ref(), 1, C.ref()); });
  run.count_flops(syrk_flops(n, k), type);
  run.count_bytes(syrk_bytes(n, k, size_of(type), size_of(type)));
  run.count_error("error", sum_limit(type, k),
                  [&] { return product_error(automatic, A.ref(), A.ref(), C.ref(), true); });
  finish(run, path, text("syrk ", n, ' ', k));
}

// X L^T = B with m rows: the panel below a leaf.
void trsm(Run& run, BlasPath path, Precision type, std::int64_t n, std::int64_t m) {
  Exec const& exec = run.exec();
  OwnedMatrix const L(exec, n, n, type), B(exec, m, n, type);
  fill_lower(exec, L.ref());
  Blas &blas = shared_blas(path), &automatic = shared_blas();
  run.measure(
      [&] { fill_uniform(exec, B.ref(), 0, 2); },
      [&] { blas.trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, L.ref(), B.ref()); });
  run.count_flops(trsm_flops(n, m), type);
  run.count_bytes(trsm_bytes(n, m, size_of(type), size_of(type)));
  run.count_error("error", sum_limit(type, n), [&] {  // ||X (L^T v) - B v|| / ||B v||
    OwnedMatrix const v(exec, n, 1, fp64), t(exec, n, 1, fp64), y(exec, m, 1, fp64),
        z(exec, m, 1, fp64);
    fill_uniform(exec, v.ref(), -1, 5);
    automatic.gemm(Op::Trans, Op::NoTrans, 1, L.ref(), v.ref(), 0, t.ref());
    automatic.gemm(Op::NoTrans, Op::NoTrans, 1, B.ref(), t.ref(), 0, y.ref());
    fill_uniform(exec, B.ref(), 0, 2);
    automatic.gemm(Op::NoTrans, Op::NoTrans, 1, B.ref(), v.ref(), 0, z.ref());
    return relative_difference(exec, y.ref(), z.ref());
  });
  finish(run, path, text("trsm ", n, ' ', m));
}

// L x = b or L^T x = b for one right-hand side.
void trsv(Run& run, BlasPath path, Precision type, std::int64_t n, Op op) {
  Exec const& exec = run.exec();
  OwnedMatrix const L(exec, n, n, type), x(exec, n, 1, type);
  fill_lower(exec, L.ref());
  Blas &blas = shared_blas(path), &automatic = shared_blas();
  run.measure([&] { fill_uniform(exec, x.ref(), 0, 2); },
              [&] { blas.trsm(Side::Left, Uplo::Lower, op, Diag::NonUnit, 1, L.ref(), x.ref()); });
  run.count_flops(trsm_flops(n, 1), type);
  run.count_bytes(trsm_bytes(n, 1, size_of(type), size_of(type)));
  run.count_error("error", sum_limit(type, n), [&] {  // ||L x - b|| / ||b||
    OwnedMatrix const b(exec, n, 1, fp64), y(exec, n, 1, fp64), z(exec, n, 1, fp64);
    automatic.convert(Op::NoTrans, x.ref(), z.ref());
    automatic.gemm(op, Op::NoTrans, 1, L.ref(), z.ref(), 0, y.ref());
    fill_uniform(exec, x.ref(), 0, 2);
    automatic.convert(Op::NoTrans, x.ref(), b.ref());
    return relative_difference(exec, y.ref(), b.ref());
  });
}

// A = L L^T of a leaf, of paper A's matrix, and perhaps L^-T.
void potrf(Run& run, BlasPath path, Precision type, std::int64_t n, bool inverts) {
  Exec const& exec = run.exec();
  OwnedMatrix const L(exec, n, n, type), V(exec, inverts ? n : 0, inverts ? n : 0, type);
  MatrixView const A = fp64_matrix(exec, n, n);
  SpdMatrix const matrix(exec, "dominant", n, 1);
  matrix.fill(exec, A);
  Blas &blas = shared_blas(path), &automatic = shared_blas();
  Blas::InfoView const info(Kokkos::view_alloc(exec, "strata::perf::info"));
  run.measure([&] { automatic.convert(Op::NoTrans, matrix_ref(A), L.ref()); },
              [&] {
                inverts ? blas.potrf_invert(L.ref(), V.ref(), 0, info)
                        : blas.potrf(Uplo::Lower, L.ref(), 0, info);
              });
  run.count_flops((inverts ? 2 : 1) * potrf_flops(n), type);
  run.count_bytes((inverts ? 2 : 1) * potrf_bytes(n, size_of(type)));
  run.count_error("backward_error", sum_limit(type, n), [&] {
    OwnedMatrix const B(exec, n, 1, fp64), X(exec, n, 1, fp64);
    for (auto const& vector : {B, X}) fill_uniform(exec, vector.ref(), 0, 3);
    if (inverts) {  // X = V V^T B
      OwnedMatrix const Y(exec, n, 1, fp64);
      automatic.gemm(Op::Trans, Op::NoTrans, 1, V.ref(), B.ref(), 0, Y.ref());
      automatic.gemm(Op::NoTrans, Op::NoTrans, 1, V.ref(), Y.ref(), 0, X.ref());
    } else {
      for (Op const op : {Op::NoTrans, Op::Trans})
        automatic.trsm(Side::Left, Uplo::Lower, op, Diag::NonUnit, 1, L.ref(), X.ref());
    }
    return backward_error(automatic, matrix_ref(A), X.ref(), B.ref());
  });
  finish(run, path, text(inverts ? "potrf_invert " : "potrf ", n));
}

// target = source, rounded, of the size of the copy.
void convert(Run& run, Op op, Precision source, Precision target, std::int64_t n) {
  Exec const& exec = run.exec();
  OwnedMatrix const A(exec, n, n, source), B(exec, n, n, target);
  fill_uniform(exec, A.ref(), 0.5, 1);
  Blas& blas = shared_blas();
  run.measure([] {}, [&] { blas.convert(op, A.ref(), B.ref()); });
  run.count_bytes(n * n * (size_of(source) + size_of(target)));
  double const limit = traits(target).unit_roundoff + sum_limit(fp64, n);
  run.count_error("error", limit, [&] {
    OwnedMatrix const v(exec, n, 1, fp64), y(exec, n, 1, fp64), z(exec, n, 1, fp64);
    fill_uniform(exec, v.ref(), 0, 5);
    blas.gemm(op, Op::NoTrans, 1, A.ref(), v.ref(), 0, z.ref());
    blas.gemm(Op::NoTrans, Op::NoTrans, 1, B.ref(), v.ref(), 0, y.ref());
    return relative_difference(exec, y.ref(), z.ref());
  });
}

void copy(Run& run, std::size_t bytes) {
  Exec const& exec = run.exec();
  Kokkos::View<std::byte*, Exec::memory_space> const from(
      Kokkos::view_alloc(exec, "strata::perf::from"), bytes),
      to(Kokkos::view_alloc(exec, "strata::perf::to"), bytes);
  run.measure([] {}, [&] { Kokkos::deep_copy(exec, to, from); });
  run.count_bytes(2 * static_cast<std::int64_t>(bytes));
}

void register_memory() {
  std::size_t const bytes = settings().copy_bytes;
  auto const n = static_cast<std::int64_t>(std::sqrt(static_cast<double>(bytes / 8)));
  add("core/copy", text("bytes:", bytes), [=](Run& run) { copy(run, bytes); });
  struct Types {
    Precision source, target;
    Op op;
  };
  for (auto const& [source, target, op] :
       {Types{fp64, fp32, Op::NoTrans}, Types{fp64, fp16, Op::NoTrans},
        Types{fp32, fp64, Op::NoTrans}, Types{fp32, fp16, Op::NoTrans},
        Types{fp32, bf16, Op::NoTrans}, Types{fp32, fp8_e4m3, Op::NoTrans},
        Types{fp16, fp32, Op::NoTrans}, Types{fp32, fp16, Op::Trans}}) {
    std::string const types = name_of_types(source, target);
    add("core/convert", types + (op == Op::Trans ? "/transposed" : "") + text("/n:", n),
        [=, source = source, target = target, op = op](Run& run) {
          convert(run, op, source, target, n);
        });
  }
}

void register_leaf(BlasPath path, Precision type) {
  std::int64_t const m = settings().gemm_n, inner = std::max<std::int64_t>(m / 8, 1);
  std::string const prefix = path_name(path) + std::string(traits(type).name);
  for (std::int64_t const n : settings().leaf) {
    for (bool const inverts : {false, true})
      add(inverts ? "core/potrf_invert" : "core/potrf", prefix + text("/n:", n),
          [=](Run& run) { potrf(run, path, type, n, inverts); });
    add("core/trsm", prefix + text("/n:", n, "/m:", m),
        [=](Run& run) { trsm(run, path, type, n, m); });
    for (Op const op : {Op::NoTrans, Op::Trans})
      add("core/trsv", prefix + text(op == Op::Trans ? "/transposed/n:" : "/n:", n),
          [=](Run& run) { trsv(run, path, type, n, op); });
    add("core/syrk", prefix + text("/n:", n, "/k:", inner),
        [=](Run& run) { syrk(run, path, type, n, inner); });
  }
}

void register_gemm(BlasPath path, Precision type) {
  std::int64_t const n = settings().gemm_n;
  std::string const types = name_of_types(type, dense::accumulator(type));
  for (std::int64_t const k : settings().k)
    add("core/gemm", path_name(path) + types + text("/n:", n, "/k:", k),
        [=](Run& run) { gemm(run, path, type, n, k); });
}

Suite const suite([] {
  register_memory();
  if (has_vendor()) {
    register_gemm(BlasPath::Vendor, fp64);
    register_leaf(BlasPath::Vendor, fp64);
  }
  for (Precision const type : {fp64, int8x9, int8x14, fp32, fp16_split, tf32, fp16, bf16, fp8_e4m3})
    register_gemm(BlasPath::Automatic, type);
  for (Precision const type : {fp64, fp32}) register_leaf(BlasPath::Automatic, type);
});

}  // namespace

}  // namespace strata::perf
