// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <cmath>
#include <core/Strata_Float.hpp>
#include <core/detail/Strata_Instantiate.hpp>
#include <core/detail/Strata_Team.hpp>
#include <span>
#include <sparse/detail/Strata_Allocate.hpp>
#include <sparse/detail/Strata_KrylovBasis.hpp>
#include <string>

namespace strata::sparse::detail {

using strata::detail::runs_on_host;

namespace {

template <class Exec>
using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

/// What a pass over the basis works on; w is vector k.
template <class Scalar>
struct PassData {
  Scalar const* Q;
  Scalar* w;
  double const* update;  // or nullptr
  double* partial;       // chunk fastest
  std::int64_t rows, stride, chunk, chunks;
  int k;
  bool norm;
};

/// A chunk by a device's team: a thread loads its row of up to `width` columns at once, so that the
/// basis is read from memory once and many loads are under way, and keeps a sum for each column.
///
/// A thread's sums, of at most 64 rows, are made in Scalar; the sums over threads, and the norm, in
/// fp64.
template <class Exec, class Scalar, int width, bool norm>
struct DevicePass {
  static constexpr int threads = 128, together = 8, parts = threads / together;
  using Policy =
      Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<threads, sizeof(Scalar) == 8 ? 3 : 4>>;
  using Member = typename Policy::member_type;
  using Memory = typename Exec::scratch_memory_space;
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  using Coefficients = Kokkos::View<Scalar[width], Memory, Unmanaged>;
  using Room = Kokkos::View<double[together * threads], Memory, Unmanaged>;
  PassData<Scalar> d;

  Policy policy(Exec const& exec) const {
    return Policy(exec, static_cast<int>(d.chunks), threads)
        .set_scratch_size(
            0, Kokkos::PerTeam(static_cast<int>(Coefficients::shmem_size() + Room::shmem_size())));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Room const room(team.team_scratch(0));
    Coefficients const h(team.team_scratch(0));
    std::int64_t const chunk = team.league_rank(), begin = chunk * d.chunk,
                       end = begin + d.chunk < d.rows ? begin + d.chunk : d.rows;
    int const thread = team.team_rank();
    if (thread < width)
      h(thread) = d.update && thread < d.k ? static_cast<Scalar>(d.update[thread]) : Scalar(0);
    team.team_barrier();
    double square = 0;
    Scalar sums[width] = {};
    for (std::int64_t row = begin + thread; row < end; row += threads) {
      Scalar q[width];
#pragma unroll
      for (int j = 0; j < width; ++j) q[j] = j < d.k ? d.Q[row + j * d.stride] : Scalar(0);
      Scalar w = d.w[row];
      if (d.update) {
        constexpr int chains = 4;
        Scalar part[chains] = {};
#pragma unroll
        for (int j = 0; j < width; ++j) part[j % chains] += h(j) * q[j];
        w -= (part[0] + part[1]) + (part[2] + part[3]);
        d.w[row] = w;
      }
      if constexpr (norm) {
        square += static_cast<double>(w) * static_cast<double>(w);
      } else {
#pragma unroll
        for (int j = 0; j < width; ++j) sums[j] += q[j] * w;
      }
    }
    if constexpr (norm) {
      double part[together] = {square};
      add_up(team, room, part, 0);
    } else {
#pragma unroll
      for (int first = 0; first < width; first += together) {
        double part[together];
#pragma unroll
        for (int j = 0; j < together; ++j) part[j] = static_cast<double>(sums[first + j]);
        add_up(team, room, part, first);
      }
    }
  }

 private:
  // The threads' sums of `together` columns from `first` on, in an order that is always the same.
  KOKKOS_FUNCTION void add_up(Member const& team, Room const& room, double const* part,
                              int first) const {
    int const thread = team.team_rank(), column = thread / parts, lane = thread % parts;
#pragma unroll
    for (int j = 0; j < together; ++j) room(j * threads + thread) = part[j];
    team.team_barrier();
    double sum = 0;
    for (int t = lane; t < threads; t += parts) sum += room(column * threads + t);
    team.team_barrier();
    room(thread) = sum;
    team.team_barrier();
    if (lane == 0 && first + column < (norm ? 1 : d.k)) {
      double total = 0;
      for (int t = 0; t < parts; ++t) total += room(thread + t);
      d.partial[team.league_rank() + (first + column) * d.chunks] = total;
    }
    team.team_barrier();
  }
};

/// A chunk by one thread of a host, in blocks of rows that stay in the first-level cache.
template <class Scalar>
struct HostPass {
  static constexpr std::int64_t block = 128;
  PassData<Scalar> d;

