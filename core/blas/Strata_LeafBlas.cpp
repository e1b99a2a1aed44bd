// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/Strata_LeafBlas.hpp>

#include <core/Strata_Backends.hpp>
#include <core/blas/basics/Strata_LargestMagnitude.hpp>
#include <core/blas/basics/detail/Strata_Elementwise.hpp>
#include <core/blas/basics/vendor/Strata_VendorBlas.hpp>
#include <core/blas/detail/Strata_FormattedProduct.hpp>
#include <core/blas/detail/Strata_IntegerProduct.hpp>
#include <core/blas/detail/Strata_KernelsBlas.hpp>
#include <core/blas/portable/detail/Strata_PortableBlas.hpp>
#include <core/blas/portable/detail/Strata_PotrfInvert.hpp>
#include <core/blas/portable/detail/Strata_SmallPotrf.hpp>
#include <core/blas/portable/detail/Strata_SymmetricBlocks.hpp>
#include <core/blas/portable/detail/Strata_ThinProduct.hpp>
#include <core/blas/portable/detail/Strata_ThinSymmetric.hpp>
#include <core/blas/portable/detail/Strata_WidenedBlas.hpp>
#include <core/blas/tiles/vendor/Strata_ThinTriangular.hpp>
#include <core/blas/tiles/vendor/Strata_TilePotrf.hpp>
#include <core/instances/Strata_SecondInstance.hpp>
#include <core/integers/Strata_IntegerBlas.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>

namespace strata {
namespace {

// " A is 4 x 3 (ld 4, fp64), B is ..." for an error's text.
template <class Matrix>
std::string shapes(std::initializer_list<Matrix> operands) {
  std::string text;
  char name = 'A';
  for (Matrix const& A : operands) {
    text += detail::message(name == 'A' ? " " : ", ", name, " is ", A.rows, " x ", A.cols, " (ld ",
                            A.ld, ", ", traits(A.precision).name, A.scale ? ", scaled)" : ")");
    ++name;
  }
  return text;
}

// The extents fit and each operand is valid.
template <class Matrix>
void require_shapes(char const* operation, bool fit, std::initializer_list<Matrix> operands) {
  STRATA_REQUIRE(ShapeError, fit, operation, ": extents don't fit:", shapes(operands));
  STRATA_REQUIRE(ShapeError, std::ranges::all_of(operands, &Matrix::is_valid), operation,
                 ": extents must be >= 0, ld >= max(1, rows) and data not null:", shapes(operands));
}

// The same, and the last operand, which is written, has no scale.
template <class Matrix>
void require_result(char const* operation, bool fit, std::initializer_list<Matrix> operands) {
  require_shapes(operation, fit, operands);
  STRATA_REQUIRE(ShapeError, !(operands.end() - 1)->scale, operation,
                 ": a matrix that is written must have no scale:", shapes(operands));
}

template <class Matrix>
bool are_formatted(Matrix const& A, Matrix const& B) {
  return A.precision == B.precision && is_product_format(A.precision);
}

// slot = a / b; null is 1.
template <class Exec, class Slot>
void write_quotient(Exec const& exec, double const* a, double const* b, Slot const& slot) {
  Kokkos::parallel_for(
      "strata::core::gemm::scale", Kokkos::RangePolicy<Exec>(exec, 0, 1),
      KOKKOS_LAMBDA(int) { slot() = (a ? *a : 1.0) / (b ? *b : 1.0); });
}

// A number of somebody else's.
template <class Exec>
using Number =
    Kokkos::View<double, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

std::int64_t rows_of(Op op, auto const& A) { return op == Op::NoTrans ? A.rows : A.cols; }
std::int64_t cols_of(Op op, auto const& A) { return op == Op::NoTrans ? A.cols : A.rows; }

}  // namespace

template <class Exec>
struct LeafBlas<Exec>::Impl {
  Impl(Exec const& space, BlasPath which)
      : exec(space),
        path(which),
        workspace(space),
        tiles(space),
        vendor(space),
        kernels(space),
        portable(space),
        widened_vendor(space, vendor, workspace),
        widened_portable(space, portable, workspace),
        formatted(space) {}

  // Where a / b lies in device memory until the next call; null is 1.
  double const* quotient(double const* a, double const* b) {
    if (ratio.data() == nullptr)
      ratio = allocate_zeros<decltype(ratio)>(exec, "strata::core::gemm::scale");
    write_quotient(exec, a, b, ratio);
    return ratio.data();
  }

