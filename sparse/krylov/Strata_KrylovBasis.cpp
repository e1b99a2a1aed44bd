// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/krylov/Strata_KrylovBasis.hpp>

#include <comm/Strata_DeviceMessages.hpp>
#include <core/Strata_Float.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/krylov/detail/Strata_KrylovPass.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <type_traits>

namespace strata::sparse {

using namespace detail;

namespace {

template <class Exec, class Scalar, class Stored>
void launch_combine(Exec const& exec, std::int64_t rows, std::int64_t stride, int k,
                    Stored const* Q, double const* t, double const* scales, Scalar* x) {
  Kokkos::parallel_for(
      "strata::sparse::KrylovBasis::combine", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double sum = 0;
        for (int j = 0; j < k; ++j)
          sum += t[j] * scales[j] * static_cast<double>(Q[i + j * stride]);
        x[i] = static_cast<Scalar>(sum);
      });
}

// Rows beyond the last, where there is room for them, are 0, whatever a cycle before left there;
// the first column is as long as it should be.
template <class Exec, class Scalar, class Stored>
void launch_start(Exec const& exec, std::int64_t rows, std::int64_t room, double alpha,
                  double const* r, Stored* q, Scalar* w, double* scale, double* latest) {
  constexpr double unit = stored_unit<Scalar, Stored>;
  Keeping const keeping{1, unit, 1 / unit};
  Kokkos::parallel_for(
      "strata::sparse::KrylovBasis::start", detail::RowPolicy<Exec>(exec, 0, room > 0 ? room : 1),
      KOKKOS_LAMBDA(std::int64_t i) {
        if (i == 0) *scale = *latest = 1;
        if (i < room) keep(i < rows ? alpha * r[i] : 0.0, keeping, q[i], w[i]);
      });
}

// The first `products` of them with columns, each times its column's scale. To `copy` as well, if
// it isn't null.
template <class Exec>
void launch_sum(Exec const& exec, std::int64_t chunks, int products, int count,
                double const* partial, double const* scales, double* result, double* copy) {
  using Team = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::sparse::KrylovBasis::sum", Team(exec, count, Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Team::member_type const& team) {
        double const* const column = partial + team.league_rank() * chunks;
        double total = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, chunks),
            [&](std::int64_t chunk, double& sum) { sum += column[chunk]; }, total);
        if (team.league_rank() < products) total *= scales[team.league_rank()];
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          result[team.league_rank()] = total;
          if (copy) copy[team.league_rank()] = total;
        });
      });
}

/// What is known of a new column once the squares of its entries are summed.
struct Measured {
  double* square;                // beta^2, among the coefficients
  double *factor, *latest;       // what w was multiplied by; 1 / beta of the latest column
  double *scale, *coefficients;  // the new column's, and all
  double* host;                  // gets all of those
  int count;                     // of coefficients
};

// From chunks' sums of squares, or from their sum over the ranks if `partial` is null.
template <class Exec>
void launch_measured(Exec const& exec, std::int64_t chunks, double const* partial,
                     Measured const& d) {
  using Team = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::sparse::KrylovBasis::measured", Team(exec, 1, Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Team::member_type const& team) {
        double total = 0;
        if (partial) {
          Kokkos::parallel_reduce(
              Kokkos::TeamThreadRange(team, chunks),
              [&](std::int64_t chunk, double& sum) { sum += partial[chunk]; }, total);
        } else {
          total = *d.square;
        }
        team.team_barrier();
        Kokkos::single(Kokkos::PerTeam(team), [&] {
          double const inverse = total > 0 ? 1 / Kokkos::sqrt(total) : 0.0;
          *d.square = total;
          *d.factor = *d.latest;
          *d.latest = inverse;
          *d.scale *= inverse;
        });
        team.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, d.count),
                             [&](int i) { d.host[i] = d.coefficients[i]; });
      });
}

constexpr std::int64_t column_unit = 32;  // columns begin at a line of the cache

}  // namespace

template <class Exec, class Scalar, class Stored>
KrylovBasis<Exec, Scalar, Stored>::KrylovBasis(Exec const& exec, Communicator const& comm,
                                               std::int64_t rows, int vectors,
                                               Link<Exec> const& link, BasisNorm norm)
    : comm_(comm),
      link_(link),
      norm_(norm),
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
      allocate<Coefficients>(exec, "strata::sparse::KrylovBasis::coefficients", 2 * vectors + 2);
  scales_ = allocate<Coefficients>(exec, "strata::sparse::KrylovBasis::scales", vectors + 1);
  host_ = strata::allocate_on_host<HostCoefficients>("strata::sparse::KrylovBasis::host",
                                                     coefficients_.extent(0));
  Kokkos::deep_copy(exec, scales_, 1.0);
  std::fill_n(host_.data(), host_.extent(0), 1.0);  // w is multiplied by 1 until a norm is summed
}

