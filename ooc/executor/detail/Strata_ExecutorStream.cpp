// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/blas/host/Strata_BlasThreads.hpp>
#include <core/kokkos_ext/Strata_Allocate.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <ooc/executor/detail/Strata_ExecutorOperands.hpp>

#include <algorithm>
#include <optional>

namespace strata::ooc::detail {

template <class Exec>
void Executor<Exec>::Stream::run(std::vector<Visit> const& visits, std::latch& ready) {
  std::optional<Recorder::OnThread> recorded;
  std::optional<vendor::OnNode> near_device;
  // As many as its kernels have, whatever the number of streams, on which the bits of L would
  // depend.
  std::optional<BlasThreads> threads;
  try {
    recorded.emplace(executor_.recorder_,
                     strata::detail::message("device ", device_, " stream ", number_, " "));
    near_device.emplace(worker_.node);
    worker_.be_one_thread(has_own_tiles(work_.exec(), plan_.rows(0)));
    threads.emplace(worker_.threads());
    prepare();
  } catch (...) {
    executor_.progress_.stop(std::current_exception());
  }
  ready.arrive_and_wait();
  try {
    for (std::size_t v = 0; v < visits.size(); ++v)
      visit(visits[v], v + 1 < visits.size() ? &visits[v + 1] : nullptr);
  } catch (Stopped const&) {
  } catch (...) {
    executor_.progress_.stop(std::current_exception());
  }
  try {  // nothing of this stream may run once its thread has ended
    worker_.fence();
  } catch (...) {
    executor_.progress_.stop(std::current_exception());
  }
}

template <class Exec>
void Executor<Exec>::Stream::prepare() {
  Lane<Exec>::enter(worker_.id);
  blas_ = &worker_.blas();
  meter_ = &worker_.meter(plan_.rows(0));
  worker_.make_results();
  worker_.outgrown() = 0;
  Kokkos::deep_copy(worker_.exec(), worker_.info, 0);
  if (map().moduli() > 0) prepare_integers();
  if (!rules_.keeps_sums)
    worker_.scratch.need(worker_.exec(), "strata::ooc::stream::HostScratch",
                         tile_bytes(Precision::fp64, plan_.rows(0), plan_.rows(0)));
  if constexpr (!strata::runs_on_host<Exec>) warm_up();
  work_.fence();
}

// Does each operation once, unless the worker has done so for such tiles. So libraries make their
// handles and workspaces, and kernels are loaded, before the first tile waits for them.
template <class Exec>
void Executor<Exec>::Stream::warm_up() {
  std::int64_t const edge = plan_.rows(0);
  auto const histogram = map().histogram();
  std::vector<Precision> forms;
  unsigned bits = 0;
  auto const with_moduli = map().moduli_histogram();
  for (int moduli = least_moduli; moduli <= most_moduli; ++moduli)
    if (moduli == map().moduli() ||
        with_moduli[static_cast<std::size_t>(moduli - least_moduli)] > 0)
      bits |= 1U << static_cast<unsigned>(integer_precision(moduli));
  for (Precision const form : {Precision::fp64, Precision::fp32, Precision::fp16_split,
                               Precision::fp16, Precision::fp8_e4m3}) {
    if (is_product_format(form) && !map().holds(form)) continue;
    if (histogram[static_cast<std::size_t>(precision_rank(form))] == 0) continue;
    forms.push_back(form);
    bits |= 1U << static_cast<unsigned>(form);
  }
  if (edge <= worker_.warm_edge && (bits & ~worker_.warm_forms) == 0) return;
  std::size_t const bytes = tile_bytes(Precision::fp64, edge, edge);
  Exec const& exec = worker_.exec();
  using Buffer = Kokkos::View<std::byte*, Space>;
  auto const a = allocate_zeros<Buffer>(exec, "strata::ooc::warm_up", bytes);
  auto const c = allocate_zeros<Buffer>(exec, "strata::ooc::warm_up", bytes);
  auto const info = allocate_zeros<decltype(worker_.info)>(exec, "strata::ooc::warm_up");
  auto const at = [&](auto const& buffer, Precision form) {
    return stored_tile<Space>(buffer.data(), form, edge, edge);
  };
  Matrix const C = at(c, Precision::fp64);
  for (Precision const form : forms) {
    Precision const working = form == Precision::fp64 ? form : Precision::fp32;
    Op const op = is_transposed(form) ? Op::Trans : Op::NoTrans;
    blas_->gemm(op, transposed(op), -1, at(a, form), at(a, form), 1, at(c, working));
    blas_->syrk(Uplo::Lower, op, -1, at(a, form), 1, C);
    blas_->trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, at(a, working),
                at(c, working));
    blas_->convert(op, at(c, working), at(a, form));
    (*meter_)(at(c, working), false, worker_.measure.data());
  }
  if (map().moduli() > 0) warm_up_integers(a.data());
  blas_->potrf(Uplo::Lower, C, 0, info);
  exec.fence("strata::ooc::warm_up");
  worker_.warm_edge = std::max(edge, worker_.warm_edge);
  worker_.warm_forms |= bits;
}