  // Whether the vendor has made this product, the scale of its result divided out.
  bool divides(Op op_a, Op op_b, double alpha, ConstMatrix const& A, ConstMatrix const& B,
               double beta, Matrix const& C) {
    bool const can_divide = !runs_on_host<Exec> && vendor_libraries<Exec>.products &&
                            traits(A.precision).bytes > 1 && !are_formatted(A, B);
    bool const asks_vendor = path == BlasPath::Automatic || path == BlasPath::Vendor;
    return can_divide && asks_vendor && alpha != 0 && cols_of(op_a, A) > 0 &&
           vendor.gemm(op_a, op_b, alpha, A, B, beta, C);
  }

  // A product of A and B in their format.
  void run(LeafBlas& blas, Op op_a, Op op_b, double alpha, ConstMatrix const& A,
           ConstMatrix const& B, double beta, Matrix const& C, Batch const& batch) {
    require_format();
    if (moduli_of(A.precision) > 0) {
      for (std::int64_t i = 0; i < batch.count; ++i)
        integer_product().gemm(*integers, op_a, op_b, alpha, A.shifted(i * batch.stride_a),
                               B.shifted(i * batch.stride_b), beta, C.shifted(i * batch.stride_c));
      return;
    }
    bool const asks_vendor = path == BlasPath::Automatic || path == BlasPath::Vendor;
    if (asks_vendor &&
        (batch.count > 1 ? vendor.gemm_batched(op_a, op_b, alpha, A, B, beta, C, batch)
                         : vendor.gemm(op_a, op_b, alpha, A, B, beta, C)))
      return;
    formatted.gemm(blas, op_a, op_b, alpha, A, B, beta, C, batch);
  }

  detail::IntegerProduct<Exec>& integer_product() {
    if (!integers) integers.emplace(exec, path != BlasPath::Portable);
    if (!product_of_integers) product_of_integers.emplace(exec);
    return *product_of_integers;
  }

  void require_format() const {
    STRATA_REQUIRE(ValueError, path != BlasPath::KokkosKernels,
                   "gemm: the Kokkos Kernels path has no such operation for these types");
  }

  // The first path that has the operation runs it; `call(blas)` returns whether that was so.
  template <class Call>
  void run(char const* operation, Call const& call) {
    bool const automatic = path == BlasPath::Automatic;
    bool const has_vendor = vendor_libraries<Exec>.products;  // if not, nothing is widened in vain
    if (has_vendor && (automatic || path == BlasPath::Vendor) &&
        (call(vendor) || call(widened_vendor)))
      return;
    if constexpr (requires { call(kernels); }) {
      if ((automatic || path == BlasPath::KokkosKernels) && call(kernels)) return;
    }
    if ((automatic || path == BlasPath::Portable) && (call(portable) || call(widened_portable)))
      return;
    throw ValueError(detail::message(operation, ": the ", name_of(path),
                                     " path has no such operation for these types"));
  }

