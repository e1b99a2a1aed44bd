// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include "StrataTest_Matchers.hpp"
#include "StrataTest_Spaces.hpp"
#include "sparse/StrataTest_Ranks.hpp"
#include "sparse/StrataTest_Sparse.hpp"
#include <comm/Strata_DeviceMessages.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <sparse/hpgmxp/Strata_ProcessGrid.hpp>
#include <sparse/krylov/Strata_GmresIr.hpp>
#include <sparse/krylov/Strata_Jacobi.hpp>
#include <sparse/krylov/Strata_KrylovBasis.hpp>
#include <sparse/multigrid/Strata_GaussSeidelSweeps.hpp>
#include <sparse/multigrid/Strata_GeometricMultigrid.hpp>
#include <sparse/multigrid/Strata_GridHierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

// Messages that a device enqueues against MPI's. Hosts have none of their own: there MPI stands in
// for NCCL, so that what the module does around the calls is tested on any machine with MPI.

namespace {

using namespace strata;
using namespace strata::sparse;
using namespace strata::test;
using strata::runs_on_host;

#ifdef STRATA_ENABLE_MPI
template <class Exec>
class StandIn final : public strata::DeviceMessages<Exec> {
 public:
  explicit StandIn(Communicator const& comm) : comm_(comm) {}
  void exchange(Exec const&, HaloPattern const& pattern, float const* send,
                float* halo) const override {
    send_and_receive(pattern, send, halo, MPI_FLOAT);
  }
  void exchange(Exec const&, HaloPattern const& pattern, double const* send,
                double* halo) const override {
    send_and_receive(pattern, send, halo, MPI_DOUBLE);
  }
  void sum(Exec const&, double* values, int count) const override {
    comm_.sum({values, static_cast<std::size_t>(count)});
  }

