// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Seconds of set-up, solve and new values of a seven-point system whose CSR lies where it is
// solved, or of an elastic body, and, with --kernels, what each kernel of a set-up and of new
// values takes.
#include <core/info/Strata_Version.hpp>
#include <core/kokkos_ext/Strata_Recorder.hpp>
#include <sparse/Strata_SparseSolver.hpp>
#include <sparse/matrix/Strata_KernelsMatrix.hpp>
#include <sparse/matrix/Strata_ModelProblems.hpp>

#include <KokkosSparse_CrsMatrix.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace strata;
using namespace strata::sparse;
using Exec = Kokkos::DefaultExecutionSpace;
using Device = Kokkos::Device<Exec, Exec::memory_space>;
using Crs = KokkosSparse::CrsMatrix<double, int, Device, void, std::size_t>;

struct Request {
  std::vector<std::int64_t> points = {64};
  double tolerance = 1e-8, weight = 1;
  int repeat = 3;
  int columns = 0;
  bool kernels = false;
  std::optional<ModelProblem> model;
};

/// Seconds since `reset`, of the clock or of the processor.
class Watch {
 public:
  static inline bool of_processor = false;
  double seconds() const { return now() - begin_; }
  void reset() { begin_ = now(); }

 private:
  static double now() {
    using Clock = std::chrono::steady_clock;
    if (of_processor) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  }
  double begin_ = now();
};

struct RowCursor {
  std::size_t at;
  Kokkos::View<int*, Device> column;
  Kokkos::View<double*, Device> value;
  KOKKOS_FUNCTION void add(std::int64_t j, double a) {
    column(at) = static_cast<int>(j);
    value(at) = a;
    ++at;
  }
};

/// Seven points on n^3 unknowns, the couplings along z multiplied by a weight.
struct SevenPoints {
  std::int64_t n;
  double weight;
  Kokkos::View<std::size_t*, Device> begin;
  Kokkos::View<int*, Device> column;
  Kokkos::View<double*, Device> value;

  KOKKOS_FUNCTION std::size_t entries_before(std::int64_t row) const {
    std::int64_t const plane = n * n, z = row / plane, y = row / n % n, x = row % n;
    std::int64_t const x_cut = 2 * (row / n) + (x > 0 ? 1 : 0);
    std::int64_t const y_cut = 2 * z * n + Kokkos::min(y > 0 ? n : x, n) + (y == n - 1 ? x : 0);
    std::int64_t const z_cut =
        Kokkos::min(row, plane) + Kokkos::max(row - plane * (n - 1), std::int64_t(0));
    return static_cast<std::size_t>(7 * row - x_cut - y_cut - z_cut);
  }
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    std::int64_t const z = row / (n * n), y = row / n % n, x = row % n;
    RowCursor to{entries_before(row), column, value};
    begin(row) = to.at;
    if (z > 0) to.add(row - n * n, -weight);
    if (y > 0) to.add(row - n, -1);
    if (x > 0) to.add(row - 1, -1);
    to.add(row, 4 + 2 * weight);
    if (x < n - 1) to.add(row + 1, -1);
    if (y < n - 1) to.add(row + n, -1);
    if (z < n - 1) to.add(row + n * n, -weight);
    if (row == n * n * n - 1) begin(row + 1) = to.at;
  }
};

Crs seven_points(Exec const& exec, std::int64_t n, double weight) {
  std::int64_t const rows = n * n * n, entries = 7 * rows - 6 * n * n;
  auto const size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  SevenPoints const fill{n, weight, Kokkos::View<std::size_t*, Device>("begin", size(rows + 1)),
                         Kokkos::View<int*, Device>("column", size(entries)),
                         Kokkos::View<double*, Device>("value", size(entries))};
  Kokkos::parallel_for("strata::perf::seven_points",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, rows),
                       fill);
  exec.fence("strata::perf::seven_points");
  return Crs("strata::perf::A", static_cast<int>(rows), static_cast<int>(rows), size(entries),
             fill.value, fill.begin, fill.column);
}

