// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/matrix/Strata_DistributedMatrix.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/formats/detail/Strata_Extents.hpp>
#include <sparse/matrix/Strata_GaussSeidel.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>

namespace strata::sparse {
namespace {

// A colour that is swept beside the halo's exchange is a launch more in each sweep.
template <class Exec>
int free_colours(std::int64_t rows, Transport transport, MatrixOptions const& options) {
  constexpr int all = std::numeric_limits<int>::max();
  bool const is_quick = transport == Transport::Enqueued;
  std::int64_t const large = std::int64_t{1} << (is_quick ? 22 : 20);
  int const few = is_quick ? 1 : 2;
  return options.free_colours.value_or(strata::runs_on_host<Exec> ? all : rows >= large ? few : 0);
}

template <class Exec, class Graph>
SweepOrder<typename Exec::memory_space> order_of(
    Exec const& exec, Graph const& graph,
    Vector<std::int32_t, typename Exec::memory_space> const& positions, Transport transport,
    MatrixOptions const& options) {
  auto const colouring = colour_rows(exec, graph, options.colouring, options.seed);
  std::vector<int> order = options.colour_order;
  if (order.empty()) order = alternating_order(colouring.count);
  if (options.colouring == ColouringMethod::Levels) std::sort(order.begin(), order.end());
  return make_sweep_order(exec, graph, colouring, order, positions,
                          free_colours<Exec>(graph.rows(), transport, options));
}

template <class Exec, class Scalar>
void move(Exec const& exec, std::string const& label,
          Vector<std::int32_t, typename Exec::memory_space> const& from,
          Vector<Scalar, typename Exec::memory_space> const& x,
          Vector<Scalar, typename Exec::memory_space> const& y) {
  Kokkos::parallel_for(
      label, detail::RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(from.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) = x(from(i)); });
}

}  // namespace

template <class Exec>
DistributedMatrix<Exec>::DistributedMatrix(Exec const& exec, Communicator const& comm,
                                           detail::LocalMatrix<Exec> const& local,
                                           Vector<std::int32_t, MemorySpace> const& positions,
                                           MatrixOptions const& options) {
  auto const shared = std::make_shared<Shared>();
  auto const& A = local.rows;
  auto const tell = [&](double part) {
    if (options.on_progress) options.on_progress(part);
  };
  shared->comm = comm;
  shared->link = make_link(exec, comm, options.transport);
  shared->first_row = local.first_row[static_cast<std::size_t>(comm.rank())];
  shared->global_rows = local.first_row.back();
  shared->halo_rows = static_cast<std::int64_t>(local.halo.size());
  comm.agree([&] {
    tell(0.3);
    shared->order = has_symmetric_pattern(exec, A)
                        ? order_of(exec, A, positions, shared->link.transport, options)
                        : order_of(exec, symmetric_pattern(exec, A), positions,
                                   shared->link.transport, options);
    tell(0.6);
    using Rows = std::remove_cvref_t<decltype(A)>;
    stored_ = make_sliced_ell_matrix(
        exec, A.rows(), A.cols(),
        PermutedRows<Rows>{A, shared->order.old_row, shared->order.new_row}, options.columns);
    tell(1);
  });
  for (auto const count : comm.gather(A.entries())) shared->global_entries += count;
  auto const pattern = discover_halo(comm, local.first_row, local.halo);
  comm.agree([&] {
    shared->exchange = Halo<Exec>(exec, comm, pattern, shared->order.new_row, shared->link);
  });
  shared_ = shared;
}

template <class Exec>
DistributedMatrix<Exec>::DistributedMatrix(Exec const& exec, Communicator const& comm,
                                           detail::LocalCsr<Exec> const& A,
                                           MatrixOptions const& options) {
  auto const shared = std::make_shared<Shared>();
  shared->comm = comm;
  shared->link = make_link(exec, comm, options.transport);
  shared->global_rows = A.rows;
  shared->global_entries = A.entries();
  comm.agree([&] {
    if (options.on_progress) options.on_progress(0.5);
    shared->order = natural_order(exec, A.rows);
    stored_ = make_sliced_ell_matrix(exec, A.rows, A.cols, A.ref(), options.columns);
    if (options.on_progress) options.on_progress(1);
  });
  shared_ = shared;
}

