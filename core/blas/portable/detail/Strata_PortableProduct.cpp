// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// gemm, syrk and symm as one tiled kernel: tiles of the operands and of the sum lie in scratch
// memory.

#include <core/Strata_Errors.hpp>
#include <core/blas/portable/detail/Strata_PortableBlas.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>

namespace strata::detail {
namespace {

/// How a tile of an operand is read: as stored, or by symmetry from one triangle.
enum class Structure { General, SymmetricLower, SymmetricUpper };

template <class Memory>
struct Operand {
  ConstMatrixRef<Memory> matrix;
  Op op = Op::NoTrans;
  Structure structure = Structure::General;
};

template <class Exec, class Acc>
struct TiledProduct {
  using Memory = typename Exec::memory_space;
  // The three tiles take less than 28 KiB. A thread has a micro x micro block of the sum in
  // registers. On a host it has neighbouring rows (vectors), on a device rows `edge / micro` apart
  // (no bank conflicts).
  static constexpr int edge = sizeof(Acc) == 4 ? 64 : 32, depth = sizeof(Acc) == 4 ? 16 : 32;
  static constexpr int padded = edge + 1, micro = 4, blocks = edge / micro;
  static constexpr int block_step = runs_on_host<Exec> ? micro : 1;
  static constexpr int row_step = runs_on_host<Exec> ? 1 : blocks;
  static constexpr std::size_t scratch_bytes = (2 * depth * padded + edge * edge) * sizeof(Acc);

  Operand<Memory> A, B;  // B is held transposed, so that both are read as (row or column of C, p)
  MatrixRef<Memory> C;
  Factor factor;
  double beta;
  Part part;
  std::int64_t k, tile_rows, tiles;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const a = static_cast<Acc*>(member.team_scratch(0).get_shmem(std::size_t{scratch_bytes}));
    Acc *const b = a + depth * padded, *const sum = b + depth * padded;
    for (std::int64_t t = member.league_rank(); t < tiles; t += member.league_size()) {
      std::int64_t const i0 = (t % tile_rows) * edge, j0 = (t / tile_rows) * edge;
      if (part == Part::Lower && i0 + edge <= j0) continue;
      if (part == Part::Upper && j0 + edge <= i0) continue;
      team_for(member, edge * edge, [=](int x) { sum[x] = 0; });
      for (std::int64_t p0 = 0; p0 < k; p0 += depth) {
        load(member, A, i0, C.rows, p0, a);
        load(member, B, j0, C.cols, p0, b);
        member.team_barrier();
        multiply(member, a, b, sum);
        member.team_barrier();
      }
      store(member, i0, j0, sum);
      member.team_barrier();
    }
  }

 private:
  /// tile(p, r) = element (r0 + r, p0 + p) of the operand, or 0 beyond its end.
  template <class Member>
  KOKKOS_FUNCTION void load(Member const& member, Operand<Memory> const& operand, std::int64_t r0,
                            std::int64_t rows, std::int64_t p0, Acc* tile) const {
    std::int64_t const depth_end = k, ld = operand.matrix.ld;
    bool const trans = operand.op == Op::Trans;
    Structure const structure = operand.structure;
    with_stored_type(operand.matrix.precision, operand.matrix.data, [&](auto const* data) {
      auto const element = [=](int r, int p) {
        std::int64_t const i = r0 + r, j = p0 + p;
        bool const inside = i < rows && j < depth_end;
        bool const mirrored = structure == Structure::General          ? trans
                              : structure == Structure::SymmetricLower ? i < j
                                                                       : i > j;
        std::int64_t const at = mirrored ? j + i * ld : i + j * ld;
        tile[r + p * padded] = inside ? static_cast<Acc>(data[at]) : Acc(0);
      };
      if (trans)
        team_for_tile<depth>(member, edge, [=](int p, int r) { element(r, p); });
      else
        team_for_tile<edge>(member, depth, element);
    });
  }

  template <class Member>
  KOKKOS_FUNCTION void multiply(Member const& member, Acc const* a, Acc const* b, Acc* sum) const {
    team_for(member, blocks * blocks, [=](int block) {
      int const i = (block % blocks) * block_step, j = (block / blocks) * block_step;
      Acc c[micro][micro] = {};
      for (int p = 0; p < depth; ++p)
        for (int y = 0; y < micro; ++y)
          for (int x = 0; x < micro; ++x)
            c[y][x] += a[i + x * row_step + p * padded] * b[j + y * row_step + p * padded];
      for (int y = 0; y < micro; ++y)
        for (int x = 0; x < micro; ++x)
          sum[i + x * row_step + (j + y * row_step) * edge] += c[y][x];
    });
  }

