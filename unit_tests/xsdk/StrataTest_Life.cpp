// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The C++ interface in forks, in many threads, and in static objects. One scenario a process.
#include <StrataTest_Life.hpp>

#include <core/instances/Strata_ConcurrentCall.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <core/problems/Strata_Generators.hpp>
#include <dense/Strata_Cholesky.hpp>

#include <Kokkos_Core.hpp>

#include <StrataTest_Child.hpp>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace strata::test {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
using Layers = dense::Layers<bf16, fp32>;
using Factor = dense::CholeskyFactor<Exec>;

// A factor, and the vectors of its solves.
struct System {
  explicit System(std::int64_t n)
      : exec(Kokkos::Experimental::partition_space(Exec(), 1)[0]),
        A(Kokkos::create_mirror_view_and_copy(
            Kokkos::view_alloc(exec, Memory()),
            generate(MatrixKind::Geometric, n, {.condition = 1e3}))),
        b(Kokkos::view_alloc(exec, "strata::test::b"), n),
        x(Kokkos::view_alloc(exec, "strata::test::x"), n),
        factor(dense::cholesky<Layers>(exec, A)) {
    Kokkos::deep_copy(exec, b, 1.0);
  }
  bool solves() {
    auto const report = factor.solve(exec, b, x);
    return report.converged && report.backward_error < 1e-14;
  }

  Exec exec;
  Kokkos::View<double**, Kokkos::LayoutLeft, Memory> A;
  Kokkos::View<double*, Memory> b, x;
  Factor factor;
};

// Where Kokkos has no threads and no device a child can do what its parent can, with what it has
// inherited as well.
void forks() {
  Kokkos::ScopeGuard const kokkos;
  System system(900);  // products that oneDNN makes with several threads, where it makes any
  expect(system.solves(), "the parent solves");
#ifdef KOKKOS_ENABLE_SERIAL
  if (std::is_same_v<Exec, Kokkos::Serial>) {
    std::string const text = in_child([&]() -> std::string {
      if (!system.solves()) return "does not solve with its parent's factor";
      return System(900).solves() ? "solves" : "does not solve with its own factor";
    });
    expect(text == "solves", ("in a child: " + text).c_str());
  }
#endif
  expect(system.solves(), "the parent solves again");
}

void has_sixteen_threads() {
  Kokkos::ScopeGuard const kokkos;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> pool;
  for (int t = 0; t < 16; ++t)
    pool.emplace_back([&, t] {
      for (std::int64_t round = 0; round < 20; ++round) {
        std::optional<ConcurrentCall> call;  // a device captures no graph meanwhile
        if (!runs_on_host<Exec>) call.emplace();
        System system(1 + (7 * t + round) % 40);
        double const value = system.factor.log_determinant(system.exec).value;
        if (!system.solves() || !std::isfinite(value)) ++wrong;
      }
    });
  for (auto& thread : pool) thread.join();
  expect(wrong == 0, "each thread solves its small systems");
}

// A factor may be static if it goes before Kokkos does: by order of destruction, or in a hook of
// Kokkos'.
struct AtExit {
  System* system = nullptr;
  AtExit() = default;
  AtExit(AtExit const&) = delete;
  AtExit& operator=(AtExit const&) = delete;
  ~AtExit() {
    if (system == nullptr) return;
    expect(system->solves(), "it solves in a static destructor");
    delete system;
    end_if_failed();
  }
};

void is_static() {
  static Kokkos::ScopeGuard const kokkos;
  static AtExit at_exit;  // after Kokkos' guard, so destroyed before it
  at_exit.system = new System(100);
}

std::unique_ptr<System> kept;

void ends_in_a_hook() {
  Kokkos::ScopeGuard const kokkos;
  kept = std::make_unique<System>(100);
  expect(kept->solves(), "it solves");
  Kokkos::push_finalize_hook([] {
    expect(kept->solves(), "it solves until Kokkos ends");
    kept.reset();
  });
}

}  // namespace
}  // namespace strata::test

int main(int argc, char** argv) {
  using namespace strata::test;
  return run_scenario(argc, argv,
                      {{"forks", forks},
                       {"has_sixteen_threads", has_sixteen_threads},
                       {"is_static", is_static},
                       {"ends_in_a_hook", ends_in_a_hook}});
}