template <class Exec>
DistributedMatrix<Exec> DistributedMatrix<Exec>::coloured(Exec const& exec,
                                                          MatrixOptions options) const {
  if (!order().is_natural) return *this;
  options.order = RowOrder::Sweep;
  auto const local = comm().agree([&] {
    auto const* const A = std::get_if<Stored<fp64>>(&stored_);
    STRATA_REQUIRE(ValueError, A, "coloured: values in ", traits(precision()).name,
                   ", must be fp64");
    return detail::LocalMatrix<Exec>{
        make_ell_matrix<double, std::int32_t>(exec, rows(), rows(), EllRows<Stored<fp64>>{*A}),
        {0, rows()},
        {}};
  });
  return DistributedMatrix(exec, comm(), local, {}, options);
}

template <class Exec>
void DistributedMatrix<Exec>::require_sweeps() const {
  STRATA_REQUIRE(
      ValueError, !order().is_natural,
      "Gauss-Seidel: the rows are in natural order; take RowOrder::Sweep, or `coloured`");
}

template <class Exec>
std::int64_t DistributedMatrix<Exec>::entries() const {
  return std::visit([](auto const& A) { return A.entries(); }, stored_);
}

template <class Exec>
std::int64_t DistributedMatrix<Exec>::bytes() const {
  return std::visit([](auto const& A) { return A.bytes(); }, stored_);
}

template <class Exec>
std::int64_t DistributedMatrix<Exec>::column_bytes() const {
  return std::visit([](auto const& A) { return A.column_bytes(); }, stored_);
}

template <class Exec>
Precision DistributedMatrix<Exec>::precision() const {
  return std::visit([]<class A>(A const&) { return precision_of<typename A::Value>; }, stored_);
}

template <class Exec>
bool DistributedMatrix<Exec>::is_exact_in(Exec const& exec, Precision precision) const {
  bool const exact = comm().agree([&] {
    return std::visit([&](auto const& A) { return sparse::is_exact_in(exec, A, precision); },
                      stored_);
  });
  return comm().max(exact ? 0 : 1) == 0;
}

template <class Exec>
DistributedMatrix<Exec> DistributedMatrix<Exec>::stored_in(Exec const& exec,
                                                           Precision precision) const {
  DistributedMatrix result(*this);
  if (precision == this->precision()) return result;
  comm().agree([&] {
    bool const is_fp8 = precision == Precision::fp8_e4m3;
    bool const is_wide = traits(precision).bytes > 1 && !is_product_format(precision);
    STRATA_REQUIRE(ValueError, is_wide || is_fp8, "a sparse matrix can't be stored in ",
                   traits(precision).name);
    auto const is_exact = [&](auto const& A) { return sparse::is_exact_in(exec, A, precision); };
    STRATA_REQUIRE(ValueError, !is_fp8 || std::visit(is_exact, stored_),
                   "the matrix has values that are not exact in fp8_e4m3");
    with_type(precision, [&]<class Value>(std::type_identity<Value>) {
      if constexpr (sizeof(Value) > 1 || std::is_same_v<Value, fp8_e4m3>)
        std::visit([&](auto const& A) { result.stored_ = converted<Value>(exec, A); }, stored_);
    });
  });
  return result;
}

template <class Exec>
template <class Scalar>
auto DistributedMatrix<Exec>::allocate(Exec const& exec, std::string const& label) const
    -> Vector<Scalar, MemorySpace> {
  auto const x = strata::allocate<Vector<Scalar, MemorySpace>>(exec, label, room());
  Kokkos::deep_copy(exec, x, Scalar(0));
  return x;
}

template <class Exec>
void DistributedMatrix<Exec>::require_in_order(char const* name, std::size_t entries) const {
  STRATA_REQUIRE(ShapeError, entries == static_cast<std::size_t>(room()), name, " has ", entries,
                 " entries, in the matrix' order it has ", room(), " on this rank, of ", rows(),
                 " rows, as A.allocate makes it",
                 entries == static_cast<std::size_t>(rows())
                     ? "; it seems to be in natural order: A.gather changes that"
                     : "");
}

template <class Exec>
void DistributedMatrix<Exec>::require_natural(char const* name, std::size_t entries) const {
  STRATA_REQUIRE(ShapeError, entries == static_cast<std::size_t>(rows()), name, " has ", entries,
                 " entries, in natural order it has one for each of the ", rows(),
                 " rows of this rank",
                 entries == static_cast<std::size_t>(room())
                     ? "; it seems to be in the matrix' order: A.scatter changes that"
                     : "");
}

