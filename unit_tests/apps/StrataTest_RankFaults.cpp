// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong on one rank alone, or differs from the machine: loaded before the program
// (LD_PRELOAD, MPI's profiling interface) and as a Kokkos tool (KOKKOS_TOOLS_LIBS). By environment
// variables, each of which may be missing:
//   STRATATEST_MPI=R:CALL:K     rank R's K-th CALL returns an error without having done anything
//   STRATATEST_NEW=R:CALL:K     the first operator new after rank R's K-th CALL throws
//   STRATATEST_KERNEL=R:TEXT:K  the K-th launch on rank R of a kernel with TEXT in its label
//                               throws, as Kokkos does where a vendor's call fails
//   STRATATEST_RANKS_PER_HOST=N ranks share memory with N - 1 others at most
//   STRATATEST_THREADS=single   MPI has one thread
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

namespace {

/// "rank:name:number" of an environment variable.
struct Fault {
  int rank = -1;
  std::string name;
  long number = 0, count = 0;

  explicit Fault(char const* variable) {
    char const* const value = std::getenv(variable);
    if (!value) return;
    std::string const text(value);
    auto const first = text.find(':'), last = text.rfind(':');
    rank = std::stoi(text.substr(0, first));
    name = text.substr(first + 1, last - first - 1);
    number = std::stol(text.substr(last + 1));
  }
  /// Whether this is the one that goes wrong.
  bool now() {
    int initialised = 0, own = -1;
    MPI_Initialized(&initialised);
    if (!initialised) return false;
    PMPI_Comm_rank(MPI_COMM_WORLD, &own);
    return own == rank && ++count == number;
  }
};

// At the first use, as kernels and calls may come before this library's static objects are made.
Fault& mpi_fault() {
  static Fault fault("STRATATEST_MPI");
  return fault;
}
Fault& new_fault() {
  static Fault fault("STRATATEST_NEW");
  return fault;
}
Fault& kernel_fault() {
  static Fault fault("STRATATEST_KERNEL");
  return fault;
}

bool next_new_throws = false;

int after(char const* call, int (*real)(void const*), void const* arguments) {
  if (new_fault().name == call && new_fault().now()) next_new_throws = true;
  if (mpi_fault().name == call && mpi_fault().now()) return MPI_ERR_INTERN;
  return real(arguments);
}

template <class Work>
int called(char const* call, Work const& work) {
  return after(call, [](void const* self) { return (*static_cast<Work const*>(self))(); }, &work);
}

int number_of(char const* variable) {
  char const* const value = std::getenv(variable);
  return value ? std::atoi(value) : 0;
}

// Out of line: a CUDA compiler takes `operator new` for the device's, too.
void* allocate(std::size_t size) {
  void* const memory = next_new_throws ? nullptr : std::malloc(size > 0 ? size : 1);
  next_new_throws = false;
  return memory ? memory : throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" {

int MPI_Allreduce(void const* send, void* receive, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm comm) {
  return called("MPI_Allreduce",
                [&] { return PMPI_Allreduce(send, receive, count, type, operation, comm); });
}
int MPI_Isend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return called("MPI_Isend", [&] { return PMPI_Isend(data, count, type, to, tag, comm, request); });
}
int MPI_Issend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return called("MPI_Issend",
                [&] { return PMPI_Issend(data, count, type, to, tag, comm, request); });
}
int MPI_Testsome(int count, MPI_Request* requests, int* ended, int* which, MPI_Status* statuses) {
  return called("MPI_Testsome",
                [&] { return PMPI_Testsome(count, requests, ended, which, statuses); });
}
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return called("MPI_Bcast", [&] { return PMPI_Bcast(data, count, type, root, comm); });
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return called("MPI_Irecv",
                [&] { return PMPI_Irecv(data, count, type, from, tag, comm, request); });
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  return called("MPI_Waitall", [&] { return PMPI_Waitall(count, requests, statuses); });
}
int MPI_Alltoallv(void const* send, int const* sent, int const* sent_at, MPI_Datatype sent_type,
                  void* receive, int const* got, int const* got_at, MPI_Datatype got_type,
                  MPI_Comm comm) {
  return called("MPI_Alltoallv", [&] {
    return PMPI_Alltoallv(send, sent, sent_at, sent_type, receive, got, got_at, got_type, comm);
  });
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  return called("MPI_Comm_dup", [&] { return PMPI_Comm_dup(comm, copy); });
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* part) {
  int const ranks = number_of("STRATATEST_RANKS_PER_HOST");
  if (ranks == 0) return PMPI_Comm_split_type(comm, type, key, info, part);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return PMPI_Comm_split(comm, rank / ranks, key, part);
}
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  int const status = PMPI_Init_thread(argc, argv, required, provided);
  if (std::getenv("STRATATEST_THREADS")) *provided = MPI_THREAD_SINGLE;
  return status;
}

void kokkosp_begin_parallel_for(char const* label, std::uint32_t, std::uint64_t*) {
  auto& fault = kernel_fault();
  if (fault.rank < 0 || std::string(label).find(fault.name) == std::string::npos) return;
  if (fault.now())
    throw std::runtime_error("cudaGraphInstantiate( &graph, ... ) error( cudaErrorUnknown )");
}

}  // extern "C"