  void operator()(std::int64_t chunk) const {
    std::int64_t const begin = chunk * d.chunk, end = std::min(begin + d.chunk, d.rows);
    int const products = d.norm ? 1 : d.k;
    for (int j = 0; j < products; ++j) d.partial[chunk + j * d.chunks] = 0;
    for (std::int64_t first = begin; first < end; first += block) {
      auto const count = static_cast<int>(std::min(block, end - first));
      double wide[block];
      Scalar* KOKKOS_RESTRICT const w = d.w + first;
      if (d.update) {
        for (int i = 0; i < count; ++i) wide[i] = static_cast<double>(w[i]);
        for (int j = 0; j < d.k; ++j) {
          double const h = d.update[j];
          Scalar const* KOKKOS_RESTRICT const q = d.Q + first + j * d.stride;
          for (int i = 0; i < count; ++i) wide[i] -= h * static_cast<double>(q[i]);
        }
        for (int i = 0; i < count; ++i) w[i] = static_cast<Scalar>(wide[i]);
      }
      for (int j = 0; j < products; ++j)
        d.partial[chunk + j * d.chunks] += dot(count, d.norm ? w : d.Q + first + j * d.stride, w);
    }
  }

 private:
  // Eight sums side by side, which the compiler can vectorise.
  static double dot(int count, Scalar const* a, Scalar const* b) {
    double sums[8] = {};
    int i = 0;
    for (; i + 8 <= count; i += 8)
      for (int l = 0; l < 8; ++l)
        sums[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
    for (int l = 0; i < count; ++i, ++l)
      sums[l] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
};

constexpr int widest = 32;  // columns of a device's pass

template <int width, class Exec, class Scalar>
void launch_device_pass(Exec const& exec, PassData<Scalar> const& data) {
  if constexpr (width < widest) {
    if (data.k > width) return launch_device_pass<width + 8>(exec, data);
  }
  auto const launch = [&](auto const& pass) {
    Kokkos::parallel_for("strata::sparse::KrylovBasis::pass", pass.policy(exec), pass);
  };
  if (data.norm)
    launch(DevicePass<Exec, Scalar, width, true>{data});
  else
    launch(DevicePass<Exec, Scalar, width, false>{data});
}

template <class Exec, class Scalar>
void launch_pass(Exec const& exec, PassData<Scalar> const& data) {
  if constexpr (runs_on_host<Exec>) {
    Kokkos::parallel_for("strata::sparse::KrylovBasis::pass", Policy<Exec>(exec, 0, data.chunks),
                         HostPass<Scalar>{data});
  } else {
    launch_device_pass<8>(exec, data);
  }
}

template <class Exec, class Scalar>
void launch_combine(Exec const& exec, std::int64_t rows, std::int64_t stride, int k,
                    Scalar const* Q, double const* t, Scalar* x) {
  Kokkos::parallel_for(
      "strata::sparse::KrylovBasis::combine", Policy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double sum = 0;
        for (int j = 0; j < k; ++j) sum += t[j] * static_cast<double>(Q[i + j * stride]);
        x[i] = static_cast<Scalar>(sum);
      });
}

// w / ||w||, or 0 where the norm is 0; the coefficients, of which ||w||^2 is the last, go to the host.
template <class Exec, class Scalar>
void launch_normalise(Exec const& exec, std::int64_t rows, int count, double const* coefficients,
                      double* host, Scalar* w) {
  Kokkos::parallel_for(
      "strata::sparse::KrylovBasis::normalise",
      Policy<Exec>(exec, 0, std::max<std::int64_t>(rows, count)), KOKKOS_LAMBDA(std::int64_t i) {
        double const* const square = coefficients + (count - 1);
        if (i < count) host[i] = coefficients[i];
        if (i < rows)
          w[i] *= static_cast<Scalar>(square[0] > 0 ? 1 / Kokkos::sqrt(square[0]) : 0.0);
      });
}

template <class Exec>
void launch_sum(Exec const& exec, std::int64_t chunks, int count, double const* partial,
                double* result) {
  using Team = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      "strata::sparse::KrylovBasis::sum", Team(exec, count, Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Team::member_type const& team) {
        double const* const column = partial + team.league_rank() * chunks;
        double total = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, chunks),
            [&](std::int64_t chunk, double& sum) { sum += column[chunk]; }, total);
        Kokkos::single(Kokkos::PerTeam(team), [&] { result[team.league_rank()] = total; });
      });
}