 private:
  template <class Scalar>
  void send_and_receive(HaloPattern const& pattern, Scalar const* send, Scalar* halo,
                        MPI_Datatype type) const {
    std::vector<MPI_Request> requests;
    for (auto const& other : pattern.from)
      MPI_Irecv(halo + other.begin, static_cast<int>(other.end - other.begin), type, other.rank, 0,
                comm_.mpi(), &requests.emplace_back());
    for (auto const& other : pattern.to)
      MPI_Isend(send + other.begin, static_cast<int>(other.end - other.begin), type, other.rank, 0,
                comm_.mpi(), &requests.emplace_back());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  Communicator comm_;
};
#endif

/// Enqueued where several ranks can have it or MPI stands in; else what is chosen.
template <class Exec>
Link<Exec> enqueued_link(Exec const& exec, Communicator const& comm) {
#ifdef STRATA_ENABLE_MPI
  if constexpr (runs_on_host<Exec>)
    return {Transport::Enqueued, std::make_shared<StandIn<Exec>>(comm)};
#endif
  return make_link(exec, comm, Transport::Automatic);
}

std::int64_t rows_of(int rank) { return rank == 2 ? 0 : 3 + rank; }

/// Each rank's first and last row go to all others; rank 2 has none and only receives.
template <class Exec, class Scalar>
void expect_halo(Exec const& exec, Communicator const& comm, Link<Exec> const& link) {
  std::vector<std::int64_t> first{0}, wanted;
  for (int rank = 0; rank < comm.size(); ++rank) first.push_back(first.back() + rows_of(rank));
  for (int rank = 0; rank < comm.size(); ++rank)
    if (auto const at = static_cast<std::size_t>(rank); rank != comm.rank() && rows_of(rank) > 0)
      wanted.insert(wanted.end(), {first[at], first[at + 1] - 1});
  std::int64_t const rows = rows_of(comm.rank()),
                     begin = first[static_cast<std::size_t>(comm.rank())];
  auto const pattern = discover_halo(comm, first, wanted);
  std::vector<double> reversed, values;
  for (std::int64_t i = 0; i < rows; ++i) {
    reversed.push_back(static_cast<double>(rows - 1 - i));
    values.push_back(static_cast<double>(begin + rows - 1 - i));
  }
  Halo<Exec> const halo(exec, comm, pattern, to_device<std::int32_t>(exec, reversed), link);
  EXPECT_EQ(halo.active(), comm.size() > 1);
  values.resize(static_cast<std::size_t>(rows + pattern.halo), -1);
  for (bool const beside : {true, false, true}) {
    auto const x = to_device<Scalar>(exec, values);
    if (beside) {
      halo.start(exec, x);
      Kokkos::deep_copy(exec, Kokkos::subview(x, std::pair(std::int64_t(0), rows)), Scalar(-7));
      halo.finish(exec, x);
    } else {
      halo.fill(exec, x);
    }
    auto const after = to_host(exec, x);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      EXPECT_EQ(after[static_cast<std::size_t>(rows) + k], static_cast<double>(wanted[k]));
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i)
      EXPECT_EQ(after[i], beside ? -7 : values[i]);
  }
}

/// The columns are those of sums by MPI.
template <class Exec, class Scalar, class Stored = Scalar>
void expect_basis(Exec const& exec, Communicator const& comm, Link<Exec> const& link,
                  BasisNorm norm) {
  std::int64_t const rows = rows_of(comm.rank()) * 100;
  constexpr int vectors = 12;
  using sparse::KrylovBasis;
  KrylovBasis<Exec, Scalar, Stored> enqueued(exec, comm, rows, vectors, link, norm),
      by_mpi(exec, comm, rows, vectors, {}, norm);
  double const near = 100 * traits(precision_of<Stored>).unit_roundoff;
  for (int k = 0; k < vectors; ++k) {
    int const seed = 99 * k + comm.rank();
    auto const vector =
        to_device<Scalar>(exec, random_vector(rows, static_cast<std::uint64_t>(seed)));
    Kokkos::deep_copy(exec, enqueued[k], vector);
    Kokkos::deep_copy(exec, by_mpi[k], vector);
    enqueued.orthogonalise(exec, k);
    by_mpi.orthogonalise(exec, k);
    auto const column = enqueued.column(exec, k), expected = by_mpi.column(exec, k);
    EXPECT_GT(column.beta, 0.1);
    EXPECT_NEAR(column.beta, expected.beta, near * expected.beta);
    for (std::size_t j = 0; j < expected.h.size(); ++j)
      EXPECT_NEAR(column.h[j], expected.h[j], near * expected.beta);
    EXPECT_EQ(comm.max(column.beta), -comm.max(-column.beta));  // the same on all ranks
  }
}

StencilProblem problem_on(Communicator const& comm) {
  auto const grid = process_grid(comm.size());
  StencilProblem box{16, 16, 16, grid[0], grid[1], grid[2]};
  box.px = comm.rank() % grid[0];
  box.py = comm.rank() / grid[0] % grid[1];
  box.pz = comm.rank() / (grid[0] * grid[1]);
  return box;
}

template <class Exec>
GridHierarchy<Exec> hierarchy_by(Exec const& exec, Communicator const& comm, Transport transport) {
  MatrixOptions options;
  options.transport = transport;
  options.free_colours = 2;  // of a small matrix too
  return make_grid_hierarchy(exec, comm, problem_on(comm), 4, options);
}

/// Five solves, of which the last replay; the iterations, and how far x is from 1.
template <class Exec, class Scalar>
std::pair<std::int64_t, double> solved(Exec const& exec, GridHierarchy<Exec> const& hierarchy) {
  auto const& A = hierarchy.levels.front().A;
  auto const x = A.template allocate<double>(exec, "strata::test::x"),
             b = A.template allocate<double>(exec, "strata::test::b");
  Kokkos::deep_copy(exec, x, 1.0);
  A.multiply(exec, x, b);
  GeometricMultigrid<Exec, Scalar> const preconditioner(exec, hierarchy);
  GmresIr<Exec, Scalar> solver(exec, A, preconditioner, {10, 1e-9, 1000});
  std::vector<KrylovReport> reports;
  for (int repeat = 0; repeat < 5; ++repeat) {
    Kokkos::deep_copy(exec, x, 0.0);
    reports.push_back(solver.solve(exec, b, x));
    EXPECT_EQ(reports.back().status, KrylovStatus::Converged);
    EXPECT_EQ(reports.back().iterations, reports.front().iterations);
    EXPECT_EQ(reports.back().relative_residual, reports.front().relative_residual);
  }
  double error = 0;
  for (auto const value : to_host(exec, Kokkos::subview(x, std::pair(std::int64_t(0), A.rows()))))
    error = std::max(error, std::abs(value - 1));
  return {reports.front().iterations, error};
}

/// Products and sweeps have the bits that they have with staged messages.
template <class Exec, class Scalar>
std::vector<double> swept(Exec const& exec, DistributedMatrix<Exec> const& A) {
  auto const r = A.template allocate<Scalar>(exec, "strata::test::r"),
             x = A.template allocate<Scalar>(exec, "strata::test::x"),
             y = A.template allocate<Scalar>(exec, "strata::test::y");
  Kokkos::deep_copy(exec, r, Scalar(1.25));
  A.gauss_seidel(exec, r, x, Sweep::Symmetric, Guess::Zero);
  A.gauss_seidel(exec, r, x);
  A.multiply(exec, x, y);
  auto result = to_host(exec, y);
  result.resize(static_cast<std::size_t>(A.rows()));
  return result;
}

template <class Exec>
void expect_choice(Exec const& exec, Communicator const& comm) {
  auto const automatic = make_link(exec, comm, Transport::Automatic);
  bool const enqueued = automatic.transport == Transport::Enqueued;
  EXPECT_EQ(automatic.messages != nullptr, enqueued);
  EXPECT_EQ(comm.max(enqueued ? 1 : 0), enqueued ? 1 : 0);
  EXPECT_NE(automatic.transport, Transport::Automatic);
  if (runs_on_host<Exec> || comm.size() == 1) {
    for (auto const asked : {Transport::Automatic, Transport::Direct, Transport::Staged})
      EXPECT_EQ(make_link(exec, comm, asked).transport, Transport::Direct);
  } else {
    for (auto const asked : {Transport::Direct, Transport::Staged})
      EXPECT_EQ(make_link(exec, comm, asked).transport, asked);
  }
  if (enqueued) {
    EXPECT_EQ(make_link(exec, comm, Transport::Enqueued).transport, automatic.transport);
  }
  if (enqueued || (!runs_on_host<Exec> && comm.size() == 1)) return;
  std::string const reason =
      runs_on_host<Exec> ? std::string(Exec::name()) + " runs on the host" : "";
  EXPECT_TRUE(throws_with<ValueError>("transport enqueued: " + reason,
                                      [&] { (void)make_link(exec, comm, Transport::Enqueued); }));
  EXPECT_TRUE(throws_with<ValueError>("transport enqueued: " + reason, [&] {
    (void)hierarchy_by(exec, comm, Transport::Enqueued);
  }));
}

/// Preconditioners know whether they wait for messages.
template <class Exec>
void expect_known(Exec const& exec, Communicator const& comm) {
  auto const hierarchy = hierarchy_by(exec, comm, Transport::Automatic);
  auto const& A = hierarchy.levels.front().A;
  bool const waits = comm.size() > 1 && A.transport() != Transport::Enqueued;
  EXPECT_EQ(A.is_enqueued(), !waits);
  using Any = Preconditioner<Exec, double>;
  EXPECT_TRUE(Any().is_enqueued());
  EXPECT_EQ(Any(GeometricMultigrid<Exec, double>(exec, hierarchy)).is_enqueued(), !waits);
  EXPECT_EQ(Any(GaussSeidelSweeps<Exec, double>(exec, A, Precision::fp32)).is_enqueued(), !waits);
  EXPECT_FALSE(Any(Jacobi<Exec, double>(exec, A)).is_enqueued());  // which does not tell
}

TEST(Transport, HasNames) {
  EXPECT_EQ(name_of(Transport::Automatic), "automatic");
  EXPECT_EQ(name_of(Transport::Direct), "direct");
  EXPECT_EQ(name_of(Transport::Staged), "staged");
  EXPECT_EQ(name_of(Transport::Enqueued), "enqueued");
}

TEST(Transport, SeesWhichRanksShareADevice) {
  using strata::shared_device;
  EXPECT_EQ(shared_device({}), "");
  EXPECT_EQ(shared_device({{1, 2}}), "");
  EXPECT_EQ(shared_device({{1, 2}, {1, 3}, {2, 2}, {2, 1}}), "");
  EXPECT_EQ(shared_device({{1, 2}, {1, 2}}), "ranks 0 and 1 share a device");
  EXPECT_EQ(shared_device({{0, 1}, {5, 6}, {7, 8}, {5, 6}, {7, 8}}),
            "ranks 1 and 3 share a device");
}

template <class Space>
struct TransportTest : testing::Test {};
TYPED_TEST_SUITE(TransportTest, Spaces, SpaceNames);

TYPED_TEST(TransportTest, IsChosenByAllRanksTogether) { expect_choice(TypeParam(), test_ranks()); }
TYPED_TEST(TransportTest, IsKnownToPreconditioners) { expect_known(TypeParam(), test_ranks()); }

TYPED_TEST(TransportTest, EnqueuedFillsHalosAndSums) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  auto const link = enqueued_link(exec, comm);
  if (comm.size() > 1 && link.transport != Transport::Enqueued)
    GTEST_SKIP() << "NCCL or RCCL need a device for each of " << comm.size() << " ranks";
  expect_halo<TypeParam, float>(exec, comm, link);
  expect_halo<TypeParam, double>(exec, comm, link);
  for (auto const norm : {BasisNorm::Derived, BasisNorm::Summed}) {
    expect_basis<TypeParam, double>(exec, comm, link, norm);
    expect_basis<TypeParam, float>(exec, comm, link, norm);
    expect_basis<TypeParam, float, fp16>(exec, comm, link, norm);
  }
}

