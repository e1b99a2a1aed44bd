// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/multigrid/Strata_Transfer.hpp>

#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <sparse/coarsening/detail/Strata_BlockCsr.hpp>
#include <sparse/formats/Strata_EllKernels.hpp>
#include <sparse/formats/detail/Strata_Extents.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>
#include <sparse/formats/detail/Strata_HostSlices.hpp>
#include <sparse/matrix/detail/Strata_RowExchange.hpp>

#include <algorithm>

namespace strata::sparse {
namespace {

/// Row i is row old_row(i) of compressed rows with local columns (row source).
template <class Exec>
struct OrderedRows {
  using Space = typename Exec::memory_space;
  Vector<std::int64_t, Space> begin;
  Vector<std::int32_t, Space> column;
  Vector<double, Space> value;
  Vector<std::int32_t, Space> old_row;

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Emit const& emit) const {
    std::int64_t const row = old_row(i);
    for (std::int64_t k = begin(row); k < begin(row + 1); ++k)
      emit(std::int64_t(column(k)), value(k));
  }
};

/// Rows of a source in another order, with other numbers of columns (row source).
template <class Source, class Space>
struct PlacedRows {
  Source source;
  Vector<std::int32_t, Space> old_row, new_column;

  template <class Emit>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Emit const& emit) const {
    source(old_row(i), [&](std::int64_t column, double value) {
      emit(std::int64_t(new_column(column)), value);
    });
  }
};

// The values of a source's rows where `like` has the same entries.
template <class Exec, class Matrix, class Source>
Matrix refilled(Exec const& exec, Matrix const& like, Source const& source) {
  auto const values = strata::allocate<Kokkos::View<double*, typename Exec::memory_space>>(
      exec, "strata::sparse::EllMatrix::values", like.stored());
  Kokkos::parallel_for(
      "strata::sparse::Transfer::refilled",
      detail::RowPolicy<Exec>(exec, 0, Matrix::padded(like.rows())), KOKKOS_LAMBDA(std::int64_t i) {
        auto const row = like.row(i);
        std::int64_t at = row.first;
        if (i < like.rows())
          source(i, [&](std::int64_t, double value) {
            values(at) = value;
            at += row.stride;
          });
        for (; at < row.first + row.width * row.stride; at += row.stride) values(at) = 0;
      });
  return like.with_values(values);
}

/// y = A x, or y += A x, of vectors that go abreast on a host.
template <class Matrix, class Numbers>
struct ApplyAbreast {
  using Scalar = LaneOf<Numbers>;
  Matrix A;
  RowRange range;
  Numbers const* x;
  Numbers* y;
  bool adds;

  STRATA_INLINE void ask_for_next(std::int64_t, std::int64_t) const {}
  template <int Rows>
  STRATA_INLINE void take(std::int64_t row) const {
    auto const own = A.row(row);
    auto const* const columns = A.columns() + own.first;
    auto const* const values = A.values() + own.first;
    Numbers sum[Rows];
    for (int r = 0; r < Rows; ++r) sum[r] = adds ? y[row + r] : Numbers(Scalar(0));
    for (int k = 0; k < own.width; ++k)
      for (int r = 0; r < Rows; ++r) {
        auto const a = static_cast<Scalar>(values[k * own.stride + r]);
        Numbers const& factors = x[columns[k * own.stride + r]];
        for (int j = 0; j < Numbers::count; ++j) sum[r].of[j] += a * factors.of[j];
      }
    for (int r = 0; r < Rows; ++r) y[row + r] = sum[r];
  }
};

// y = A x, or y += A x
template <class Exec, class Matrix, class Scalar>
void apply_rows(Exec const& exec, Matrix const& A, std::int64_t rows, Scalar const* x, Scalar* y,
                bool add) {
  if constexpr (is_abreast<Scalar> && runs_on_host<Exec>) {
    ApplyAbreast<Matrix, Scalar> const kernel{A, {0, rows}, x, y, add};
    return detail::launch_slices("strata::sparse::Transfer::multiply", exec, kernel);
  }
  Kokkos::parallel_for(
      "strata::sparse::Transfer::multiply", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        auto const row = A.row(i);
        auto const* const columns = A.columns() + row.first;
        auto const* const values = A.values() + row.first;
        using Number = LaneOf<Scalar>;
        Scalar sum = add ? y[i] : Scalar(Number(0));
        for (int k = 0; k < row.width; ++k)
          sum += static_cast<Number>(values[k * row.stride]) * x[columns[k * row.stride]];
        y[i] = sum;
      });
}