constexpr std::int64_t column_unit = 32;  // columns begin at a line of the cache

}  // namespace

template <class Exec, class Scalar>
KrylovBasis<Exec, Scalar>::KrylovBasis(Exec const& exec, Communicator const& comm,
                                       std::int64_t rows, int vectors)
    : comm_(comm),
      rows_(rows),
      stride_((rows + column_unit - 1) / column_unit * column_unit),
      vectors_(vectors) {
  constexpr std::int64_t chunks = 1024, least_rows = 2048, most_rows = 8192;
  chunk_ = std::clamp(((rows + chunks - 1) / chunks + 255) / 256 * 256, least_rows, most_rows);
  chunks_ = std::max<std::int64_t>(1, (rows + chunk_ - 1) / chunk_);
  Q_ = allocate<Kokkos::View<Scalar*, MemorySpace>>(exec, "strata::sparse::KrylovBasis::Q",
                                                    stride_ * vectors);
  partial_ =
      allocate<Coefficients>(exec, "strata::sparse::KrylovBasis::partial", chunks_ * vectors);
  coefficients_ =
      allocate<Coefficients>(exec, "strata::sparse::KrylovBasis::coefficients", 2 * vectors + 1);
  host_ = HostCoefficients(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "strata::sparse::KrylovBasis::host"),
      coefficients_.extent(0));
}

template <class Exec, class Scalar>
void KrylovBasis<Exec, Scalar>::pass(Exec const& exec, int k, double const* update,
                                     Products products, std::int64_t result) {
  bool const norm = products == Products::Norm;
  PassData<Scalar> const all{Q_.data(), Q_.data() + k * stride_,
                             update,    partial_.data(),
                             rows_,     stride_,
                             chunk_,    chunks_,
                             k,         norm};
  int const most = runs_on_host<Exec> ? vectors_ : widest;
  if (k <= most) {
    launch_pass(exec, all);
    return sum_chunks(exec, norm ? 1 : k, result);
  }
  // More columns than a team takes: the whole update first, then the products.
  for (int j = 0; j < k; j += most) {
    PassData<Scalar> part = all;
    part.Q += j * stride_, part.k = std::min(most, k - j);
    part.norm = true;
    part.update = update ? update + j : nullptr;
    if (update || norm) launch_pass(exec, part);
  }
  if (norm) return sum_chunks(exec, 1, result);
  for (int j = 0; j < k; j += most) {
    PassData<Scalar> part = all;
    part.Q += j * stride_, part.k = std::min(most, k - j), part.update = nullptr;
    launch_pass(exec, part);
    sum_chunks(exec, part.k, result + j);
  }
}

template <class Exec, class Scalar>
void KrylovBasis<Exec, Scalar>::sum_chunks(Exec const& exec, int count, std::int64_t result) {
  launch_sum(exec, chunks_, count, static_cast<double const*>(partial_.data()),
             coefficients_.data() + result);
}

// One rank leaves the sums on the device.
template <class Exec, class Scalar>
void KrylovBasis<Exec, Scalar>::sum_ranks(Exec const& exec, std::int64_t first, int count) {
  if (comm_.size() == 1) return;
  auto const range = std::pair(first, first + count);
  auto const device = Kokkos::subview(coefficients_, range);
  auto const host = Kokkos::subview(host_, range);
  Kokkos::deep_copy(exec, host, device);
  exec.fence("strata::sparse::KrylovBasis::all_reduce");
  comm_.sum(std::span(host.data(), static_cast<std::size_t>(count)));
  Kokkos::deep_copy(exec, device, host);
}