// Algorithm 2: C -= L_ik L_jk^T for all k < j, or some of them, and after the last POTRF or TRSM.
template <class Exec>
void Executor<Exec>::Stream::visit(Visit const& visit, Visit const* next) {
  std::int64_t const i = visit.row, j = visit.col;
  if (executor_.progress_.stopped()) throw Stopped();
  if (visit.is_last && executor_.options_.on_task) executor_.options_.on_task({i, j});
  Sums const C = visit.first == 0 ? open(visit) : reopen(visit);
  for (std::int64_t k = visit.first; k < visit.last; ++k) {
    (void)executor_.progress_.wait(number(i, k));
    (void)executor_.progress_.wait(number(j, k));
    look_ahead(visit, k, next);
    update(C, i, j, k);
    bounce(C);
  }
  combine_integers(C, i, j);
  if (!visit.is_last) return leave(C, visit);
  if (i == j) {
    factor_diagonal(C, j);
  } else {
    (void)executor_.progress_.wait(number(j, j));
    solve(C, i, j);
  }
  close(C, visit);
  finish_column(j);
}

template <class Exec>
auto Executor<Exec>::Stream::open(Visit const& visit) -> Sums {
  std::int64_t const i = visit.row, j = visit.col;
  Precision const precision = plan_.stored(i, j), working = plan_.working(i, j);
  Sums C;
  C.stored = fetch(i, j, true);
  C.in_place = plan_.in_place(i, j);
  C.bytes = number_bytes(working, plan_.rows(i), plan_.rows(j));
  if (C.in_place) {
    C.matrix = stored_tile<Space>(C.stored.data, precision, plan_.rows(i), plan_.rows(j));
    return C;
  }
  C.sums = memory().acquire(plan_.sums_key(i, j), plan_.units(working), executor_.progress_, false);
  for (Mark const& mark : C.sums.before) work_.wait(mark);
  C.matrix = stored_tile<Space>(C.sums.data, working, plan_.rows(i), plan_.rows(j));
  auto const stored = stored_tile<Space>(C.stored.data, precision, plan_.rows(i), plan_.rows(j));
  {
    Span const span = works("widen", i, j);
    blas_->convert(is_transposed(precision) ? Op::Trans : Op::NoTrans, stored, C.matrix);
  }
  memory().publish(C.sums.begin, work_.record());
  step();
  return C;
}

// The sums as the visit before has left them: on the device, held by it, or at home.
template <class Exec>
auto Executor<Exec>::Stream::reopen(Visit const& visit) -> Sums {
  std::int64_t const i = visit.row, j = visit.col;
  Precision const working = plan_.working(i, j);
  Mark const before = executor_.progress_.wait(number(i, j), visit.first);
  Sums C;
  C.in_place = plan_.in_place(i, j);
  C.bytes = number_bytes(working, plan_.rows(i), plan_.rows(j));
  C.stored = C.in_place ? fetch(i, j, true) : room_for(i, j);
  if (!C.in_place)
    C.sums =
        memory().acquire(plan_.sums_key(i, j), plan_.units(working), executor_.progress_, false);
  Hold const& sums = C.in_place ? C.stored : C.sums;
  C.matrix = stored_tile<Space>(sums.data, C.in_place ? plan_.stored(i, j) : working, plan_.rows(i),
                                plan_.rows(j));
  if (is_resident()) {
    work_.wait(before);
    memory().release(C.stored.begin, {});
    if (!C.in_place) memory().release(C.sums.begin, {});
  } else if (!C.in_place) {
    for (Mark const& mark : sums.before) in_.wait(mark);
    in_.wait(before);
    {
      Span const span = copies_in("in", i, j);
      in_.copy(sums.data, executor_.matrix_.data(i, j), C.bytes);
    }
    if (!executor_.is_on_devices()) bytes_in += C.bytes;
    memory().publish(sums.begin, in_.record());
    work_.wait(in_.record());
    step();
  }
  return C;
}

// Until the next visit the sums stay where they are, held, or go home.
template <class Exec>
void Executor<Exec>::Stream::leave(Sums const& C, Visit const& visit) {
  std::int64_t const i = visit.row, j = visit.col;
  Hold const& sums = C.in_place ? C.stored : C.sums;
  Mark end = work_.record();
  memory().publish(sums.begin, end);
  if (!is_resident()) {
    end = go_home(sums.data, i, j, C.in_place ? executor_.matrix_.copy_bytes(i, j) : C.bytes, end);
    step();
    memory().release(C.stored.begin, end, !C.in_place);
    if (!C.in_place) memory().release(C.sums.begin, end, true);
  }
  executor_.progress_.set(number(i, j), visit.last, end);
  if (executor_.exchange_)
    executor_.exchange_->finish_visit(executor_.order_.step_of(visit), end, in_.record());
}

// Where the tile is stored, unless it is there; the mark that says when, which is `made` or a later
// one.
template <class Exec>
auto Executor<Exec>::Stream::go_home(std::byte const* data, std::int64_t i, std::int64_t j,
                                     std::size_t bytes, Mark const& made) -> Mark {
  std::byte* const home = executor_.matrix_.data(i, j);
  if (data == home) return made;
  out_.wait(made);
  {
    Span const span = copies_out(i, j);
    out_.copy(home, data, bytes);
  }
  if (!executor_.is_on_devices()) bytes_out += bytes;
  return out_.record();
}

