// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_SAME_ON_RANKS_HPP
#define STRATA_APPS_SAME_ON_RANKS_HPP

namespace CLI {
class App;
}

namespace strata {
class Communicator;
}

namespace strata::apps {

/// Compare what the ranks were started with, before they work together: the program, the command,
/// its options, also from --config, and the files that it reads.
///
/// Files are compared by their size and contents, of more than 16 MiB a sample of them; names may
/// differ, as hosts have their own disks. Of results and folders is compared whether they are asked
/// for. A file that a rank can't read is not compared: the reader says what is wrong. Collective.
///
/// Throws   AgreedUsageError on all ranks: the first that differs, its ranks and both values.
void require_same_on_ranks(Communicator const& comm, CLI::App const& program);

/// Whether a launcher started this process as one of several, by the environment of Open MPI, MPICH
/// and Slurm.
bool is_one_of_several();

}  // namespace strata::apps

#endif
