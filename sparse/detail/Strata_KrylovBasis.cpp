// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <cmath>
#include <core/Strata_Allocate.hpp>
#include <core/Strata_Float.hpp>
#include <core/detail/Strata_Instantiate.hpp>
#include <span>
#include <sparse/detail/Strata_Allocate.hpp>
#include <sparse/detail/Strata_KrylovBasis.hpp>
#include <sparse/detail/Strata_KrylovPass.hpp>
#include <sparse/vendor/Strata_DeviceMessages.hpp>
#include <string>
#include <type_traits>

namespace strata::sparse::detail {
namespace {

template <class Exec>
using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

template <class Exec, class Scalar, class Stored>
void launch_combine(Exec const& exec, std::int64_t rows, std::int64_t stride, int k,
                    Stored const* Q, double const* t, Scalar* x) {
  Kokkos::parallel_for(
      "strata::sparse::KrylovBasis::combine", Policy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double sum = 0;
        for (int j = 0; j < k; ++j) sum += t[j] * static_cast<double>(Q[i + j * stride]);
        x[i] = static_cast<Scalar>(sum);
      });
}

// Rows beyond the last, where there is room for them, are 0, whatever a cycle before left there.
template <class Exec, class Scalar, class Stored>
void launch_start(Exec const& exec, std::int64_t rows, std::int64_t room, double alpha,
                  double const* r, Stored* q, Scalar* w) {
  Kokkos::parallel_for(
      "strata::sparse::KrylovBasis::start", Policy<Exec>(exec, 0, room),
      KOKKOS_LAMBDA(std::int64_t i) { keep(i < rows ? alpha * r[i] : 0.0, q[i], w[i]); });
}

// To `copy` as well, if it isn't null.
template <class Exec>
void launch_sum(Exec const& exec, std::int64_t chunks, int count, double const* partial,
                double* result, double* copy) {
  using Team = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::sparse::KrylovBasis::sum", Team(exec, count, Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Team::member_type const& team) {
        double const* const column = partial + team.league_rank() * chunks;
        double total = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, chunks),
            [&](std::int64_t chunk, double& sum) { sum += column[chunk]; }, total);
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          result[team.league_rank()] = total;
          if (copy) copy[team.league_rank()] = total;
        });
      });
}

constexpr std::int64_t column_unit = 32;  // columns begin at a line of the cache

}  // namespace

template <class Exec, class Scalar, class Stored>
KrylovBasis<Exec, Scalar, Stored>::KrylovBasis(Exec const& exec, Communicator const& comm,
                                               std::int64_t rows, int vectors,
                                               Link<Exec> const& link)
    : comm_(comm),
      link_(link),
      rows_(rows),
      stride_((rows + column_unit - 1) / column_unit * column_unit),
      vectors_(vectors) {
  constexpr std::int64_t chunks = 1024, least_rows = 2048, most_rows = 8192;
  chunk_ = std::clamp(((rows + chunks - 1) / chunks + 255) / 256 * 256, least_rows, most_rows);
  chunks_ = std::max<std::int64_t>(1, (rows + chunk_ - 1) / chunk_);
  Q_ = allocate<Kokkos::View<Stored*, MemorySpace>>(exec, "strata::sparse::KrylovBasis::Q",
                                                    stride_ * vectors);
  if constexpr (is_narrow) {
    w_ = allocate<Vector<Scalar, MemorySpace>>(exec, "strata::sparse::KrylovBasis::w", stride_);
    Kokkos::deep_copy(exec, Q_, Stored(0.0f));  // what lies between columns stays 0
    Kokkos::deep_copy(exec, w_, Scalar(0));
  }
  partial_ =
      allocate<Coefficients>(exec, "strata::sparse::KrylovBasis::partial", chunks_ * vectors);
  coefficients_ =
      allocate<Coefficients>(exec, "strata::sparse::KrylovBasis::coefficients", 2 * vectors + 1);
  host_ = strata::allocate_on_host<HostCoefficients>("strata::sparse::KrylovBasis::host",
                                                     coefficients_.extent(0));
}

template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::start(Exec const& exec, double alpha,
                                              Vector<double, MemorySpace> const& r) {
  launch_start(exec, rows_, is_narrow ? stride_ : rows_, alpha,
               static_cast<double const*>(r.data()), Q_.data(), (*this)[0].data());
}

// Of more columns than a team takes, the whole update comes first; the last of them have the purpose in the end.
template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::pass(Exec const& exec, int k, double const* update,
                                             Purpose purpose, std::int64_t result) {
  std::int64_t const second = vectors_, square = second + k;
  double const* const coefficients = coefficients_.data();
  PassData<Scalar, Stored> const all{Q_.data(),
                                     (*this)[k].data(),
                                     update,
                                     partial_.data(),
                                     rows_,
                                     stride_,
                                     chunk_,
                                     chunks_,
                                     k,
                                     purpose,
                                     {Q_.data() + k * stride_, coefficients, coefficients + second,
                                      coefficients + square, host_.data(), 2 * vectors_ + 1, k}};
  int const most = strata::detail::runs_on_host<Exec> ? vectors_ : widest_pass;
  bool const finishes = purpose == Purpose::Finish;
  auto const part_of = [&](int first, Purpose what) {
    PassData<Scalar, Stored> part = all;
    part.Q += first * stride_, part.k = std::min(most, k - first), part.purpose = what;
    if (update) part.update += first;
    return part;
  };
  int const last = k <= most ? 0 : (k - 1) / most * most;
  for (int first = 0; update && first < (finishes ? last : k) && last > 0; first += most)
    launch_pass(exec, part_of(first, Purpose::Update));
  if (finishes) return launch_pass(exec, part_of(last, purpose));
  for (int first = 0; first <= last; first += most) {
    bool const is_last = first == last;
    auto part = part_of(first, is_last ? purpose : Purpose::Products);
    if (last > 0) part.update = nullptr;
    launch_pass(exec, part);
    sum_chunks(exec, part.sums(), result + first);
  }
}