template <class Exec>
template <class Scalar>
void DistributedMatrix<Exec>::gather(Exec const& exec, Vector<Scalar, MemorySpace> const& natural,
                                     Vector<Scalar, MemorySpace> const& x) const {
  require_natural("gather: the source", natural.extent(0));
  detail::require_entries("gather", "the result", x, rows());
  move(exec, "strata::sparse::gather", order().old_row, natural, x);
}

template <class Exec>
template <class Scalar>
void DistributedMatrix<Exec>::scatter(Exec const& exec, Vector<Scalar, MemorySpace> const& x,
                                      Vector<Scalar, MemorySpace> const& natural) const {
  detail::require_entries("scatter", "the source", x, rows());
  require_natural("scatter: the result", natural.extent(0));
  move(exec, "strata::sparse::scatter", order().new_row, x, natural);
}

template <class Exec>
template <class Scalar, class Work>
void DistributedMatrix<Exec>::beside_exchange(Exec const& exec,
                                              Vector<Scalar, MemorySpace> const& x,
                                              std::int64_t free, std::int64_t count,
                                              Work const& work) const {
  if constexpr (is_abreast<Scalar>) {
    work({0, count});  // of one rank
  } else {
    auto const on = [&](RowRange rows, char const* part) {
      if (rows.begin == rows.end) return;
      std::optional<Span> span;
      if (exchange().active()) span.emplace(exec, part);
      work(rows);
    };
    if (free == 0) {
      fill_halo(exec, x);
      return on({0, count}, "boundary");
    }
    exchange().start(exec, x);
    on({0, free}, "interior");
    exchange().finish(exec, x);
    on({free, count}, "boundary");
  }
}

template <class Exec>
template <class Scalar>
void DistributedMatrix<Exec>::multiply(Exec const& exec, Vector<Scalar, MemorySpace> const& x,
                                       Vector<Scalar, MemorySpace> const& y) const {
  detail::require_entries("sparse::multiply", "y", y, rows());  // before messages are on their way
  Region const region(exec, "strata::sparse::DistributedMatrix::multiply");
  std::visit(
      [&](auto const& A) {
        beside_exchange(exec, x, order().free_rows, rows(),
                        [&](RowRange range) { sparse::multiply(exec, A, x, y, range); });
      },
      stored_);
}

template <class Exec>
template <class Scalar>
void DistributedMatrix<Exec>::residual(Exec const& exec, Vector<Scalar, MemorySpace> const& b,
                                       Vector<Scalar, MemorySpace> const& x,
                                       Vector<Scalar, MemorySpace> const& r) const {
  detail::require_entries("sparse::residual", "b", b, rows());
  detail::require_entries("sparse::residual", "r", r, rows());
  Region const region(exec, "strata::sparse::DistributedMatrix::residual");
  std::visit(
      [&](auto const& A) {
        beside_exchange(exec, x, order().free_rows, rows(),
                        [&](RowRange range) { sparse::residual(exec, A, b, x, r, range); });
      },
      stored_);
}

template <class Exec>
template <class Scalar>
void DistributedMatrix<Exec>::restrict_residual(Exec const& exec,
                                                Injection<MemorySpace> const& injection,
                                                Vector<Scalar, MemorySpace> const& b,
                                                Vector<Scalar, MemorySpace> const& x,
                                                Vector<Scalar, MemorySpace> const& coarse) const {
  detail::require_entries("sparse::restrict_residual", "b", b, rows());
  detail::require_entries("sparse::restrict_residual", "coarse", coarse, injection.rows());
  Region const region(exec, "strata::sparse::DistributedMatrix::restrict_residual");
  std::visit(
      [&](auto const& A) {
        beside_exchange(exec, x, injection.free_rows, injection.rows(), [&](RowRange range) {
          sparse::restrict_residual(exec, A, injection, b, x, coarse, range);
        });
      },
      stored_);
}

template <class Exec>
template <class Scalar>
void DistributedMatrix<Exec>::sweep(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                                    Vector<Scalar, MemorySpace> const& x, Sweep direction,
                                    Guess guess) const {
  require_sweeps();
  std::visit(
      [&](auto const& A) { sparse::gauss_seidel(exec, A, order().united, r, x, direction, guess); },
      stored_);
}

