// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <comm/Strata_Communicator.hpp>

#include <comm/Strata_Mpi.hpp>
#include <core/Strata_Errors.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>
#include <string>

namespace strata {

#ifdef STRATA_ENABLE_MPI

// MPICH's text has a line for each option that it was configured with.
std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0, version = 0, subversion = 0;
  MPI_Get_library_version(text.data(), &length);
  MPI_Get_version(&version, &subversion);
  std::string name(text.data());
  name.resize(std::min(name.find_first_of(",\n"), name.size()));
  std::ranges::replace(name, '\t', ' ');
  return detail::message(name, ", MPI ", version, '.', subversion);
}

namespace detail {
void check_mpi(int status, char const* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw VendorError(
      strata::detail::message(call, ": ", std::string(text, static_cast<std::size_t>(length))));
}
}  // namespace detail

using detail::check_mpi;

struct Communicator::Handle {
  MPI_Comm comm;
  ~Handle() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) MPI_Comm_free(&comm);
  }
};

Communicator::Communicator(MPI_Comm caller) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(caller, &duplicate), "MPI_Comm_dup");
  handle_ = std::make_shared<Handle>(duplicate);
  check_mpi(MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(duplicate, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(duplicate, &size_), "MPI_Comm_size");
}

MPI_Comm Communicator::mpi() const { return handle_ ? handle_->comm : MPI_COMM_NULL; }

void Communicator::sum(std::span<double> values) const {
  if (size_ == 1) return;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                          MPI_SUM, mpi()),
            "MPI_Allreduce");
}

double Communicator::max(double value) const {
  if (size_ > 1)
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, mpi()), "MPI_Allreduce");
  return value;
}

void Communicator::broadcast(std::span<double> values, int root) const {
  constexpr std::size_t most = 1 << 30;  // at a time: MPI counts to 2^31
  if (size_ == 1) return;
  for (std::size_t begin = 0; begin < values.size(); begin += most)
    check_mpi(
        MPI_Bcast(values.data() + begin, static_cast<int>(std::min(most, values.size() - begin)),
                  MPI_DOUBLE, root, mpi()),
        "MPI_Bcast");
}

std::vector<std::int64_t> Communicator::gather(std::int64_t value) const {
  std::vector<std::int64_t> all(static_cast<std::size_t>(size_), value);
  if (size_ > 1)
    check_mpi(MPI_Allgather(&value, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, mpi()),
              "MPI_Allgather");
  return all;
}

namespace {

enum class Kind : int { Shape, Value, Io, Memory, Vendor, Other };

struct Failure {
  Kind kind = Kind::Other;
  std::string text;
};

template <class Base>
struct Agreed final : Base, AgreedError {
  using Base::Base;
};

// The failure of an exception. Its text names the rank, unless ranks have agreed on the exception
// and so named the rank before.
Failure failure_of(std::exception_ptr const& exception, int rank) {
  auto const failure = [&](Kind kind, std::exception const& error) -> Failure {
    if (is_agreed(error)) return {kind, error.what()};
    return {kind, strata::detail::message("rank ", rank, ": ", error.what())};
  };
  try {
    std::rethrow_exception(exception);
  } catch (ShapeError const& error) {
    return failure(Kind::Shape, error);
  } catch (ValueError const& error) {
    return failure(Kind::Value, error);
  } catch (IoError const& error) {
    return failure(Kind::Io, error);
  } catch (MemoryError const& error) {
    return failure(Kind::Memory, error);
  } catch (VendorError const& error) {
    return failure(Kind::Vendor, error);
  } catch (std::exception const& error) {
    return failure(Kind::Other, error);
  } catch (...) {
    return {Kind::Other, strata::detail::message("rank ", rank, ": unknown exception")};
  }
}

[[noreturn]] void raise(Failure const& failure) {
  switch (failure.kind) {
    case Kind::Shape:
      throw Agreed<ShapeError>(failure.text);
    case Kind::Value:
      throw Agreed<ValueError>(failure.text);
    case Kind::Io:
      throw Agreed<IoError>(failure.text);
    case Kind::Memory:
      throw Agreed<MemoryError>(failure.text);
    case Kind::Vendor:
      throw Agreed<VendorError>(failure.text);
    case Kind::Other:
      break;
  }
  throw Agreed<Error>(failure.text);
}

}  // namespace