/// Times of all kernels between `start` and `stop`: each is waited for.
class KernelTimes {
 public:
  void start() {
    totals().clear();
    open().clear();
    clock().reset();
    set(begin, end, push, pop);
  }
  void stop() { set(nullptr, nullptr, nullptr, nullptr); }
  void print(std::size_t most) const {
    std::vector<std::pair<std::string, Total>> sorted(totals().begin(), totals().end());
    std::sort(sorted.begin(), sorted.end(), [](auto const& a, auto const& b) {
      return a.second.seconds + a.second.before > b.second.seconds + b.second.before;
    });
    Total all;
    for (auto const& [name, total] : sorted) {
      all.seconds += total.seconds;
      all.before += total.before;
      all.count += total.count;
    }
    std::printf("  kernels %.2f ms, between them %.2f ms, %d kernels\n", 1e3 * all.seconds,
                1e3 * all.before, all.count);
    for (std::size_t k = 0; k < std::min(most, sorted.size()); ++k)
      std::printf("  %9.3f ms %9.3f ms before %5d x  %s\n", 1e3 * sorted[k].second.seconds,
                  1e3 * sorted[k].second.before, sorted[k].second.count, sorted[k].first.c_str());
  }

 private:
  struct Total {
    double seconds = 0, before = 0;
    int count = 0;
  };
  static std::map<std::string, Total>& totals() {
    static std::map<std::string, Total> all;
    return all;
  }
  static std::vector<std::string>& open() {
    static std::vector<std::string> names;
    return names;
  }
  static Watch& clock() {
    static Watch timer;
    return timer;
  }
  static void begin(char const* name, std::uint32_t, std::uint64_t*) {
    Exec().fence("strata::perf::kernel_times");
    current() = (open().empty() ? std::string() : open().back() + " / ") + name;
    totals()[current()].before += clock().seconds();
    clock().reset();
  }
  static void end(std::uint64_t) {
    Exec().fence("strata::perf::kernel_times");
    auto& total = totals()[current()];
    total.seconds += clock().seconds();
    ++total.count;
    clock().reset();
  }
  static void push(char const* name) { open().emplace_back(name); }
  static void pop() {
    if (!open().empty()) open().pop_back();
  }
  static std::string& current() {
    static std::string name;
    return name;
  }
  static void set(Kokkos_Profiling_beginFunction first, Kokkos_Profiling_endFunction last,
                  Kokkos_Profiling_pushFunction in, Kokkos_Profiling_popFunction out) {
    namespace tools = Kokkos::Tools::Experimental;
    tools::set_begin_parallel_for_callback(first);
    tools::set_end_parallel_for_callback(last);
    tools::set_begin_parallel_reduce_callback(first);
    tools::set_end_parallel_reduce_callback(last);
    tools::set_begin_parallel_scan_callback(first);
    tools::set_end_parallel_scan_callback(last);
    tools::set_push_region_callback(in);
    tools::set_pop_region_callback(out);
  }
};

SparseOptions options_of(Request const& request) {
  SparseOptions options;
  options.solver = SolverKind::ConjugateGradients;
  options.preconditioner = PreconditionerKind::Amg;
  options.tolerance = request.tolerance;
  return options;
}

/// The matrix as the caller has it.
struct Given {
  std::int64_t rows, entries;
  std::function<DistributedMatrix<Exec>()> take;
  /// New values beside an older matrix.
  std::function<DistributedMatrix<Exec>(DistributedMatrix<Exec> const&)> take_beside;
};

Given given_matrix(Exec const& exec, std::int64_t n, Request const& request) {
  Communicator const comm;
  if (request.model) {
    ModelSize const size{n, n, n};
    auto const rows = make_model(*request.model, size, 0, model_rows(*request.model, size));
    return {rows.rows(), rows.entries(), [=] { return make_matrix(exec, comm, rows); },
            [=](auto const& old) { return make_matrix(exec, old, rows); }};
  }
  Crs const crs = seven_points(exec, n, request.weight);
  return {crs.numRows(), static_cast<std::int64_t>(crs.nnz()),
          [=] { return make_matrix(exec, comm, crs); },
          [=](auto const& old) { return make_matrix(exec, old, crs); }};
}

double seconds_of_columns(Exec const& exec, SparseSolver<Exec>& solver, std::size_t rows,
                          int columns, KernelTimes* kernels = nullptr) {
  using Block = VectorBlock<Exec::memory_space>;
  Block const B("strata::perf::B", rows, static_cast<std::size_t>(columns)),
      X("strata::perf::X", rows, static_cast<std::size_t>(columns));
  Kokkos::deep_copy(exec, B, 1.0);
  double least = 0;
  for (int run = 0; run < 2; ++run) {
    Kokkos::deep_copy(exec, X, 0.0);
    exec.fence("strata::perf::guesses");
    if (kernels) kernels->start();
    Watch const watch;
    (void)solver.solve(exec, B, X);
    double const seconds = watch.seconds();
    if (kernels) kernels->stop();
    least = run == 0 ? seconds : std::min(least, seconds);
  }
  return least;
}

