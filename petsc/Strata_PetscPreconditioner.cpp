// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A preconditioner of PETSc: strata.h behind PETSc's PCSHELL, which needs no header that PETSc does
// not install.
#include <petscksp.h>
#include <strata.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

static_assert(sizeof(PetscScalar) == sizeof(double) && sizeof(PetscReal) == sizeof(double),
              "libstrata_petsc is for PETSc with real numbers in fp64");

namespace {

/// What a PC of this type holds.
struct Context {
  strata_sparse* solver = nullptr;
  PetscObjectState pattern = -1;
  std::string preconditioner, precision;
  PetscInt block_size = 0;
};

/// This rank's rows of a matrix.
struct LocalRows {
  std::vector<std::int64_t> begin{0}, column;
  std::vector<double> value;
};

PetscErrorCode fail(strata_status status) {
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "Strata: %s: %s", strata_status_name(status),
          strata_message());
}

PetscErrorCode copy_rows(Mat A, LocalRows& rows) {
  PetscFunctionBeginUser;
  PetscInt first, end;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first; i < end; ++i) {
    PetscInt count;
    PetscInt const* column;
    PetscScalar const* value;
    PetscCall(MatGetRow(A, i, &count, &column, &value));
    rows.column.insert(rows.column.end(), column, column + count);
    rows.value.insert(rows.value.end(), value, value + count);
    rows.begin.push_back(static_cast<std::int64_t>(rows.column.size()));
    PetscCall(MatRestoreRow(A, i, &count, &column, &value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_up(PC pc) {
  PetscFunctionBeginUser;
  Context* context = nullptr;
  PetscCall(PCShellGetContext(pc, &context));
  Mat P;
  PetscCall(PCGetOperators(pc, nullptr, &P));
  PetscInt rows, columns;
  PetscCall(MatGetSize(P, &rows, &columns));
  PetscCheck(rows == columns, PetscObjectComm(reinterpret_cast<PetscObject>(pc)), PETSC_ERR_ARG_SIZ,
             "Strata: a matrix of %" PetscInt_FMT " x %" PetscInt_FMT, rows, columns);
  LocalRows local;
  PetscCall(copy_rows(P, local));
  PetscObjectState pattern;
  PetscCall(MatGetNonzeroState(P, &pattern));
  if (context->solver != nullptr && pattern == context->pattern) {
    strata_status const status = strata_sparse_update(
        context->solver, static_cast<std::int64_t>(local.value.size()), local.value.data());
    if (status != STRATA_SUCCESS) return fail(status);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  strata_sparse_destroy(context->solver);
  context->solver = nullptr;
  strata_sparse_options options{};
  options.struct_size = sizeof options;
  options.preconditioner =
      context->preconditioner.empty() ? nullptr : context->preconditioner.c_str();
  options.precision = context->precision.empty() ? nullptr : context->precision.c_str();
  options.block_size = context->block_size;
  options.preconditioner_only = 1;
  MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(pc));
  PetscMPIInt ranks;
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  if (ranks > 1) options.mpi_comm = &comm;
  strata_status const status =
      strata_sparse_set_up(static_cast<std::int64_t>(local.begin.size()) - 1, local.begin.data(),
                           local.column.data(), local.value.data(), &options, &context->solver);
  if (status != STRATA_SUCCESS) return fail(status);
  context->pattern = pattern;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode apply(PC pc, Vec r, Vec z) {
  PetscFunctionBeginUser;
  Context* context = nullptr;
  PetscCall(PCShellGetContext(pc, &context));
  PetscScalar const* in;
  PetscScalar* out;
  PetscCall(VecGetArrayRead(r, &in));
  PetscCall(VecGetArrayWrite(z, &out));
  strata_status const status = strata_sparse_precondition(context->solver, in, out);
  PetscCall(VecRestoreArrayWrite(z, &out));
  PetscCall(VecRestoreArrayRead(r, &in));
  if (status != STRATA_SUCCESS) return fail(status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode view(PC pc, PetscViewer viewer) {
  PetscFunctionBeginUser;
  Context* context = nullptr;
  PetscCall(PCShellGetContext(pc, &context));
  PetscCall(PetscViewerASCIIPrintf(
      viewer, "  Strata %s, %s in %s\n", strata_version(),
      context->preconditioner.empty() ? "amg" : context->preconditioner.c_str(),
      context->precision.empty() ? "fp32" : context->precision.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode destroy(PC pc) {
  PetscFunctionBeginUser;
  Context* context = nullptr;
  PetscCall(PCShellGetContext(pc, &context));
  if (context != nullptr) strata_sparse_destroy(context->solver);
  delete context;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode read_name(PC pc, char const* option, std::string& name) {
  PetscFunctionBeginUser;
  char const* prefix;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  char text[64];
  PetscBool given;
  PetscCall(PetscOptionsGetString(nullptr, prefix, option, text, sizeof text, &given));
  if (given) name = text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc calls it for -pc_type strata.
PetscErrorCode create(PC pc) {
  PetscFunctionBeginUser;
  PetscCall(PCSetType(pc, PCSHELL));
  auto* const context = new Context;
  PetscCall(PCShellSetContext(pc, context));
  PetscCall(PCShellSetName(pc, "strata"));
  PetscCall(PCShellSetSetUp(pc, set_up));
  PetscCall(PCShellSetApply(pc, apply));
  PetscCall(PCShellSetView(pc, view));
  PetscCall(PCShellSetDestroy(pc, destroy));
  PetscCall(read_name(pc, "-pc_strata_preconditioner", context->preconditioner));
  PetscCall(read_name(pc, "-pc_strata_precision", context->precision));
  char const* prefix;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(
      PetscOptionsGetInt(nullptr, prefix, "-pc_strata_block_size", &context->block_size, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace

// PETSc calls it when it has loaded this library.
extern "C" __attribute__((visibility("default"))) PetscErrorCode
PetscDLLibraryRegister_strata_petsc() {
  PetscFunctionBeginUser;
  PetscCall(PCRegister("strata", create));
  PetscFunctionReturn(PETSC_SUCCESS);
}