namespace {

// The positions of consecutive parts, the end included.
std::vector<int> positions_of(std::vector<int> const& counts) {
  std::vector<int> positions(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), positions.begin() + 1);
  return positions;
}

std::int64_t sum_of(std::vector<int> const& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t(0));
}

void require_countable(Communicator const& comm, std::int64_t numbers) {
  double const most = comm.max(static_cast<double>(numbers));
  if (most < 0x1p31) return;
  raise({Kind::Value, strata::detail::message("messages of ", most, " numbers on a rank: MPI ",
                                              "counts to 2^31; take more ranks")});
}

// How many numbers each rank gives to all.
std::vector<int> counts_of(Communicator const& comm, std::size_t own) {
  std::vector<int> counts;
  std::int64_t total = 0;
  for (auto const count : comm.gather(static_cast<std::int64_t>(own))) {
    total += count;
    counts.push_back(static_cast<int>(std::min<std::int64_t>(count, 1 << 30)));
  }
  require_countable(comm, total);
  return counts;
}

}  // namespace

std::vector<double> Communicator::gather(std::span<double const> values) const {
  if (size_ == 1) return {values.begin(), values.end()};
  auto const counts = counts_of(*this, values.size());
  std::vector<double> all(static_cast<std::size_t>(sum_of(counts)));
  check_mpi(MPI_Allgatherv(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, all.data(),
                           counts.data(), positions_of(counts).data(), MPI_DOUBLE, mpi()),
            "MPI_Allgatherv");
  return all;
}

std::vector<std::string> Communicator::gather_text(std::string const& text) const {
  if (size_ == 1) return {text};
  auto const counts = counts_of(*this, text.size());
  auto const from = positions_of(counts);
  std::string all(rank_ == 0 ? static_cast<std::size_t>(sum_of(counts)) : 0, ' ');
  check_mpi(MPI_Gatherv(text.data(), static_cast<int>(text.size()), MPI_CHAR, all.data(),
                        counts.data(), from.data(), MPI_CHAR, 0, mpi()),
            "MPI_Gatherv");
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank_ == 0 && rank < counts.size(); ++rank)
    texts.push_back(
        all.substr(static_cast<std::size_t>(from[rank]), static_cast<std::size_t>(counts[rank])));
  return texts;
}

std::vector<std::vector<double>> Communicator::exchange(std::vector<std::vector<double>> to) const {
  if (size_ == 1) return to;
  std::size_t longest = 0;
  std::vector<int> sent, got(to.size());
  for (auto const& part : to) {
    longest = std::max(longest, part.size());
    sent.push_back(static_cast<int>(std::min<std::size_t>(part.size(), 1 << 30)));
  }
  require_countable(*this, static_cast<std::int64_t>(longest));
  check_mpi(MPI_Alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, mpi()), "MPI_Alltoall");
  require_countable(*this, std::max(sum_of(sent), sum_of(got)));
  std::vector<double> out, in;
  agree([&] {
    in.resize(static_cast<std::size_t>(sum_of(got)));
    out.reserve(static_cast<std::size_t>(sum_of(sent)));
    for (auto const& part : to) out.insert(out.end(), part.begin(), part.end());
  });
  auto const from = positions_of(got);
  check_mpi(MPI_Alltoallv(out.data(), sent.data(), positions_of(sent).data(), MPI_DOUBLE, in.data(),
                          got.data(), from.data(), MPI_DOUBLE, mpi()),
            "MPI_Alltoallv");
  agree([&] {
    for (std::size_t rank = 0; rank < to.size(); ++rank)
      to[rank].assign(in.begin() + from[rank], in.begin() + from[rank + 1]);
  });
  return to;
}