  Exec exec;
  BlasPath path;
  detail::Workspace<Exec> workspace, tiles;  // the latter of `tile_potrf`
  std::array<std::unique_ptr<detail::Workspace<Exec>>, scratch_slots> scratch;
  vendor::Blas<Exec> vendor;
  detail::KernelsBlas<Exec> kernels;
  detail::PortableBlas<Exec> portable;
  detail::WidenedBlas<Exec, vendor::Blas<Exec>> widened_vendor;
  detail::WidenedBlas<Exec, detail::PortableBlas<Exec>> widened_portable;
  detail::FormattedProduct<Exec> formatted;
  std::optional<IntegerBlas<Exec>> integers;
  std::optional<detail::IntegerProduct<Exec>> product_of_integers;
  Kokkos::View<double, memory_space> ratio;
  std::shared_ptr<Exec const> urgent_exec;
  std::unique_ptr<LeafBlas> urgent;
};

template <class Exec>
LeafBlas<Exec>::LeafBlas(Exec const& exec, BlasPath path)
    : impl_(std::make_unique<Impl>(exec, path)) {}
template <class Exec>
LeafBlas<Exec>::~LeafBlas() = default;
template <class Exec>
LeafBlas<Exec>::LeafBlas(LeafBlas&&) noexcept = default;
template <class Exec>
LeafBlas<Exec>& LeafBlas<Exec>::operator=(LeafBlas&&) noexcept = default;

template <class Exec>
Exec const& LeafBlas<Exec>::exec() const {
  return impl_->exec;
}

template <class Exec>
LeafBlas<Exec>& LeafBlas<Exec>::urgent() {
  if constexpr (runs_on_host<Exec>) return *this;
  if (!impl_->urgent) {
    impl_->urgent_exec = urgent_instance(impl_->exec);
    impl_->urgent = std::make_unique<LeafBlas>(*impl_->urgent_exec, impl_->path);
  }
  return *impl_->urgent;
}

template <class Exec>
IntegerBlas<Exec>& LeafBlas<Exec>::integers() {
  (void)impl_->integer_product();
  return *impl_->integers;
}

template <class Exec>
void LeafBlas<Exec>::reserve(std::size_t bytes) {
  impl_->workspace.ensure(bytes);
}

template <class Exec>
void LeafBlas<Exec>::reserve_product(Precision format, std::int64_t m, std::int64_t n,
                                     std::int64_t k) {
  STRATA_REQUIRE(ShapeError, m >= 0 && n >= 0 && k >= 0, "reserve_product: extents are ", m, ", ",
                 n, " and ", k, ", must be >= 0");
  bool const by_vendor = vendor_libraries<Exec>.tf32 && format == Precision::tf32;
  if (!is_product_format(format) || by_vendor) return;
  if (int const moduli = moduli_of(format); moduli > 0)
    return impl_->integer_product().reserve(moduli, m, n, k);
  impl_->formatted.reserve(m, n, k);
  if constexpr (runs_on_host<Exec>) {  // whose library may want fp16 widened
    constexpr std::int64_t most = 4096;
    auto const bytes = [&](std::int64_t extent) {
      return impl_->workspace.bytes(Precision::fp32, std::min(extent, most),
                                    std::min(2 * k + 16, most));
    };
    impl_->workspace.ensure(bytes(m) + bytes(n));
  }
}

template <class Exec>
void LeafBlas<Exec>::set_fixed_scales(Kokkos::View<double const*, memory_space> const& scales) {
  impl_->vendor.set_fixed_scales(scales);
}

template <class Exec>
std::byte* LeafBlas<Exec>::scratch(int slot, std::size_t bytes) {
  STRATA_REQUIRE(ValueError, slot >= 0 && slot < scratch_slots, "scratch: slot ", slot,
                 ", must be 0 to ", scratch_slots - 1);
  auto& memory = impl_->scratch[static_cast<std::size_t>(slot)];
  if (!memory) memory = std::make_unique<detail::Workspace<Exec>>(impl_->exec);
  memory->ensure(bytes);
  return memory->data();
}

template <class Exec>
void LeafBlas<Exec>::release_scratch() {
  for (auto& memory : impl_->scratch) memory.reset();
  if (impl_->urgent) impl_->urgent->release_scratch();
}

template <class Exec>
void LeafBlas<Exec>::gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A,
                          ConstMatrix const& B, double beta, Matrix const& C) {
  bool const fits = rows_of(op_a, A) == C.rows && cols_of(op_b, B) == C.cols &&
                    cols_of(op_a, A) == rows_of(op_b, B);
  require_shapes<ConstMatrix>("gemm", fits, {A, B, C});
  if (C.rows == 0 || C.cols == 0) return;
  if (C.scale) {  // stored C = alpha op(A / scale) op(B) + beta stored C
    if (impl_->divides(op_a, op_b, alpha, A, B, beta, C)) return;
    ConstMatrix scaled = A;
    scaled.scale = impl_->quotient(A.scale, C.scale);
    return gemm(op_a, op_b, alpha, scaled, B, beta, C.without_scale());
  }
  ConstMatrix const stored_a = A.as_stored(), stored_b = B.as_stored();
  Matrix const stored_c = C.as_stored();
  if (alpha == 0 || cols_of(op_a, A) == 0)
    return detail::combine(impl_->exec, detail::Part::Full, {}, {}, beta, stored_c);
  bool const is_thin = impl_->path == BlasPath::Automatic && op_b == Op::NoTrans;
  if (is_thin && detail::thin_product(impl_->exec, impl_->workspace, op_a, alpha, stored_a,
                                      stored_b, beta, stored_c))
    return;
  if (are_formatted(A, B)) return impl_->run(*this, op_a, op_b, alpha, A, B, beta, stored_c, {});
  impl_->run("gemm",
             [&](auto& blas) -> decltype(blas.gemm(op_a, op_b, alpha, stored_a, stored_b, beta,
                                                   stored_c)) {
               return blas.gemm(op_a, op_b, alpha, stored_a, stored_b, beta, stored_c);
             });
}