void print_kernels(Exec const& exec, Given const& given, Request const& request) {
  Recorder const one_by_one;  // so that no graph is captured
  KernelTimes times;
  times.start();
  SparseSolver<Exec> solver(exec, given.take(), options_of(request));
  times.stop();
  times.print(70);
  auto const again = given.take();
  solver.update(exec, again);  // on devices patterns are kept from here on
  std::printf("  new values:\n");
  times.start();
  solver.update(exec, again);
  times.stop();
  times.print(70);
  for (int const columns : {1, request.columns}) {
    if (columns == 0) continue;
    std::printf("  a solve of %d columns:\n", columns);
    (void)seconds_of_columns(exec, solver, static_cast<std::size_t>(given.rows), columns, &times);
    times.print(70);
  }
}

void measure(std::int64_t n, Request const& request) {
  Exec const exec;
  Given const given = given_matrix(exec, n, request);
  auto const rows = static_cast<std::size_t>(given.rows);
  using Vec = Vector<double, Exec::memory_space>;
  Vec const b(Kokkos::view_alloc(exec, "strata::perf::b"), rows),
      x(Kokkos::view_alloc(exec, "strata::perf::x"), rows);
  Kokkos::deep_copy(exec, b, 1.0);
  exec.fence("strata::perf::given");
  for (int run = 0; run < request.repeat; ++run) {
    Watch timer;
    auto const A = given.take();
    double const copied = timer.seconds();
    SparseSolver<Exec> solver(exec, A, options_of(request));
    double const set_up = timer.seconds();
    double solve[2], update[3];
    SparseReport report;
    for (double& seconds : solve) {
      Kokkos::deep_copy(exec, x, 0.0);
      exec.fence("strata::perf::guess");
      timer.reset();
      report = solver.solve(exec, b, x);
      seconds = timer.seconds();
    }
    if (request.columns > 0) {
      double const all = seconds_of_columns(exec, solver, rows, request.columns);
      std::printf("%d columns %.4f s, %.2f of one\n", request.columns, all,
                  all / std::min(solve[0], solve[1]));
    }
    for (double& seconds : update) {
      timer.reset();
      solver.update(exec, given.take_beside(A));
      seconds = timer.seconds();
    }
    std::printf(
        "%lld^3 run %d: copy %.4f, with set-up %.4f, solve %.4f %.4f, update %.4f %.4f %.4f s; "
        "%lld "
        "iterations, residual %.1e, complexity %.2f, %zu levels, preconditioner %.2f x of CSR\n",
        static_cast<long long>(n), run, copied, set_up, solve[0], solve[1], update[0], update[1],
        update[2], static_cast<long long>(report.iterations), report.relative_residual,
        report.operator_complexity, report.levels.size(),
        static_cast<double>(report.preconditioner_bytes) /
            (12.0 * static_cast<double>(given.entries) + 8.0 * static_cast<double>(given.rows)));
    std::fflush(stdout);
  }
  if (request.kernels) print_kernels(exec, given, request);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Set-up, solve and new values of systems on the device");
  Request request;
  app.add_option("--points", request.points, "sides of the grids")->capture_default_str();
  std::string model;
  app.add_option("--model", model, "a model problem on the host instead, as elasticity");
  app.add_option("--columns", request.columns, "solve for so many right-hand sides at once, too");
  app.add_option("--weight", request.weight, "the couplings along z are multiplied by it")
      ->capture_default_str();
  app.add_option("--tolerance", request.tolerance, "relative residual")->capture_default_str();
  app.add_option("--repeat", request.repeat, "runs of each")->capture_default_str();
  app.add_flag("--processor-time", Watch::of_processor, "instead of the clock's; of a host alone");
  app.add_flag("--kernels", request.kernels, "the time of each kernel of one more set-up");
  CLI11_PARSE(app, argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  try {
    if (!model.empty()) request.model = from_name<ModelProblem>(model);
    std::printf("%s, %s\n", devices().host.model.c_str(), Exec::name());
    for (auto const n : request.points) measure(n, request);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