void Communicator::send_receive(std::span<double const> out, int to, std::span<double> in,
                                int from) const {
  constexpr std::size_t most = 1 << 30;  // at a time: MPI counts to 2^31
  constexpr int tag = 20;
  if (size_ == 1) {
    std::ranges::copy(out, in.begin());
    return;
  }
  for (std::size_t begin = 0; begin < std::max(out.size(), in.size()); begin += most) {
    auto const part = [&](auto all) {
      return begin < all.size() ? all.subspan(begin, std::min(most, all.size() - begin))
                                : all.first(0);
    };
    auto const sent = part(out);
    auto const received = part(in);
    check_mpi(MPI_Sendrecv(sent.data(), static_cast<int>(sent.size()), MPI_DOUBLE,
                           sent.empty() ? MPI_PROC_NULL : to, tag, received.data(),
                           static_cast<int>(received.size()), MPI_DOUBLE,
                           received.empty() ? MPI_PROC_NULL : from, tag, mpi(), MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
  }
}

void Communicator::barrier() const {
  if (size_ > 1) check_mpi(MPI_Barrier(mpi()), "MPI_Barrier");
}

std::vector<int> Communicator::hosts() const {
  std::vector<int> lowest(1, 0);
  if (size_ == 1) return lowest;
  MPI_Comm host = MPI_COMM_NULL;
  int first = rank_;
  check_mpi(MPI_Comm_split_type(mpi(), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host),
            "MPI_Comm_split_type");
  check_mpi(MPI_Bcast(&first, 1, MPI_INT, 0, host), "MPI_Bcast");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  lowest.clear();
  for (auto const rank : gather(first)) lowest.push_back(static_cast<int>(rank));
  return lowest;
}

std::optional<Communicator> Communicator::first(int ranks) const {
  if (ranks >= size_) return *this;
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(mpi(), rank_ < ranks ? 0 : MPI_UNDEFINED, rank_, &part),
            "MPI_Comm_split");
  if (part == MPI_COMM_NULL) return std::nullopt;
  Communicator result(part);
  check_mpi(MPI_Comm_free(&part), "MPI_Comm_free");
  return result;
}

void Communicator::agree_void(std::function<void()> const& local) const {
  if (size_ == 1) return local();
  std::exception_ptr mine;
  try {
    local();
  } catch (...) {
    mine = std::current_exception();
  }
  int lowest = mine ? rank_ : size_;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, mpi()), "MPI_Allreduce");
  if (lowest == size_) return;
  Failure failure;
  if (lowest == rank_) failure = failure_of(mine, rank_);
  int header[2] = {static_cast<int>(failure.kind), static_cast<int>(failure.text.size())};
  check_mpi(MPI_Bcast(header, 2, MPI_INT, lowest, mpi()), "MPI_Bcast");
  failure.kind = static_cast<Kind>(header[0]);
  failure.text.resize(static_cast<std::size_t>(header[1]));
  check_mpi(MPI_Bcast(failure.text.data(), header[1], MPI_CHAR, lowest, mpi()), "MPI_Bcast");
  raise(failure);
}

#else

std::string mpi_library() { return "none"; }
struct Communicator::Handle {};
void Communicator::sum(std::span<double>) const {}
double Communicator::max(double value) const { return value; }
void Communicator::broadcast(std::span<double>, int) const {}
std::vector<std::int64_t> Communicator::gather(std::int64_t value) const { return {value}; }
std::vector<double> Communicator::gather(std::span<double const> values) const {
  return {values.begin(), values.end()};
}
std::vector<std::string> Communicator::gather_text(std::string const& text) const { return {text}; }
std::vector<std::vector<double>> Communicator::exchange(std::vector<std::vector<double>> to) const {
  return to;
}
void Communicator::send_receive(std::span<double const> out, int, std::span<double> in, int) const {
  std::ranges::copy(out, in.begin());
}
void Communicator::barrier() const {}
std::vector<int> Communicator::hosts() const { return {0}; }
std::optional<Communicator> Communicator::first(int) const { return *this; }
void Communicator::agree_void(std::function<void()> const& local) const { local(); }

#endif

}  // namespace strata
