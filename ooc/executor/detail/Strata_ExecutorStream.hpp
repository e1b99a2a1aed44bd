// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_EXECUTOR_DETAIL_EXECUTOR_STREAM_HPP
#define STRATA_OOC_EXECUTOR_DETAIL_EXECUTOR_STREAM_HPP

#include <core/blas/Strata_LeafBlas.hpp>
#include <core/integers/Strata_IntegerBlas.hpp>
#include <ooc/executor/detail/Strata_Executor.hpp>
#include <ooc/team/detail/Strata_TileKernels.hpp>

#include <initializer_list>
#include <latch>

namespace strata::ooc::detail {

/// One stream of one device: what its worker does to the tiles that it visits.
template <class ExecutionSpace>
class Executor<ExecutionSpace>::Stream {
 public:
  using Space = typename ExecutionSpace::memory_space;
  using Matrix = MatrixRef<Space>;
  using Hold = typename Memory::Hold;
  using Planes = ResiduePlanes<Space>;

  Stream(Executor& executor, int device, int stream)
      : executor_(executor),
        plan_(executor.plan_),
        rules_(executor.rules_),
        device_(device),
        number_(stream),
        worker_(executor.machine_.worker(static_cast<std::size_t>(device), stream)),
        in_(worker_.in),
        work_(worker_.work),
        out_(worker_.out) {}

  JobThread& thread() { return worker_.thread; }
  /// The first tile whose sums of integers were larger than the map foretold, counted from 1, as
  /// far as the stream's kernels have run; 0: none.
  std::int64_t outgrown() const { return worker_.outgrown.data() ? worker_.outgrown() : 0; }

  /// All visits of the stream; what goes wrong stops all streams. The thread's function; no stream
  /// begins before all have told `ready`. The executor's recorder has a track for each lane.
  void run(std::vector<Visit> const& visits, std::latch& ready);

  std::uint64_t bytes_in = 0, bytes_out = 0, bytes_peer = 0;

 private:
  // A tile as an operand: pinned, final, visible to the work lane.
  struct Operand {
    Hold hold;
    Matrix matrix;
    Op op = Op::NoTrans;
  };
  // The tile of a visit: where it is stored and where its sums are made, which may be one.
  struct Sums {
    Hold stored, sums;
    bool in_place = false;
    Matrix matrix;
    std::size_t bytes = 0;
  };

  void prepare();
  void warm_up();
  void visit(Visit const& visit, Visit const* next);
  Sums open(Visit const& visit);
  Sums reopen(Visit const& visit);
  void leave(Sums const& C, Visit const& visit);
  Mark go_home(std::byte const* data, std::int64_t i, std::int64_t j, std::size_t bytes,
               Mark const& made);
  void update(Sums const& C, std::int64_t i, std::int64_t j, std::int64_t k);
  void factor_diagonal(Sums const& C, std::int64_t j);
  void solve(Sums const& C, std::int64_t i, std::int64_t j);
  void close(Sums const& C, Visit const& visit);
  void finish_column(std::int64_t j);

  Operand operand(std::int64_t i, std::int64_t k, Precision form);
  // What is enqueued so far is the last use of these operands: one mark for all.
  void release(std::initializer_list<Operand const*> operands) {
    Mark const used = work_.record();
    for (Operand const* operand : operands) memory().release(operand->hold.begin, used);
  }
  Hold fetch(std::int64_t i, std::int64_t k, bool planned);
  Mark load(Hold const& hold, std::int64_t i, std::int64_t k);
  void cast(Hold const& hold, std::int64_t i, std::int64_t k, Precision form);
  void prefetch(std::int64_t i, std::int64_t k, Precision form);
  Hold room_for(std::int64_t i, std::int64_t j);
  void look_ahead(Visit const& visit, std::int64_t k, Visit const* next);
  void bounce(Sums const& C);

  // --- products of integers (Strata_ExecutorIntegers.cpp) ---

  /// What they take, in device memory.
  struct Integers {
    RowUnit* units = nullptr;   // of all rows of L
    double* squares = nullptr;  // of a diagonal tile's rows, so far
    double* bound = nullptr;    // of the other tiles' sums, so far
    ModularSums<Space> sums{};  // of the visit so far; without depth: none
  };

  void prepare_integers();
  void warm_up_integers(std::byte* tile);
  Planes planes(Hold const& hold, std::int64_t i, std::int64_t k) const;
  double* squares(Hold const& hold) const {
    return reinterpret_cast<double*>(hold.data + plan_.squares_offset());
  }
  void make_integers(Hold const& hold, std::int64_t i, std::int64_t k);
  void multiply_integers(std::int64_t i, std::int64_t j, std::int64_t k, Precision form);
  void multiply_with_itself(Planes const& A);
  void combine_integers(Sums const& C, std::int64_t i, std::int64_t j);

  bool is_at_home(std::int64_t i, std::int64_t k) const {
    return executor_.is_at_home(static_cast<std::size_t>(device_), i, k);
  }
  Hold at_home(std::int64_t i, std::int64_t k) const {
    Hold hold;
    hold.data = executor_.data(i, k);
    return hold;
  }
  bool is_resident() const { return executor_.is_resident_[static_cast<std::size_t>(device_)]; }
  Memory& memory() { return *executor_.memories_[static_cast<std::size_t>(device_)]; }
  PrecisionMap const& map() const { return plan_.map(); }
  std::size_t number(std::int64_t i, std::int64_t j) const {
    return tile_number(i, j, map().tiles());
  }
  double* trailer(std::byte* data, Precision precision, std::int64_t i, std::int64_t j) const {
    return reinterpret_cast<double*>(data + number_bytes(precision, plan_.rows(i), plan_.rows(j)));
  }
  // A step of the factorisation, recorded on the lane that it is enqueued on.
  Span copies_in(char const* what, std::int64_t i, std::int64_t j) const {
    return Span(Track{"copy in"}, in_.exec(), what, " ", i, ",", j);
  }
  Span works(char const* what, std::int64_t i, std::int64_t j) const {
    return Span(worker_.exec(), what, " ", i, ",", j);
  }
  Span copies_out(std::int64_t i, std::int64_t j) const {
    return Span(Track{"copy out"}, out_.exec(), "out ", i, ",", j);
  }
  void step() {
    if (rules_.fences) worker_.fence();
  }

  Executor& executor_;
  TilePlan const& plan_;
  VariantRules const& rules_;
  int device_, number_;
  Worker<ExecutionSpace>& worker_;
  Lane<ExecutionSpace>&in_, &work_, &out_;  // the worker's
  LeafBlas<ExecutionSpace>* blas_ = nullptr;
  TileMeter<ExecutionSpace>* meter_ = nullptr;
  Integers integers_;
};

}  // namespace strata::ooc::detail

#endif
