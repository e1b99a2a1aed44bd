// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <sparse/scaling/detail/Strata_FloatingParts.hpp>

#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/formats/Strata_EllAssembly.hpp>
#include <sparse/formats/detail/Strata_HostCopy.hpp>

#include <algorithm>
#include <span>
#include <variant>

namespace strata::sparse::detail {
namespace {

template <class Exec>
using Integers = Vector<std::int64_t, typename Exec::memory_space>;
template <class Exec>
using Wide = Vector<double, typename Exec::memory_space>;

constexpr double held = -1;  // the label of a part with a row whose entries do not add up to 0

// The sum of what each row adds to a count.
template <class Exec, class Count>
std::int64_t counted(Exec const& exec, char const* label, std::int64_t rows, Count const& count) {
  std::int64_t found = 0;
  Kokkos::parallel_reduce(label, RowPolicy<Exec>(exec, 0, rows), count, found);
  exec.fence(label);
  return found;
}

// Whether the entries of a row add up to 0.
template <class Matrix>
KOKKOS_FUNCTION bool adds_up_to_zero(EllRows<Matrix> const& rows, std::int64_t row) {
  double sum = 0, size = 0;
  rows(row, [&](std::int64_t, double value) {
    sum += value;
    size += Kokkos::abs(value);
  });
  return size > 0 && Kokkos::abs(sum) <= 1e-13 * size;
}

// Rows that add up to 0 and have no neighbour before them on this rank. Without one, no part
// floats: from each row a path of ever smaller rows ends at a row that is held.
template <class Exec, class Matrix>
std::int64_t count_first_rows(Exec const& exec, Matrix const& A) {
  EllRows<Matrix> const rows{A};
  return counted(
      exec, "strata::sparse::FloatingParts::first_rows", A.rows(),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& count) {
        bool is_first = true;
        rows(i,
             [&](std::int64_t j, double value) { is_first = is_first && !(value != 0 && j < i); });
        count += is_first && adds_up_to_zero(rows, i) ? 1 : 0;
      });
}

// Labels that are not `held`.
template <class Exec>
std::int64_t count_floating(Exec const& exec, Wide<Exec> const& label, std::int64_t rows) {
  return counted(
      exec, "strata::sparse::FloatingParts::count", rows,
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& count) { count += label(i) != held ? 1 : 0; });
}

// Parents of neighbours become the smaller of both; how many changed.
template <class Exec, class Matrix>
std::int64_t join_neighbours(Exec const& exec, Matrix const& A, Integers<Exec> const& parent) {
  EllRows<Matrix> const rows{A};
  return counted(
      exec, "strata::sparse::FloatingParts::join", A.rows(),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& count) {
        rows(i, [&](std::int64_t j, double value) {
          if (value == 0 || j == i || j >= A.rows()) return;
          std::int64_t const own = Kokkos::atomic_load(&parent(i)),
                             other = Kokkos::atomic_load(&parent(j));
          if (own == other) return;
          Kokkos::atomic_min(&parent(own < other ? other : own), own < other ? own : other);
          ++count;
        });
      });
}

// Each row's parent becomes its root.
template <class Exec>
void shorten_paths(Exec const& exec, Integers<Exec> const& parent) {
  Kokkos::parallel_for(
      "strata::sparse::FloatingParts::shorten",
      RowPolicy<Exec>(exec, 0, static_cast<std::int64_t>(parent.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        std::int64_t root = Kokkos::atomic_load(&parent(i));
        for (std::int64_t next = Kokkos::atomic_load(&parent(root)); next != root;) {
          root = next;
          next = Kokkos::atomic_load(&parent(root));
        }
        Kokkos::atomic_store(&parent(i), root);
      });
}

// The root of each of this rank's rows in the graph of its own columns.
template <class Exec, class Matrix>
Integers<Exec> local_roots(Exec const& exec, Matrix const& A, Integers<Exec> const& parent) {
  Kokkos::parallel_for(
      "strata::sparse::FloatingParts::start", RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) { parent(i) = i; });
  while (join_neighbours(exec, A, parent) > 0) shorten_paths(exec, parent);
  return parent;
}

// label(root) = `held` where a row of its part is, else the root's number in the whole matrix.
template <class Exec, class Matrix>
void label_roots(Exec const& exec, Matrix const& A, Integers<Exec> const& root, std::int64_t first,
                 Wide<Exec> const& label) {
  EllRows<Matrix> const rows{A};
  Kokkos::parallel_for(
      "strata::sparse::FloatingParts::number", RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) { label(i) = static_cast<double>(first + i); });
  Kokkos::parallel_for(
      "strata::sparse::FloatingParts::hold", RowPolicy<Exec>(exec, 0, A.rows()),
      KOKKOS_LAMBDA(std::int64_t i) {
        constexpr double of_held = held;
        if (!adds_up_to_zero(rows, i)) Kokkos::atomic_min(&label(root(i)), of_held);
      });
}