template <class Exec, class Matrix, class Wide, class To>
void scale_rows(Exec const& exec, Matrix const& A, std::int64_t rows, Wide const& e, Wide const& d,
                To* values) {
  Kokkos::parallel_for(
      "strata::sparse::Transfer::scaled", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        auto const row = A.row(i);
        for (int k = 0; k < row.width; ++k) {
          std::int64_t const at = row.first + k * row.stride;
          double const value = A.values()[at];
          values[at] = static_cast<To>(value == 0 ? 0.0 : e(i) * value / d(A.columns()[at]));
        }
      });
}

}  // namespace

template <class Exec>
Transfer<Exec>::Transfer(Exec const& exec, DistributedMatrix<Exec> const& to,
                         DistributedMatrix<Exec> const& from, HostRows const& rows)
    : comm_(to.comm()), rows_(to.rows()), columns_(from.rows()), entries_(rows.entries()) {
  auto const first_row = first_rows(from);
  std::int64_t const first = first_row[static_cast<std::size_t>(comm_.rank())];
  auto const outside = detail::columns_outside(rows, first, first + columns_);
  auto const pattern = discover_halo(comm_, first_row, outside);
  halo_rows_ = pattern.halo;
  comm_.agree([&] {
    STRATA_REQUIRE(ShapeError, rows.rows() == rows_, "transfer: ", rows.rows(), " rows for ", rows_,
                   " of the matrix");
    auto const new_column = detail::to_host(exec, from.order().new_row);
    std::vector<std::int32_t> local(rows.column.size());
    for (std::size_t k = 0; k < local.size(); ++k) {
      std::int64_t const j = rows.column[k];
      bool const own = j >= first && j < first + columns_;
      auto const at = std::lower_bound(outside.begin(), outside.end(), j) - outside.begin();
      local[k] = own ? new_column[static_cast<std::size_t>(j - first)]
                     : static_cast<std::int32_t>(columns_ + at);
    }
    OrderedRows<Exec> const source{
        detail::to_device(exec, "strata::sparse::Transfer::begin", rows.begin),
        detail::to_device(exec, "strata::sparse::Transfer::column", local),
        detail::to_device(exec, "strata::sparse::Transfer::value", rows.value), to.order().old_row};
    stored_ = make_ell_matrix<double, std::int32_t>(exec, rows_, columns_ + halo_rows_, source);
    exchange_ = Halo<Exec>(exec, comm_, pattern, from.order().new_row, from.link());
  });
}

template <class Exec>
template <class Source>
void Transfer<Exec>::store(Exec const& exec, DistributedMatrix<Exec> const& to,
                           DistributedMatrix<Exec> const& from, Source const& source,
                           Stored<fp64> const& like) {
  comm_ = to.comm();
  rows_ = to.rows();
  columns_ = from.rows();
  PlacedRows<Source, MemorySpace> const rows{source, to.order().old_row, from.order().new_row};
  auto const stored = like.rows() > 0
                          ? refilled(exec, like, rows)
                          : make_ell_matrix<double, std::int32_t>(exec, rows_, columns_, rows);
  entries_ = stored.entries();
  stored_ = stored;
}

template <class Exec>
Transfer<Exec>::Transfer(Exec const& exec, DistributedMatrix<Exec> const& to,
                         DistributedMatrix<Exec> const& from, detail::BlockCsr<Exec> const& P,
                         Stored<fp64> const& like) {
  if (P.height * P.width == 1)
    store(exec, to, from, P.nodes.ref(), like);
  else
    store(exec, to, from, detail::BlockRows<MemorySpace>::of(P), like);
  exec.fence("strata::sparse::Transfer::stored");
}