template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::start(Exec const& exec, double alpha,
                                              Vector<double, MemorySpace> const& r) {
  Region const region(exec, "strata::sparse::KrylovBasis::start");
  launch_start(exec, rows_, is_narrow ? stride_ : rows_, alpha,
               static_cast<double const*>(r.data()), Q_.data(), (*this)[0].data(), scales_.data(),
               scales_.data() + vectors_);
}

// Of more columns than a team takes, the whole update comes first; the last of them have the
// purpose in the end.
template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::pass(Exec const& exec, int k, double const* update,
                                             Purpose purpose, std::int64_t result) {
  double const* const coefficients = coefficients_.data();
  bool const makes_column = makes_a_column(purpose),
             divides = norm_ == BasisNorm::Summed && update && !makes_column;
  PassData<Scalar, Stored> const all{
      Q_.data(),
      (*this)[k].data(),
      update,
      scales_.data(),
      divides ? scales_.data() + vectors_ : nullptr,
      partial_.data(),
      rows_,
      stride_,
      chunk_,
      chunks_,
      k,
      purpose,
      {Q_.data() + k * stride_, coefficients, coefficients + second(), coefficients + second() + k,
       host_.data(), scales_.data() + k, static_cast<int>(square()) + 1, k}};
  int const most = strata::runs_on_host<Exec> ? vectors_ : widest_pass;
  auto const part_of = [&](int first, Purpose what) {
    PassData<Scalar, Stored> part = all;
    part.Q += first * stride_, part.scales += first;
    part.k = std::min(most, k - first), part.purpose = what;
    if (update) part.update += first;
    return part;
  };
  int const last = k <= most ? 0 : (k - 1) / most * most;
  int const updated = !update || last == 0 ? 0 : makes_column ? last : k;
  for (int first = 0; first < updated; first += most) {
    auto part = part_of(first, Purpose::Update);
    if (first < last) part.factor = nullptr;  // w is divided once all of it is updated
    launch_pass(exec, part);
  }
  if (makes_column) return launch_pass(exec, part_of(last, purpose));
  for (int first = 0; first <= last; first += most) {
    auto part = part_of(first, first == last ? purpose : Purpose::Products);
    if (last > 0) part.update = nullptr;
    launch_pass(exec, part);
    sum_chunks(exec, part.products(), part.sums(), part.scales, result + first);
  }
}

template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::sum_chunks(Exec const& exec, int products, int count,
                                                   double const* scales, std::int64_t result) {
  double* const copy = sums_on_host() ? host_.data() + result : nullptr;
  launch_sum(exec, chunks_, products, count, static_cast<double const*>(partial_.data()), scales,
             coefficients_.data() + result, copy);
}

// The sums stay on the device, unless MPI is to add them: then each rank has its own on the host
// too.
template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::sum_ranks(Exec const& exec, std::int64_t first, int count) {
  if (count == 0) return;
  if (link_.messages) {
    Span const span(Track{"waits"}, exec, waiting_span);
    link_.messages->sum(exec, coefficients_.data() + first, count);
  }
  if (!sums_on_host()) return;
  auto const range = std::pair(first, first + count);
  auto const device = Kokkos::subview(coefficients_, range);
  auto const host = Kokkos::subview(host_, range);
  exec.fence("strata::sparse::KrylovBasis::all_reduce");
  wait_for_ranks(comm_,
                 [&] { comm_.sum(std::span(host.data(), static_cast<std::size_t>(count))); });
  Kokkos::deep_copy(exec, device, host);
}

// What the last pass summed goes over the ranks, and says how long the column is.
template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::measure(Exec const& exec, int k) {
  bool const alone = comm_.size() == 1;
  if (!alone) {
    sum_chunks(exec, 0, 1, scales_.data(), square());
    sum_ranks(exec, square(), 1);
  }
  launch_measured(exec, chunks_, alone ? static_cast<double const*>(partial_.data()) : nullptr,
                  Measured{coefficients_.data() + square(), coefficients_.data() + factor(),
                           scales_.data() + vectors_, scales_.data() + k, coefficients_.data(),
                           host_.data(), static_cast<int>(coefficients_.extent(0))});
}