template <class Exec>
void LeafBlas<Exec>::gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A,
                          ConstMatrix const& B, double beta, Matrix const& C, Batch const& batch) {
  STRATA_REQUIRE(ShapeError, batch.count >= 0, "gemm: a batch of ", batch.count, " products");
  bool const vendor = impl_->path == BlasPath::Automatic || impl_->path == BlasPath::Vendor;
  bool const is_empty = C.rows == 0 || C.cols == 0 || cols_of(op_a, A) == 0 || alpha == 0;
  bool const formatted = are_formatted(A, B);
  if (batch.count > 1 && (vendor || formatted) && !C.scale && !is_empty) {
    bool const fits = rows_of(op_a, A) == C.rows && cols_of(op_b, B) == C.cols &&
                      cols_of(op_a, A) == rows_of(op_b, B);
    require_result<ConstMatrix>("gemm", fits, {A, B, C});
    if (formatted) return impl_->run(*this, op_a, op_b, alpha, A, B, beta, C.as_stored(), batch);
    if (impl_->vendor.gemm_batched(op_a, op_b, alpha, A.as_stored(), B.as_stored(), beta,
                                   C.as_stored(), batch))
      return;
  }
  for (std::int64_t i = 0; i < batch.count; ++i)
    gemm(op_a, op_b, alpha, A.shifted(i * batch.stride_a), B.shifted(i * batch.stride_b), beta,
         C.shifted(i * batch.stride_c));
}

template <class Exec>
void LeafBlas<Exec>::syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta,
                          Matrix const& C) {
  require_result<ConstMatrix>("syrk", C.rows == C.cols && rows_of(op, A) == C.rows, {A, C});
  Matrix const stored = C.as_stored();
  if (C.rows == 0) return;
  if (alpha == 0 || cols_of(op, A) == 0)
    return detail::combine(impl_->exec, detail::part_of(uplo), {}, {}, beta, stored);
  if (moduli_of(A.precision) > 0) {
    impl_->require_format();
    auto& product = impl_->integer_product();
    return product.syrk(*impl_->integers, uplo, op, alpha, A, beta, stored);
  }
  if (is_product_format(A.precision))
    return impl_->formatted.syrk(*this, uplo, op, alpha, A, beta, stored);
  impl_->run("syrk", [&](auto& blas) -> decltype(blas.syrk(uplo, op, alpha, A, beta, stored)) {
    return blas.syrk(uplo, op, alpha, A, beta, stored);
  });
}

template <class Exec>
void LeafBlas<Exec>::trsm(Side side, Uplo uplo, Op op, Diag diag, double alpha,
                          ConstMatrix const& A, Matrix const& B) {
  bool const fits = A.rows == A.cols && A.rows == (side == Side::Left ? B.rows : B.cols);
  require_result<ConstMatrix>("trsm", fits, {A, B});
  if (B.rows == 0 || B.cols == 0) return;
  ConstMatrix const L = A.as_stored();
  Matrix const X = B.as_stored();
  if (alpha == 0) return detail::combine(impl_->exec, detail::Part::Full, {}, {}, 0, X);
  if (impl_->path == BlasPath::Automatic &&
      vendor::thin_triangular(impl_->exec, impl_->workspace, side, uplo, op, diag, alpha, L, X))
    return;
  impl_->run("trsm", [&](auto& blas) -> decltype(blas.trsm(side, uplo, op, diag, alpha, L, X)) {
    return blas.trsm(side, uplo, op, diag, alpha, L, X);
  });
}

template <class Exec>
void LeafBlas<Exec>::potrf(Uplo uplo, Matrix const& A, std::int64_t offset, InfoView const& info) {
  require_result<ConstMatrix>("potrf", A.rows == A.cols, {A});
  if (A.rows == 0) return;
  Matrix const stored = A.as_stored();
  if (impl_->path == BlasPath::Automatic && uplo == Uplo::Lower &&
      (vendor::tile_potrf(impl_->exec, impl_->workspace, stored, nullptr, offset, info) ||
       detail::small_potrf(impl_->exec, impl_->workspace, stored, offset, info)))
    return;
  impl_->run("potrf", [&](auto& blas) -> decltype(blas.potrf(uplo, stored, offset, info)) {
    return blas.potrf(uplo, stored, offset, info);
  });
}

