// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Sources that a host compiler takes and a device's refuses, one for each STRATA_OFFENCE; 0 is
// none.
#include <core/Strata_Backends.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <map>
#include <string>

namespace {

struct Report {
  int number = 0;
  std::string text = {};
  int count = 0;
  std::map<int, int> counts;
};

double on_the_host(double x) {
  static double last = 0;
  return last = std::fabs(x - last);
}
[[maybe_unused]] constexpr double twice(double x) { return 2 * x; }
KOKKOS_INLINE_FUNCTION double anywhere(double x) { return x < 0 ? -x : x; }

class Twice {
 public:
  template <class Exec>
  void run(Exec const& exec, Kokkos::View<double*, typename Exec::memory_space> const& x) const;

#if STRATA_OFFENCE == 2
 private:
#endif
  template <class Exec>
  void launch(Exec const& exec, Kokkos::View<double*, typename Exec::memory_space> const& x) const {
    Kokkos::parallel_for(
        "strata::offender::twice", Kokkos::RangePolicy<Exec>(exec, 0, x.extent(0)),
        KOKKOS_LAMBDA(int i) {
#if STRATA_OFFENCE == 1
          x(i) = on_the_host(x(i));
#elif STRATA_OFFENCE == 5  // nvcc only warns, and may drop the rest of the kernel
          x(i) = twice(x(i));
#else
          x(i) = 2 * anywhere(x(i));
#endif
        });
  }
};

template <class Exec>
void Twice::run(Exec const& exec,
                Kokkos::View<double*, typename Exec::memory_space> const& x) const {
  launch(exec, x);
}

#if STRATA_OFFENCE == 3
template <class Exec>
auto sum(Exec const& exec, Kokkos::View<double*, typename Exec::memory_space> const& x) {
#else
template <class Exec>
double sum(Exec const& exec, Kokkos::View<double*, typename Exec::memory_space> const& x) {
#endif
  double result = 0;
  Kokkos::parallel_reduce(
      "strata::offender::sum", Kokkos::RangePolicy<Exec>(exec, 0, x.extent(0)),
      KOKKOS_LAMBDA(int i, double& part) { part += x(i); }, result);
  return result;
}

// What nvcc makes of designators that leave a member out is refused by the host's compiler.
template <class Number>
Report report(Number number) {
  Report result;
#if STRATA_OFFENCE == 4
  result = {.number = number, .count = number};
#endif
  return result;
}

}  // namespace

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  Kokkos::View<double*> const x(Kokkos::view_alloc(exec, "strata::offender::x"), 3);
  Twice().run(exec, x);
  return sum(exec, x) == on_the_host(0) ? 0 : report(1).number;
}