// Forward, from x as given.
template <class Exec>
template <class Scalar>
void DistributedMatrix<Exec>::sweep_beside_exchange(Exec const& exec,
                                                    Vector<Scalar, MemorySpace> const& r,
                                                    Vector<Scalar, MemorySpace> const& x) const {
  bool under_way = true;
  exchange().start(exec, x);
  std::visit(
      [&](auto const& A) {
        for (int k = 0; auto const block : order().blocks) {
          if (under_way && block.begin >= order().free_rows) {
            exchange().finish(exec, x);
            under_way = false;
          }
          std::optional<Span> span;
          if (exchange().active())
            span.emplace(exec, under_way ? "interior, block " : "boundary, block ", k++);
          relax(exec, A, r, x, block, Guess::Given);
        }
      },
      stored_);
  if (under_way) exchange().finish(exec, x);
}

template <class Exec>
template <class Scalar>
void DistributedMatrix<Exec>::gauss_seidel(Exec const& exec, Vector<Scalar, MemorySpace> const& r,
                                           Vector<Scalar, MemorySpace> const& x, Sweep direction,
                                           Guess guess) const {
  require_sweeps();
  if (direction == Sweep::Symmetric) {
    gauss_seidel(exec, r, x, Sweep::Forward, guess);
    return gauss_seidel(exec, r, x, Sweep::Backward, Guess::Given);
  }
  bool const zero = guess == Guess::Zero;
  detail::require_entries("Gauss-Seidel", "r", r, rows());
  detail::require_entries("Gauss-Seidel", "x", x, rows() + halo());  // before a block is swept
  Region const region(exec, "strata::sparse::DistributedMatrix::gauss_seidel",
                      zero ? ", from zero" : "");
  if (!zero && direction == Sweep::Forward && order().free_rows > 0)
    return sweep_beside_exchange(exec, r, x);
  if (zero) return sweep(exec, r, x, direction, guess);
  fill_halo(exec, x);
  Span const span(exec, "boundary, all blocks");
  sweep(exec, r, x, direction, guess);
}

#define STRATA_INSTANTIATE_DISTRIBUTED_PRODUCTS(Space, Scalar)                                \
  template Vector<Scalar, Space::memory_space> DistributedMatrix<Space>::allocate<Scalar>(    \
      Space const&, std::string const&) const;                                                \
  template void DistributedMatrix<Space>::multiply(                                           \
      Space const&, Vector<Scalar, Space::memory_space> const&,                               \
      Vector<Scalar, Space::memory_space> const&) const;                                      \
  template void DistributedMatrix<Space>::residual(                                           \
      Space const&, Vector<Scalar, Space::memory_space> const&,                               \
      Vector<Scalar, Space::memory_space> const&, Vector<Scalar, Space::memory_space> const&) \
      const;
#define STRATA_INSTANTIATE_DISTRIBUTED_SCALAR(Space, Scalar)                                  \
  STRATA_INSTANTIATE_DISTRIBUTED_PRODUCTS(Space, Scalar)                                      \
  template void DistributedMatrix<Space>::gather(                                             \
      Space const&, Vector<Scalar, Space::memory_space> const&,                               \
      Vector<Scalar, Space::memory_space> const&) const;                                      \
  template void DistributedMatrix<Space>::scatter(                                            \
      Space const&, Vector<Scalar, Space::memory_space> const&,                               \
      Vector<Scalar, Space::memory_space> const&) const;                                      \
  template void DistributedMatrix<Space>::restrict_residual(                                  \
      Space const&, Injection<Space::memory_space> const&,                                    \
      Vector<Scalar, Space::memory_space> const&, Vector<Scalar, Space::memory_space> const&, \
      Vector<Scalar, Space::memory_space> const&) const;                                      \
  template void DistributedMatrix<Space>::gauss_seidel(                                       \
      Space const&, Vector<Scalar, Space::memory_space> const&,                               \
      Vector<Scalar, Space::memory_space> const&, Sweep, Guess) const;                        \
  template void DistributedMatrix<Space>::sweep(                                              \
      Space const&, Vector<Scalar, Space::memory_space> const&,                               \
      Vector<Scalar, Space::memory_space> const&, Sweep, Guess) const;
#define STRATA_INSTANTIATE_DISTRIBUTED(Space)                     \
  template class DistributedMatrix<Space>;                        \
  STRATA_INSTANTIATE_DISTRIBUTED_SCALAR(Space, fp64)              \
  STRATA_INSTANTIATE_DISTRIBUTED_SCALAR(Space, fp32)              \
  STRATA_INSTANTIATE_DISTRIBUTED_PRODUCTS(Space, Abreast<double>) \
  STRATA_INSTANTIATE_DISTRIBUTED_PRODUCTS(Space, Abreast<float>)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_DISTRIBUTED)

}  // namespace strata::sparse