// Rows take their root's label.
template <class Exec>
void spread(Exec const& exec, Integers<Exec> const& root, Wide<Exec> const& label,
            std::int64_t rows) {
  Kokkos::parallel_for(
      "strata::sparse::FloatingParts::spread", RowPolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(std::int64_t i) {
        double const of_root = Kokkos::atomic_load(&label(root(i)));
        Kokkos::atomic_store(&label(i), of_root);
      });
}

// Roots take the smallest label of the halo that their rows reach; how many changed.
template <class Exec, class Matrix>
std::int64_t take_from_halo(Exec const& exec, Matrix const& A, Integers<Exec> const& root,
                            Wide<Exec> const& label) {
  EllRows<Matrix> const rows{A};
  return counted(
      exec, "strata::sparse::FloatingParts::take", A.rows(),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& count) {
        rows(i, [&](std::int64_t j, double value) {
          if (value == 0 || j < A.rows()) return;
          double const own = Kokkos::atomic_load(&label(root(i)));
          if (!(label(j) < own)) return;
          Kokkos::atomic_min(&label(root(i)), label(j));
          ++count;
        });
      });
}

// Rows that reach a row of another rank and of another part, as where that one does not reach back.
template <class Exec, class Matrix>
std::int64_t count_differences(Exec const& exec, Matrix const& A, Wide<Exec> const& label) {
  EllRows<Matrix> const rows{A};
  return counted(
      exec, "strata::sparse::FloatingParts::compare", A.rows(),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& count) {
        rows(i, [&](std::int64_t j, double value) {
          count += value != 0 && j >= A.rows() && label(j) != label(i);
        });
      });
}

// mean(part) = the part's sum of x / rows, of this rank; a team a part.
template <class Exec, class Scalar>
void sum_parts(Exec const& exec, Integers<Exec> const& begin, Integers<Exec> const& row,
               Wide<Exec> const& share, Vector<Scalar, typename Exec::memory_space> const& x,
               Wide<Exec> const& mean) {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  Kokkos::parallel_for(
      "strata::sparse::FloatingParts::means",
      Policy(exec, static_cast<int>(share.extent(0)), Kokkos::AUTO),
      KOKKOS_LAMBDA(Member const& team) {
        auto const part = static_cast<std::int64_t>(team.league_rank());
        double const factor = share(part);
        double sum = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, begin(part), begin(part + 1)),
            [&](std::int64_t k, double& own) { own += factor * static_cast<double>(x(row(k))); },
            sum);
        Kokkos::single(Kokkos::PerTeam(team), [&] { mean(part) = sum; });
      });
}

template <class Exec, class Scalar>
void subtract_means(Exec const& exec, Integers<Exec> const& begin, Integers<Exec> const& row,
                    Wide<Exec> const& mean, Vector<Scalar, typename Exec::memory_space> const& x) {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  Kokkos::parallel_for(
      "strata::sparse::FloatingParts::remove_means",
      Policy(exec, static_cast<int>(mean.extent(0)), Kokkos::AUTO),
      KOKKOS_LAMBDA(Member const& team) {
        auto const part = static_cast<std::int64_t>(team.league_rank());
        Kokkos::parallel_for(
            Kokkos::TeamThreadRange(team, begin(part), begin(part + 1)), [&](std::int64_t k) {
              x(row(k)) = static_cast<Scalar>(static_cast<double>(x(row(k))) - mean(part));
            });
      });
}

// The label of each of this rank's rows: of floating parts the same on all ranks, else `held`.
template <class Exec>
Wide<Exec> labels(Exec const& exec, DistributedMatrix<Exec> const& A) {
  auto const& comm = A.comm();
  auto const label = comm.agree(
      [&] { return A.template allocate<double>(exec, "strata::sparse::FloatingParts::label"); });
  auto const parent = comm.agree([&] {
    return allocate<Integers<Exec>>(exec, "strata::sparse::FloatingParts::parent", A.rows());
  });
  std::visit(
      [&](auto const& stored) {
        label_roots(exec, stored, local_roots(exec, stored, parent), A.first_row(), label);
        spread(exec, parent, label, A.rows());
        for (bool going = comm.size() > 1; going;) {
          A.fill_halo(exec, label);
          going = comm.max(take_from_halo(exec, stored, parent, label) > 0 ? 1 : 0) > 0;
          spread(exec, parent, label, A.rows());
        }
        if (comm.size() == 1) return;
        A.fill_halo(exec, label);
        if (comm.max(count_differences(exec, stored, label) > 0 ? 1 : 0) > 0)
          Kokkos::deep_copy(exec, label, held);
      },
      A.stored());
  return label;
}