  template <class Member>
  KOKKOS_FUNCTION void store(Member const& member, std::int64_t i0, std::int64_t j0,
                             Acc const* sum) const {
    double const alpha = factor(), old = beta;
    MatrixRef<Memory> const result = C;
    Part const written = part;
    with_stored_type(C.precision, C.data, [&](auto* c) {
      using T = std::remove_pointer_t<decltype(c)>;
      team_for_tile<edge>(member, edge, [=](int r, int s) {
        std::int64_t const i = i0 + r, j = j0 + s;
        bool const in_part = written == Part::Full || (written == Part::Lower ? i >= j : i <= j);
        if (i >= result.rows || j >= result.cols || !in_part) return;
        double const product = alpha * static_cast<double>(sum[r + s * edge]);
        T& element = c[i + j * result.ld];
        element = static_cast<T>(old == 0 ? product : product + old * static_cast<double>(element));
      });
    });
  }
};

/// C = alpha op(A) op(B) + beta C on a part of C.
template <class Exec, class Memory = typename Exec::memory_space>
void tiled_product(Exec const& exec, Part part, double alpha, Operand<Memory> const& A,
                   Operand<Memory> const& B, double beta, MatrixRef<Memory> const& C) {
  std::int64_t const k = A.op == Op::NoTrans ? A.matrix.cols : A.matrix.rows;
  Operand<Memory> B_transposed = B;
  B_transposed.op = transposed(B.op);
  auto const launch = [&]<class Acc>(Acc) {
    using Kernel = TiledProduct<Exec, Acc>;
    std::int64_t const tile_rows = (C.rows + Kernel::edge - 1) / Kernel::edge;
    std::int64_t const tiles = tile_rows * ((C.cols + Kernel::edge - 1) / Kernel::edge);
    launch_teams("strata::core::tiled_product", exec, tiles, Kernel::scratch_bytes,
                 Kernel{A, B_transposed, C, Factor{alpha, A.matrix.scale, B.matrix.scale}, beta,
                        part, k, tile_rows, tiles});
  };
  bool const wide = A.matrix.precision == Precision::fp64 || B.matrix.precision == Precision::fp64;
  wide ? launch(double()) : launch(float());
}

}  // namespace

template <class Exec>
bool PortableBlas<Exec>::gemm(Op op_a, Op op_b, double alpha, ConstMatrix const& A,
                              ConstMatrix const& B, double beta, Matrix const& C) {
  tiled_product<Exec>(exec_, Part::Full, alpha, {A, op_a}, {B, op_b}, beta, C);
  return true;
}

template <class Exec>
bool PortableBlas<Exec>::syrk(Uplo uplo, Op op, double alpha, ConstMatrix const& A, double beta,
                              Matrix const& C) {
  tiled_product<Exec>(exec_, part_of(uplo), alpha, {A, op}, {A, transposed(op)}, beta, C);
  return true;
}

template <class Exec>
bool PortableBlas<Exec>::symm(Uplo uplo, double alpha, ConstMatrix const& A, ConstMatrix const& B,
                              double beta, Matrix const& C) {
  auto const structure =
      uplo == Uplo::Lower ? Structure::SymmetricLower : Structure::SymmetricUpper;
  tiled_product<Exec>(exec_, Part::Full, alpha, {A, Op::NoTrans, structure}, {B}, beta, C);
  return true;
}

#define STRATA_INSTANTIATE_PRODUCT(Space)                                                         \
  template bool PortableBlas<Space>::gemm(Op, Op, double, ConstMatrix const&, ConstMatrix const&, \
                                          double, Matrix const&);                                 \
  template bool PortableBlas<Space>::syrk(Uplo, Op, double, ConstMatrix const&, double,           \
                                          Matrix const&);                                         \
  template bool PortableBlas<Space>::symm(Uplo, double, ConstMatrix const&, ConstMatrix const&,   \
                                          double, Matrix const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_PRODUCT)

}  // namespace strata::detail