template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::orthogonalise(Exec const& exec, int k) {
  Region const region(exec, "strata::sparse::KrylovBasis::orthogonalise");
  double const* const coefficients = coefficients_.data();
  bool const sums_the_norm = norm_ == BasisNorm::Summed;
  if (k > 0) {
    pass(exec, k, nullptr, Purpose::Products, 0);  // h = Q' w
    sum_ranks(exec, 0, k);
  }
  // w -= Q h,  g = Q' w,  and w' w if it is needed: over all ranks for the norm, on this one for a
  // narrow column's unit
  double const* const update = k > 0 ? coefficients : nullptr;
  bool const squares = is_narrow || !sums_the_norm;
  if (squares || k > 0)
    pass(exec, k, update, squares ? Purpose::Square : Purpose::Products, second());
  sum_ranks(exec, second(), sums_the_norm ? k : k + 1);
  if (!sums_the_norm)
    return pass(exec, k, coefficients + second(), Purpose::Finish, 0);  // q = (w - Q g) / beta
  pass(exec, k, coefficients + second(), Purpose::Measure, 0);          // w -= Q g,  w' w
  measure(exec, k);
}

template <class Exec, class Scalar, class Stored>
HessenbergColumn KrylovBasis<Exec, Scalar, Stored>::column(Exec const& exec, int k) const {
  exec.fence("strata::sparse::KrylovBasis::column");
  HessenbergColumn column{std::vector<double>(static_cast<std::size_t>(k)),
                          std::sqrt(host_(square()))};
  for (int j = 0; j < k; ++j)
    column.h[static_cast<std::size_t>(j)] = host_(factor()) * host_(j) + host_(second() + j);
  return column;
}

template <class Exec, class Scalar, class Stored>
void KrylovBasis<Exec, Scalar, Stored>::combine(Exec const& exec, std::vector<double> const& t,
                                                Vector<Scalar, MemorySpace> const& x) {
  Region const region(exec, "strata::sparse::KrylovBasis::combine");
  for (std::size_t j = 0; j < t.size(); ++j) host_(j) = stored_unit<Scalar, Stored> * t[j];
  Kokkos::deep_copy(exec, coefficients_, host_);
  launch_combine(exec, rows_, stride_, static_cast<int>(t.size()),
                 static_cast<Stored const*>(Q_.data()),
                 static_cast<double const*>(coefficients_.data()),
                 static_cast<double const*>(scales_.data()), x.data());
  exec.fence("strata::sparse::KrylovBasis::combine");  // the host's coefficients are free again
}

namespace detail {

template <class Exec, class From, class To>
void scale(Exec const& exec, double alpha, Vector<From, typename Exec::memory_space> const& x,
           Vector<To, typename Exec::memory_space> const& y, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::scale", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) = static_cast<To>(alpha * static_cast<double>(x(i))); });
}

template <class Exec, class From, class To>
void add(Exec const& exec, double alpha, Vector<From, typename Exec::memory_space> const& x,
         Vector<To, typename Exec::memory_space> const& y, std::int64_t rows) {
  Region const region(exec, "strata::sparse::add");
  Kokkos::parallel_for(
      "strata::sparse::add", detail::RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) += static_cast<To>(alpha) * static_cast<To>(x(i)); });
}

}  // namespace detail

#define STRATA_INSTANTIATE_KRYLOV_SCALAR(Space, Scalar)                                       \
  template class KrylovBasis<Space, Scalar>;                                                  \
  template void detail::scale(Space const&, double, Vector<fp64, Space::memory_space> const&, \
                              Vector<Scalar, Space::memory_space> const&, std::int64_t);      \
  template void detail::add(Space const&, double, Vector<Scalar, Space::memory_space> const&, \
                            Vector<fp64, Space::memory_space> const&, std::int64_t);
#define STRATA_INSTANTIATE_KRYLOV(Space)                                                      \
  STRATA_INSTANTIATE_KRYLOV_SCALAR(Space, fp64)                                               \
  STRATA_INSTANTIATE_KRYLOV_SCALAR(Space, fp32)                                               \
  template class KrylovBasis<Space, fp32, fp16>;                                              \
  template void detail::scale(Space const&, double, Vector<fp32, Space::memory_space> const&, \
                              Vector<fp64, Space::memory_space> const&, std::int64_t);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_KRYLOV)

}  // namespace strata::sparse
