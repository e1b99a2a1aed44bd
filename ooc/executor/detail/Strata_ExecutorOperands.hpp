// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_EXECUTOR_DETAIL_EXECUTOR_OPERANDS_HPP
#define STRATA_OOC_EXECUTOR_DETAIL_EXECUTOR_OPERANDS_HPP

#include <ooc/executor/detail/Strata_ExecutorStream.hpp>

// How a stream gets its tiles (Algorithm 3): from its device, from another, from the host, or by
// rounding one that is there.
namespace strata::ooc::detail {

template <class Exec>
auto Executor<Exec>::Stream::operand(std::int64_t i, std::int64_t k, Precision form) -> Operand {
  Operand result;
  if (plan_.is_stored(i, k, form)) {
    result.hold = fetch(i, k, true);
  } else {
    result.hold = memory().acquire(plan_.key(i, k, form), plan_.units(form), executor_.progress_);
    for (Mark const& mark : result.hold.before) work_.wait(mark);
    if (result.hold.fresh) cast(result.hold, i, k, form);
  }
  if (moduli_of(form) > 0) return result;
  result.matrix = stored_tile<Space>(result.hold.data, form, plan_.rows(i), plan_.rows(k));
  result.op = is_transposed(form) ? Op::Trans : Op::NoTrans;
  return result;
}

// The tile as it is stored; the work lane waits until it is there.
template <class Exec>
auto Executor<Exec>::Stream::fetch(std::int64_t i, std::int64_t k, bool planned) -> Hold {
  if (is_at_home(i, k)) {
    work_.wait(executor_.progress_.mark(number(i, k)));  // of the stream that made it
    return at_home(i, k);
  }
  Precision const precision = plan_.stored(i, k);
  Hold hold = memory().acquire(plan_.key(i, k, precision), plan_.units(precision),
                               executor_.progress_, planned);
  if (!hold.fresh) {
    for (Mark const& mark : hold.before) work_.wait(mark);
    return hold;
  }
  work_.wait(load(hold, i, k));
  step();
  return hold;
}

// Room for the tile, to be written.
template <class Exec>
auto Executor<Exec>::Stream::room_for(std::int64_t i, std::int64_t j) -> Hold {
  if (is_at_home(i, j)) return at_home(i, j);
  Precision const precision = plan_.stored(i, j);
  Hold hold =
      memory().acquire(plan_.key(i, j, precision), plan_.units(precision), executor_.progress_);
  for (Mark const& mark : hold.before) work_.wait(mark);
  if (hold.fresh) memory().publish(hold.begin, work_.record());
  return hold;
}

// Fill the slot from the device that made the tile, if it still has it, or from where the tile is
// stored.
template <class Exec>
auto Executor<Exec>::Stream::load(Hold const& hold, std::int64_t i, std::int64_t k) -> Mark {
  std::size_t const bytes = executor_.matrix_.copy_bytes(i, k);
  for (Mark const& mark : hold.before) in_.wait(mark);
  bool const final = executor_.progress_.is_final(number(i, k));
  int const maker = executor_.makers_[number(i, k)];
  std::optional<Hold> lent;
  if (final && maker >= 0 &&
      executor_.linked_[static_cast<std::size_t>(device_)][static_cast<std::size_t>(maker)])
    lent = executor_.memories_[static_cast<std::size_t>(maker)]->borrow(
        plan_.key(i, k, plan_.stored(i, k)));
  if (lent) {
    for (Mark const& mark : lent->before) in_.wait(mark);
    Span const span = copies_in("peer", i, k);
    in_.copy(hold.data, lent->data, bytes);
    bytes_peer += bytes;
  } else {
    in_.wait(executor_.progress_.mark(number(i, k)));
    bool const is_peer = executor_.matrix_.has_tile(i, k) && executor_.is_on_devices();
    Span const span = copies_in(is_peer ? "peer" : "in", i, k);
    in_.copy(hold.data, executor_.data(i, k), bytes);
    (is_peer ? bytes_peer : bytes_in) += bytes;
  }
  Mark const there = in_.record();
  if (lent) executor_.memories_[static_cast<std::size_t>(maker)]->release(lent->begin, there);
  memory().publish(hold.begin, there);
  return there;
}

// Fill the slot by rounding the stored tile.
template <class Exec>
void Executor<Exec>::Stream::cast(Hold const& hold, std::int64_t i, std::int64_t k,
                                  Precision form) {
  if (moduli_of(form) > 0) return make_integers(hold, i, k);
  Precision const precision = plan_.stored(i, k);
  Hold const source = fetch(i, k, false);
  auto const from = stored_tile<Space>(source.data, precision, plan_.rows(i), plan_.rows(k));
  auto const to = stored_tile<Space>(hold.data, form, plan_.rows(i), plan_.rows(k));
  bool const turn = is_transposed(precision) != is_transposed(form);
  {
    Span const span = works("cast", i, k);
    copy_trailer<Exec>(worker_.exec(), form, trailer(source.data, precision, i, k),
                       trailer(hold.data, form, i, k));
    blas_->convert(turn ? Op::Trans : Op::NoTrans, from, to);
  }
  Mark const made = work_.record();
  memory().release(source.begin, made);
  memory().publish(hold.begin, made);
  step();
}

// Fetch a tile before it is asked for, where that costs nothing that is needed sooner. Nothing is
// fetched where the form that will be asked for is there.
template <class Exec>
void Executor<Exec>::Stream::prefetch(std::int64_t i, std::int64_t k, Precision form) {
  if (is_at_home(i, k) || memory().holds(plan_.key(i, k, form))) return;
  Precision const precision = plan_.stored(i, k);
  auto const hold = memory().prefetch(plan_.key(i, k, precision), plan_.units(precision));
  if (hold) memory().release(hold->begin, load(*hold, i, k));
}

template <class Exec>
void Executor<Exec>::Stream::look_ahead(Visit const& visit, std::int64_t k, Visit const* next) {
  if (!rules_.fetches_ahead) return;
  std::int64_t const last = k + executor_.options_.lookahead;
  for (std::int64_t ahead = k + 1; ahead <= last && ahead < visit.last; ++ahead) {
    Precision const form = plan_.product(visit.row, visit.col, ahead);
    for (std::int64_t const row : {visit.row, visit.col})
      if (executor_.progress_.is_final(number(row, ahead)) &&
          (moduli_of(form) > 0 || plan_.is_stored(row, ahead, form)))
        prefetch(row, ahead, form);
  }
  // sums of a low tile are not the tile; those that nobody has yet are none
  bool const is_there = next && (next->first == 0 || plan_.in_place(next->row, next->col)) &&
                        executor_.progress_.updates(number(next->row, next->col)) == next->first;
  if (last >= visit.last && is_there)
    prefetch(next->row, next->col, plan_.stored(next->row, next->col));
}

}  // namespace strata::ooc::detail

#endif