template <class Exec>
void Executor<Exec>::Stream::update(Sums const& C, std::int64_t i, std::int64_t j, std::int64_t k) {
  Precision const form = plan_.product(i, j, k);
  if (moduli_of(form) > 0) return multiply_integers(i, j, k, form);
  Operand const A = operand(i, k, form);
  if (i == j) {
    {
      Span const span = works("syrk", i, k);
      blas_->syrk(Uplo::Lower, A.op, -1, A.matrix, 1, C.matrix);
    }
    release({&A});
  } else {
    Operand const B = operand(j, k, form);
    {
      Span const span = works("gemm", i, k);
      blas_->gemm(A.op, transposed(B.op), -1, A.matrix, B.matrix, 1, C.matrix);
    }
    release({&A, &B});
  }
  step();
}

template <class Exec>
void Executor<Exec>::Stream::factor_diagonal(Sums const& C, std::int64_t j) {
  std::int64_t const offset = j * executor_.matrix_.tile_size();
  {
    Span const span = works("potrf", j, j);
    blas_->potrf(Uplo::Lower, C.matrix, offset, worker_.info);
  }
  Kokkos::deep_copy(worker_.exec(), worker_.host_info, worker_.info);
  work_.fence();
  std::int64_t const info = worker_.host_info();
  if (outgrown() > 0) executor_.progress_.stop();
  if (outgrown() > 0) throw Stopped();
  if (info == 0) return;
  STRATA_REQUIRE(VendorError, info > 0, "potrf: status ", info, " of tile ", j);
  executor_.breakdown_.store(info);
  executor_.progress_.stop();
  throw Stopped();
}

template <class Exec>
void Executor<Exec>::Stream::solve(Sums const& C, std::int64_t i, std::int64_t j) {
  Precision const form = plan_.working(i, j);
  Operand const L = operand(j, j, form);
  auto& uses = executor_.diagonal_uses_[static_cast<std::size_t>(device_)];
  bool const last = --uses[static_cast<std::size_t>(j)] == 0;
  if (rules_.keeps_diagonal)
    for (Precision const kept : {Precision::fp64, Precision::fp32})
      memory().keep(plan_.key(j, j, kept), !last);
  {
    Span const span = works("trsm", i, j);
    blas_->trsm(Side::Right, Uplo::Lower, Op::Trans, Diag::NonUnit, 1, L.matrix, C.matrix);
  }
  release({&L});
  step();
}

// Round the tile to what it is stored in and send it home.
template <class Exec>
void Executor<Exec>::Stream::close(Sums const& C, Visit const& visit) {
  std::int64_t const i = visit.row, j = visit.col;
  Precision const precision = plan_.stored(i, j);
  double* const behind = trailer(C.stored.data, precision, i, j);
  {
    Span const span = works("round", i, j);
    (*meter_)(C.matrix, i == j, worker_.measure.data());
    write_trailer<Exec>(worker_.exec(), precision, worker_.measure.data(), behind);
    if (!C.in_place)
      blas_->convert(is_transposed(precision) ? Op::Trans : Op::NoTrans, C.matrix,
                     stored_tile<Space>(C.stored.data, precision, plan_.rows(i), plan_.rows(j)));
  }
  Mark const rounded = work_.record();
  memory().publish(C.stored.begin, rounded);
  if (!C.in_place) memory().release(C.sums.begin, rounded, true);
  Mark const home = go_home(C.stored.data, i, j, executor_.matrix_.copy_bytes(i, j), rounded);
  step();
  memory().release(C.stored.begin, home);
  executor_.progress_.set(number(i, j), home);
  if (executor_.exchange_)
    executor_.exchange_->finish_visit(executor_.order_.step_of(visit), home, in_.record());
}

template <class Exec>
void Executor<Exec>::Stream::finish_column(std::int64_t j) {
  if (--executor_.unfinished_[static_cast<std::size_t>(j)] > 0 || !executor_.checkpoint_) return;
  executor_.checkpoint_->enqueue([&executor = executor_, j] { executor.write_checkpoint(j); });
}

// Sums that the variant doesn't keep go home and come back.
template <class Exec>
void Executor<Exec>::Stream::bounce(Sums const& C) {
  if (rules_.keeps_sums) return;
  out_.wait(work_.record());
  {
    Span const span = copies_out(0, 0);
    out_.copy(worker_.scratch.view().data(), C.matrix.data, C.bytes);
  }
  in_.wait(out_.record());
  step();
  {
    Span const span = copies_in("in", 0, 0);
    in_.copy(C.matrix.data, worker_.scratch.view().data(), C.bytes);
  }
  work_.wait(in_.record());
  bytes_out += C.bytes;
  bytes_in += C.bytes;
  step();
}

#define STRATA_INSTANTIATE(Exec) template class Executor<Exec>::Stream;
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc::detail