template <class Exec>
void LeafBlas<Exec>::potrs(ConstMatrix const& A, Matrix const& B) {
  require_result<ConstMatrix>("potrs", A.rows == A.cols && A.rows == B.rows, {A, B});
  if (impl_->path == BlasPath::Automatic &&
      vendor::thin_potrs(impl_->exec, impl_->workspace, A.as_stored(), B.as_stored()))
    return;
  for (Op const op : {Op::NoTrans, Op::Trans})
    trsm(Side::Left, Uplo::Lower, op, Diag::NonUnit, 1, A, B);
}

template <class Exec>
void LeafBlas<Exec>::potrf_invert(Matrix const& A, Matrix const& inverse, std::int64_t offset,
                                  InfoView const& info, double* largest) {
  bool const fits = A.rows == A.cols && inverse.rows == A.rows && inverse.cols == A.cols;
  require_result<ConstMatrix>("potrf_invert", fits, {A, inverse});
  STRATA_REQUIRE(
      ValueError, is_arithmetic(A.precision) && A.precision == inverse.precision && !A.scale,
      "potrf_invert: takes fp64 or fp32 without scale:", shapes<ConstMatrix>({A, inverse}));
  if (is_product_format(A.precision))
    return potrf_invert(A.as_stored(), inverse.as_stored(), offset, info, largest);
  if (impl_->path == BlasPath::Automatic &&
      vendor::tile_potrf(impl_->exec, impl_->tiles, A, &inverse, offset, info, largest))
    return;
  if (A.rows == 0) {
  } else if constexpr (runs_on_host<Exec>) {
    potrf(Uplo::Lower, A, offset, info);
    set_identity(impl_->exec, inverse);
    trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, A, inverse);
  } else {
    auto const gemm = [&](auto const&... arguments) { this->gemm(arguments...); };
    detail::potrf_invert(impl_->exec, impl_->workspace, gemm, A, inverse, offset, info);
  }
  if (largest == nullptr) return;
  Kokkos::deep_copy(impl_->exec, Number<Exec>(largest), 0.0);
  with_arithmetic_type(A.precision, [&]<class T>(std::type_identity<T>) {
    largest_magnitude<T>("strata::core::potrf_invert::largest", impl_->exec, inverse, 1, 0,
                         largest);
  });
}

template <class Exec>
void LeafBlas<Exec>::symm(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                          double beta, Matrix const& C) {
  bool const fits = A.rows == A.cols && A.rows == C.rows && B.rows == C.rows && B.cols == C.cols;
  require_result<ConstMatrix>("symm", fits, {A, B, C});
  if (C.rows == 0 || C.cols == 0) return;
  if (alpha == 0) return detail::combine(impl_->exec, detail::Part::Full, {}, {}, beta, C);
  if (is_product_format(A.precision) || is_product_format(B.precision) ||
      is_product_format(C.precision))
    return symm(uplo, alpha, A.as_stored(), B.as_stored(), beta, C.as_stored());
  constexpr std::int64_t large = 12288;  // below it the vendors' are as fast
  bool const is_large = impl_->path == BlasPath::Automatic && A.rows >= large;
  if (is_large && detail::thin_symmetric(impl_->exec, impl_->workspace, uplo, alpha, A, B, beta, C))
    return;
  constexpr std::int64_t far = std::int64_t{1} << 31;
  if (!runs_on_host<Exec> && A.rows > 1 && A.rows * A.ld >= far)
    return detail::symm_by_blocks(*this, far, uplo, alpha, A, B, beta, C);
  impl_->run("symm", [&](auto& blas) -> decltype(blas.symm(uplo, alpha, A, B, beta, C)) {
    return blas.symm(uplo, alpha, A, B, beta, C);
  });
}

template <class Exec>
void LeafBlas<Exec>::convert(Op op, ConstMatrix const& source, Matrix const& target) {
  bool const fits = rows_of(op, source) == target.rows && cols_of(op, source) == target.cols;
  require_shapes<ConstMatrix>("convert", fits, {source, target});
  detail::convert(impl_->exec, op, detail::Part::Full, source.as_stored(), target.as_stored());
}

#define STRATA_INSTANTIATE_LEAF_BLAS(Space) template class LeafBlas<Space>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_LEAF_BLAS)

}  // namespace strata