template <class Exec, class Scalar>
void KrylovBasis<Exec, Scalar>::orthogonalise(Exec const& exec, int k) {
  Kokkos::Profiling::ScopedRegion const region("strata::sparse::KrylovBasis::orthogonalise");
  std::int64_t const first = 0, second = vectors_, square = 2 * std::int64_t{vectors_};
  double const* const coefficients = coefficients_.data();
  pass(exec, k, nullptr, Products::Basis, first);  // h = Q' w
  sum_ranks(exec, first, k);
  pass(exec, k, coefficients + first, Products::Basis, second);  // w -= Q h,  g = Q' w
  sum_ranks(exec, second, k);
  pass(exec, k, coefficients + second, Products::Norm, square);  // w -= Q g,  beta^2 = w' w
  sum_ranks(exec, square, 1);
  launch_normalise(exec, rows_, 2 * vectors_ + 1, coefficients, host_.data(),
                   Q_.data() + k * stride_);
}

template <class Exec, class Scalar>
HessenbergColumn KrylovBasis<Exec, Scalar>::column(Exec const& exec, int k) const {
  exec.fence("strata::sparse::KrylovBasis::column");
  std::int64_t const first = 0, second = vectors_, square = 2 * std::int64_t{vectors_};
  HessenbergColumn column{std::vector<double>(static_cast<std::size_t>(k)),
                          std::sqrt(host_(square))};
  for (int j = 0; j < k; ++j)
    column.h[static_cast<std::size_t>(j)] = host_(first + j) + host_(second + j);
  return column;
}

template <class Exec, class Scalar>
void KrylovBasis<Exec, Scalar>::combine(Exec const& exec, std::vector<double> const& t,
                                        Vector<Scalar, MemorySpace> const& x) {
  for (std::size_t j = 0; j < t.size(); ++j) host_(j) = t[j];
  Kokkos::deep_copy(exec, coefficients_, host_);
  launch_combine(exec, rows_, stride_, static_cast<int>(t.size()),
                 static_cast<Scalar const*>(Q_.data()),
                 static_cast<double const*>(coefficients_.data()), x.data());
  exec.fence("strata::sparse::KrylovBasis::combine");  // the host's coefficients are free again
}

template <class Exec, class Scalar>
double norm(Exec const& exec, Communicator const& comm,
            Vector<Scalar, typename Exec::memory_space> const& x, std::int64_t rows) {
  double square = 0;
  Kokkos::parallel_reduce(
      "strata::sparse::norm", Policy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i, double& sum) {
        sum += static_cast<double>(x(i)) * static_cast<double>(x(i));
      },
      square);
  exec.fence("strata::sparse::norm");
  comm.sum(std::span(&square, 1));
  return std::sqrt(square);
}

template <class Exec, class From, class To>
void scale(Exec const& exec, double alpha, Vector<From, typename Exec::memory_space> const& x,
           Vector<To, typename Exec::memory_space> const& y, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::scale", Policy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) = static_cast<To>(alpha * static_cast<double>(x(i))); });
}

template <class Exec, class From, class To>
void add(Exec const& exec, Vector<From, typename Exec::memory_space> const& x,
         Vector<To, typename Exec::memory_space> const& y, std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::add", Policy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) { y(i) += static_cast<To>(x(i)); });
}

#define STRATA_INSTANTIATE_KRYLOV_SCALAR(Space, Scalar)                               \
  template class KrylovBasis<Space, Scalar>;                                          \
  template double norm(Space const&, Communicator const&,                             \
                       Vector<Scalar, Space::memory_space> const&, std::int64_t);     \
  template void scale(Space const&, double, Vector<fp64, Space::memory_space> const&, \
                      Vector<Scalar, Space::memory_space> const&, std::int64_t);      \
  template void add(Space const&, Vector<Scalar, Space::memory_space> const&,         \
                    Vector<fp64, Space::memory_space> const&, std::int64_t);
#define STRATA_INSTANTIATE_KRYLOV(Space)        \
  STRATA_INSTANTIATE_KRYLOV_SCALAR(Space, fp64) \
  STRATA_INSTANTIATE_KRYLOV_SCALAR(Space, fp32)
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_KRYLOV)

}  // namespace strata::sparse::detail