TYPED_TEST(TransportTest, EnqueuedSolvesAsStagedDoes) {
  Communicator const comm = test_ranks();
  TypeParam const exec;
  if (make_link(exec, comm, Transport::Automatic).transport != Transport::Enqueued)
    GTEST_SKIP() << "needs several ranks, NCCL or RCCL and a device for each rank";
  auto const enqueued = hierarchy_by(exec, comm, Transport::Enqueued),
             staged = hierarchy_by(exec, comm, Transport::Staged);
  EXPECT_EQ(enqueued.levels.back().A.transport(), Transport::Enqueued);
  for (std::size_t l = 0; l < enqueued.levels.size(); ++l) {
    auto const &A = enqueued.levels[l].A, &B = staged.levels[l].A;
    EXPECT_EQ((swept<TypeParam, double>(exec, A)), (swept<TypeParam, double>(exec, B)));
    EXPECT_EQ((swept<TypeParam, float>(exec, A)), (swept<TypeParam, float>(exec, B)));
  }
  auto const [iterations, error] = solved<TypeParam, float>(exec, enqueued);
  auto const [expected, staged_error] = solved<TypeParam, float>(exec, staged);
  EXPECT_LE(std::abs(iterations - expected), 1);  // sums are rounded in another order
  EXPECT_LT(error, 1e-5);
  EXPECT_LT(staged_error, 1e-5);
}

}  // namespace