template <class Exec>
Transfer<Exec>::Transfer(Exec const& exec, DistributedMatrix<Exec> const& to,
                         DistributedMatrix<Exec> const& from,
                         detail::TransposedIndex<Exec> const& index,
                         detail::BlockCsr<Exec> const& P, Stored<fp64> const& like) {
  if (P.height * P.width == 1)
    store(exec, to, from,
          detail::TransposedRows<MemorySpace>{index.begin, index.place, P.nodes.ref()}, like);
  else
    store(exec, to, from,
          detail::TransposedBlockRows<MemorySpace>{index.begin, index.place,
                                                   detail::BlockRows<MemorySpace>::of(P)},
          like);
  exec.fence("strata::sparse::Transfer::stored");
}

template <class Exec>
std::int64_t Transfer<Exec>::bytes() const {
  return std::visit([](auto const& A) { return A.bytes(); }, stored_);
}

template <class Exec>
Transfer<Exec> Transfer<Exec>::scaled(Exec const& exec, Vector<double, MemorySpace> const& e,
                                      Vector<double, MemorySpace> const& d,
                                      Precision precision) const {
  Transfer result(*this);
  exchange_.fill(exec, d);
  comm_.agree([&] {
    auto const* const A = std::get_if<Stored<fp64>>(&stored_);
    STRATA_REQUIRE(ValueError, A && traits(precision).bytes > 1 && !is_product_format(precision),
                   "transfer: scaled to ", traits(precision).name,
                   ", only fp64 to 16 bits or more is done");
    with_type(precision, [&]<class To>(std::type_identity<To>) {
      if constexpr (sizeof(To) > 1) {
        auto const values = strata::allocate<Kokkos::View<To*, MemorySpace>>(
            exec, "strata::sparse::EllMatrix::values", A->stored());
        Kokkos::deep_copy(exec, values, static_cast<To>(0.0));  // also below the last row
        scale_rows(exec, *A, rows_, e, d, values.data());
        result.stored_ = A->with_values(values);
      }
    });
  });
  return result;
}

template <class Exec>
template <class Scalar>
void Transfer<Exec>::require_vectors(Vector<Scalar, MemorySpace> const& x,
                                     Vector<Scalar, MemorySpace> const& y) const {
  detail::require_entries("transfer", "x", x, columns_ + halo_rows_);
  detail::require_entries("transfer", "y", y, rows_);
}

template <class Exec>
template <class Scalar>
void Transfer<Exec>::multiply(Exec const& exec, Vector<Scalar, MemorySpace> const& x,
                              Vector<Scalar, MemorySpace> const& y) const {
  require_vectors(x, y);
  if constexpr (!is_abreast<Scalar>) exchange_.fill(exec, x);
  std::visit(
      [&](auto const& A) {
        apply_rows(exec, A, rows_, static_cast<Scalar const*>(x.data()), y.data(), false);
      },
      stored_);
}

template <class Exec>
template <class Scalar>
void Transfer<Exec>::add_product(Exec const& exec, Vector<Scalar, MemorySpace> const& x,
                                 Vector<Scalar, MemorySpace> const& y) const {
  require_vectors(x, y);
  if constexpr (!is_abreast<Scalar>) exchange_.fill(exec, x);
  std::visit(
      [&](auto const& A) {
        apply_rows(exec, A, rows_, static_cast<Scalar const*>(x.data()), y.data(), true);
      },
      stored_);
}

#define STRATA_INSTANTIATE_TRANSFER_SCALAR(Space, Scalar)                                    \
  template void Transfer<Space>::multiply(Space const&,                                      \
                                          Vector<Scalar, Space::memory_space> const&,        \
                                          Vector<Scalar, Space::memory_space> const&) const; \
  template void Transfer<Space>::add_product(Space const&,                                   \
                                             Vector<Scalar, Space::memory_space> const&,     \
                                             Vector<Scalar, Space::memory_space> const&) const;
#define STRATA_INSTANTIATE_TRANSFER(Space)                   \
  template class Transfer<Space>;                            \
  STRATA_INSTANTIATE_TRANSFER_SCALAR(Space, fp64)            \
  STRATA_INSTANTIATE_TRANSFER_SCALAR(Space, fp32)            \
  STRATA_INSTANTIATE_TRANSFER_SCALAR(Space, Abreast<double>) \
  STRATA_INSTANTIATE_TRANSFER_SCALAR(Space, Abreast<float>)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_TRANSFER)

}  // namespace strata::sparse
