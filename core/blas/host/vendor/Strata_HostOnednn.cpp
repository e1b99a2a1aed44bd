// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/host/vendor/Strata_HostOnednn.hpp>

#include <core/Strata_Config.hpp>
#include <core/Strata_Errors.hpp>

#include <map>
#include <tuple>
#ifdef STRATA_ENABLE_TPL_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#include <pthread.h>

#include <atomic>
#endif

namespace strata::vendor {

#ifdef STRATA_ENABLE_TPL_ONEDNN
namespace {

// Symbolic names of the statuses that a matmul can end in.
char const* status_name(dnnl_status_t status) {
  switch (status) {
    case dnnl_out_of_memory:
      return "dnnl_out_of_memory";
    case dnnl_invalid_arguments:
      return "dnnl_invalid_arguments";
    case dnnl_unimplemented:
      return "dnnl_unimplemented";
    case dnnl_runtime_error:
      return "dnnl_runtime_error";
    default:
      return "dnnl status";
  }
}

// Run f(), with oneDNN's exceptions as ours.
template <class Function>
auto checked(char const* call, Function const& f) {
  try {
    return f();
  } catch (dnnl::error const& error) {
    throw VendorError(detail::message("oneDNN: ", call, ": ", status_name(error.status), " (",
                                      static_cast<int>(error.status), "): ", error.what()));
  }
}

bool cpu_has(dnnl::cpu_isa isa) {
  auto const bits = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

dnnl::memory::data_type data_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return dnnl::memory::data_type::f32;
    case Precision::bf16:
      return dnnl::memory::data_type::bf16;
    case Precision::fp16:
      return dnnl::memory::data_type::f16;
    default:
      return dnnl::memory::data_type::undef;
  }
}

std::atomic<bool> threads_started{false}, threads_lost{false};

// The threads of an OpenMP region are not in a fork's child, and the next region waits for them.
bool watch_forks() {
  static bool const watched = pthread_atfork(nullptr, nullptr, [] {
                                if (threads_started) threads_lost = true;
                              }) == 0;
  return watched;
}

using ConstMatrix = OnednnMatmul::ConstMatrix;

// oneDNN's fast kernels are row-major, so it is given C^T = op(B)^T op(A)^T: op(X)^T in rows x
// cols.
dnnl::memory::desc transposed_desc(ConstMatrix const& X, Op op) {
  bool const normal = op == Op::NoTrans;
  dnnl::memory::dims const dims{normal ? X.cols : X.rows, normal ? X.rows : X.cols};
  dnnl::memory::dims const strides{normal ? X.ld : 1, normal ? 1 : X.ld};
  return {dims, data_type(X.precision), strides};
}

}  // namespace

struct OnednnMatmul::Impl {
  using Key = std::tuple<Op, Op, double, double, Precision, Precision, Precision, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  struct Entry {
    dnnl::memory::desc source, weights, target;
    dnnl::matmul primitive;  // empty: oneDNN has no such product
  };
  static constexpr std::size_t most_entries = 1024;

  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<Key, Entry> cache;

  Entry make(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
             double beta, ConstMatrix const& C) const {
    Entry entry{
        transposed_desc(B, op_b), transposed_desc(A, op_a), transposed_desc(C, Op::NoTrans), {}};
    dnnl::post_ops steps;
    if (alpha != 1)
      steps.append_eltwise(dnnl::algorithm::eltwise_linear, static_cast<float>(alpha), 0);
    if (beta != 0) steps.append_sum(static_cast<float>(beta));
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(steps);
    dnnl::matmul::primitive_desc const description(engine, entry.source, entry.weights,
                                                   entry.target, attributes, true);
    if (description) entry.primitive = dnnl::matmul(description);
    return entry;
  }

  Entry& find(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
              double beta, ConstMatrix const& C) {
    std::int64_t const k = op_a == Op::NoTrans ? A.cols : A.rows;
    Key const key{op_a,   op_b,   alpha, beta, A.precision, B.precision, C.precision,
                  C.rows, C.cols, k,     A.ld, B.ld,        C.ld};
    auto found = cache.find(key);
    if (found == cache.end()) {
      if (cache.size() >= most_entries) cache.clear();
      found = cache.emplace(key, make(op_a, op_b, alpha, A, B, beta, C)).first;
    }
    return found->second;
  }
};

bool OnednnMatmul::has_instructions(Precision operands) {
  if (operands == Precision::bf16) return cpu_has(dnnl::cpu_isa::avx512_core_bf16);
  if (operands == Precision::fp16) return cpu_has(dnnl::cpu_isa::avx512_core_fp16);
  return operands == Precision::fp32;
}

bool OnednnMatmul::has_threads() { return !threads_lost && watch_forks(); }

bool OnednnMatmul::gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                        double beta, Matrix const& C) {
  if (!has_threads()) return false;
  bool const is_rounded = C.precision == A.precision && beta == 0;  // once, from the sum in fp32
  if ((C.precision != Precision::fp32 && !is_rounded) || A.precision != B.precision ||
      !has_instructions(A.precision))
    return false;
  // oneDNN 3.7 writes a result of one row, and with avx512_core_bf16 reads a source of one, as if
  // its entries were contiguous.
  if (C.rows == 1 && C.cols > 1 && C.ld > 1) return false;
  if (C.cols == 1 && op_b == Op::Trans && B.ld > 1) return false;
  if (!impl_) impl_ = checked("engine", [] { return std::make_unique<Impl>(); });
  return checked("matmul", [&] {
    threads_started = true;
    Impl::Entry& entry = impl_->find(op_a, op_b, alpha, A, B, beta, C);
    if (!entry.primitive) return false;
    auto const memory = [&](dnnl::memory::desc const& desc, void const* data) {
      return dnnl::memory(desc, impl_->engine, const_cast<void*>(data));  // reads inputs alone
    };
    entry.primitive.execute(impl_->stream, {{DNNL_ARG_SRC, memory(entry.source, B.data)},
                                            {DNNL_ARG_WEIGHTS, memory(entry.weights, A.data)},
                                            {DNNL_ARG_DST, memory(entry.target, C.data)}});
    impl_->stream.wait();
    return true;
  });
}
#else
struct OnednnMatmul::Impl {};
bool OnednnMatmul::has_instructions(Precision) { return false; }
bool OnednnMatmul::has_threads() { return false; }
bool OnednnMatmul::gemm(Op, Op, double, ConstMatrix const&, ConstMatrix const&, double,
                        Matrix const&) {
  return false;
}
#endif
OnednnMatmul::OnednnMatmul() = default;
OnednnMatmul::~OnednnMatmul() = default;
OnednnMatmul::OnednnMatmul(OnednnMatmul&&) noexcept = default;

}  // namespace strata::vendor