template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::sum_chunks(Exec const& exec, int count,
                                                   std::int64_t result) {
  double* const copy = sums_on_host() ? host_.data() + result : nullptr;
  launch_sum(exec, chunks_, count, static_cast<double const*>(partial_.data()),
             coefficients_.data() + result, copy);
}

// The sums stay on the device, unless MPI is to add them: then each rank has its own on the host too.
template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::sum_ranks(Exec const& exec, std::int64_t first, int count) {
  if (link_.messages) link_.messages->sum(exec, coefficients_.data() + first, count);
  if (!sums_on_host()) return;
  auto const range = std::pair(first, first + count);
  auto const device = Kokkos::subview(coefficients_, range);
  auto const host = Kokkos::subview(host_, range);
  exec.fence("strata::sparse::KrylovBasis::all_reduce");
  comm_.sum(std::span(host.data(), static_cast<std::size_t>(count)));
  Kokkos::deep_copy(exec, device, host);
}

template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::orthogonalise(Exec const& exec, int k) {
  Kokkos::Profiling::ScopedRegion const region("strata::sparse::KrylovBasis::orthogonalise");
  std::int64_t const first = 0, second = vectors_;
  double const* const coefficients = coefficients_.data();
  if (k > 0) {
    pass(exec, k, nullptr, Purpose::Products, first);  // h = Q' w
    sum_ranks(exec, first, k);
  }
  pass(exec, k, coefficients + first, Purpose::Square, second);  // w -= Q h,  g = Q' w,  w' w
  sum_ranks(exec, second, k + 1);
  pass(exec, k, coefficients + second, Purpose::Finish, 0);  // q = (w - Q g) / beta
}

template <class Exec, class Scalar, class Stored>
HessenbergColumn KrylovBasis<Exec, Scalar, Stored>::column(Exec const& exec, int k) const {
  exec.fence("strata::sparse::KrylovBasis::column");
  std::int64_t const first = 0, second = vectors_, square = 2 * std::int64_t{vectors_};
  HessenbergColumn column{std::vector<double>(static_cast<std::size_t>(k)),
                          std::sqrt(host_(square))};
  for (int j = 0; j < k; ++j)
    column.h[static_cast<std::size_t>(j)] = host_(first + j) + host_(second + j);
  return column;
}

template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::combine(Exec const& exec, std::vector<double> const& t,
                                                Vector<Scalar, MemorySpace> const& x) {
  for (std::size_t j = 0; j < t.size(); ++j) host_(j) = stored_unit<Scalar, Stored> * t[j];
  Kokkos::deep_copy(exec, coefficients_, host_);
  launch_combine(exec, rows_, stride_, static_cast<int>(t.size()),
                 static_cast<Stored const*>(Q_.data()),
                 static_cast<double const*>(coefficients_.data()), x.data());
  exec.fence("strata::sparse::KrylovBasis::combine");  // the host's coefficients are free again
}

template <class Exec, class From, class To>
void scale(Exec const& exec, double alpha, Vector<From, typename Exec::memory_space> const& x,
           Vector<To, typename Exec::memory_space> const& y, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::scale", Policy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) = static_cast<To>(alpha * static_cast<double>(x(i))); });
}

template <class Exec, class From, class To>
void add(Exec const& exec, double alpha, Vector<From, typename Exec::memory_space> const& x,
         Vector<To, typename Exec::memory_space> const& y, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::add", Policy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) += static_cast<To>(alpha) * static_cast<To>(x(i)); });
}

#define STRATA_INSTANTIATE_KRYLOV_SCALAR(Space, Scalar)                               \
  template class KrylovBasis<Space, Scalar>;                                          \
  template void scale(Space const&, double, Vector<fp64, Space::memory_space> const&, \
                      Vector<Scalar, Space::memory_space> const&, std::int64_t);      \
  template void add(Space const&, double, Vector<Scalar, Space::memory_space> const&, \
                    Vector<fp64, Space::memory_space> const&, std::int64_t);
#define STRATA_INSTANTIATE_KRYLOV(Space)        \
  STRATA_INSTANTIATE_KRYLOV_SCALAR(Space, fp64) \
  STRATA_INSTANTIATE_KRYLOV_SCALAR(Space, fp32) \
  template class KrylovBasis<Space, fp32, fp16>;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_KRYLOV)

}  // namespace strata::sparse::detail