// What is listed on the ranks, ascending, each once. Collective.
std::vector<double> all_of(Communicator const& comm, std::vector<double> mine) {
  auto const tidy = [](std::vector<double>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  tidy(mine);
  auto all = comm.gather(std::span<double const>(mine));
  tidy(all);
  return all;
}

}  // namespace

template <class Exec>
FloatingParts<Exec>::FloatingParts(Exec const& exec, DistributedMatrix<Exec> const& A)
    : comm_(A.comm()) {
  Region const region(exec, "strata::sparse::FloatingParts");
  auto const on_any_rank = [&](std::int64_t count) { return comm_.max(count > 0 ? 1 : 0) > 0; };
  auto const first_rows =
      std::visit([&](auto const& stored) { return count_first_rows(exec, stored); }, A.stored());
  if (!on_any_rank(first_rows)) return;
  auto const found = labels(exec, A);
  if (!on_any_rank(count_floating(exec, found, A.rows()))) return;
  auto const label = comm_.agree([&] {
    auto all = to_host(exec, found);
    all.resize(static_cast<std::size_t>(A.rows()));
    return all;
  });
  std::vector<double> floating;
  std::copy_if(label.begin(), label.end(), std::back_inserter(floating),
               [](double number) { return number != held; });
  auto const parts = all_of(comm_, floating);
  count_ = static_cast<std::int64_t>(parts.size());
  if (count_ == 0) return;
  std::vector<std::int64_t> begin(parts.size() + 1, 0), row(floating.size());
  auto const part_of = [&](double number) {
    return static_cast<std::size_t>(std::lower_bound(parts.begin(), parts.end(), number) -
                                    parts.begin());
  };
  for (double const number : floating) ++begin[part_of(number) + 1];
  for (std::size_t part = 0; part < parts.size(); ++part) begin[part + 1] += begin[part];
  auto next = begin;
  for (std::size_t i = 0; i < label.size(); ++i)
    if (label[i] != held)
      row[static_cast<std::size_t>(next[part_of(label[i])]++)] = static_cast<std::int64_t>(i);
  std::vector<double> size(parts.size());
  for (std::size_t part = 0; part < parts.size(); ++part)
    size[part] = static_cast<double>(begin[part + 1] - begin[part]);
  comm_.sum(size);
  for (double& number : size) {
    rows_ += static_cast<std::int64_t>(number);
    number = 1 / number;
  }
  comm_.agree([&] {
    begin_ = to_device(exec, "strata::sparse::FloatingParts::begin", begin);
    row_ = to_device(exec, "strata::sparse::FloatingParts::row", row);
    share_ = to_device(exec, "strata::sparse::FloatingParts::share", size);
    mean_ = to_device(exec, "strata::sparse::FloatingParts::mean", size);
  });
}

template <class Exec>
void FloatingParts<Exec>::add_null_vectors(Exec const& exec, DistributedMatrix<Exec> const& A,
                                           std::vector<Wide> const& modes, double norm) {
  for (auto const& mode : modes) remove_means(exec, mode);
  null_ = NullVectors<Exec>(exec, A, modes, norm);
}

template <class Exec>
template <class Scalar>
void FloatingParts<Exec>::remove_means(Exec const& exec,
                                       Vector<Scalar, typename Exec::memory_space> const& x) const {
  null_.remove(exec, x);
  if (count_ == 0) return;
  sum_parts(exec, begin_, row_, share_, x, mean_);
  if (comm_.size() > 1) {
    auto means = to_host(exec, mean_);
    comm_.sum(means);
    Kokkos::View<double const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const host(
        means.data(), means.size());
    Kokkos::deep_copy(exec, mean_, host);
    exec.fence("strata::sparse::FloatingParts::means");  // `means` is the host's
  }
  subtract_means(exec, begin_, row_, mean_, x);
}

#define STRATA_INSTANTIATE_FLOATING_PARTS(Space)                     \
  template class FloatingParts<Space>;                               \
  template void FloatingParts<Space>::remove_means(                  \
      Space const&, Vector<fp64, Space::memory_space> const&) const; \
  template void FloatingParts<Space>::remove_means(                  \
      Space const&, Vector<fp32, Space::memory_space> const&) const;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE_FLOATING_PARTS)

}  // namespace strata::sparse::detail
