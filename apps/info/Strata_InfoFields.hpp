// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_APPS_INFO_FIELDS_HPP
#define STRATA_APPS_INFO_FIELDS_HPP

#include <apps/document/Strata_Document.hpp>
#include <core/Strata_Fields.hpp>
#include <core/info/Strata_Version.hpp>

#include <string>
#include <tuple>

namespace strata {

/// What is told of the BLAS' threads.
constexpr auto fields_of(BlasThreading const*) {
  using B = BlasThreading;
  return std::tuple(
      Field("most", &B::most, "Most threads for one product; 1 where the kind is unknown.",
            {.schema = R"("minimum": 1)"}),
      Field("kind", &B::kind,
            "Kind: pthreads, OpenMP, oneMKL, none, or unknown for a BLAS that can't be told."),
      Field("source", &B::source, "Environment variable that says so; empty: the library itself."));
}

/// What is told of the processors.
constexpr auto fields_of(Host const*) {
  using H = Host;
  return std::tuple(
      Field("model", &H::model, "Name of the processor, or its architecture."),
      Field("cores", &H::cores, "Number of logical processors that the process may run on.",
            {.schema = R"("minimum": 1)"}),
      Field("memory_bytes", &H::memory_bytes, "Physical memory.", {.unit = "byte"}),
      Field("memory_available_bytes", &H::memory_available_bytes,
            "Memory that the process can take without swapping.", {.unit = "byte"}),
      Field("matrix_units", &H::matrix_units,
            "Matrix units that the processor has and the system lets programs use, such as "
            "amx_bf16."));
}

/// What is told of a GPU.
constexpr auto fields_of(Accelerator const*) {
  using A = Accelerator;
  return std::tuple(
      Field("id", &A::id, "Number that the backend has for the GPU."),
      Field("backend", &A::backend, "Cuda or HIP."),
      Field("name", &A::name, "Name, such as NVIDIA H200."),
      Field("architecture", &A::architecture, "Architecture, such as sm_90 or gfx942."),
      Field("memory_bytes", &A::memory_bytes, "Memory in all.", {.unit = "byte"}));
}

/// What is told of processors and GPUs.
constexpr auto fields_of(Devices const*) {
  using D = Devices;
  return std::tuple(Field("host", &D::host, "The machine's own processors."),
                    Field("accelerators", &D::accelerators, "GPUs that the process can see."));
}

namespace apps {

/// This program and its machine.
struct Program {
  Configuration built;                 ///< How the library was built.
  Devices devices;                     ///< What there is to calculate on.
  std::string mpi;                     ///< Library and version.
  std::string default_backend;         ///< Execution space where none is named.
  int concurrency = 1;                 ///< Threads of the default backend.
  std::string nlopt;                   ///< Version of the optimiser, or none.
  std::vector<std::string> not_built;  ///< Parts, each with what goes without it.

  /// Names of libraries and their versions.
  Json libraries() const {
    Json versions = Json::object();
    for (auto const& library : built.libraries) versions[library.name] = library.version;
    return versions;
  }
};
/// The fields of its report.
constexpr auto fields_of(Program const*) {
  using P = Program;
  return std::tuple(
      Field("strata", [](P const& p) { return p.built.version; }, "Strata's version.",
            {.schema = R"("pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+$")"}),
      Field(
          "commit", [](P const& p) { return p.built.commit; },
          "Git commit that was built, or unknown."),
      Field(
          "compiler", [](P const& p) { return p.built.compiler; },
          "Compiler of Strata: name and version."),
      Field(
          "build_type", [](P const& p) { return p.built.build_type; }, "CMake's build type."),
      Field(
          "kokkos", [](P const& p) { return p.built.kokkos; }, "Version of Kokkos."),
      Field(
          "kokkos_kernels", [](P const& p) { return p.built.kokkos_kernels; },
          "Version of Kokkos Kernels."),
      Field("mpi", &P::mpi, "Library of MPI and its version; none: a build without."),
      Field("nlopt", &P::nlopt, "Version of the optimiser of fits; none: a build without."),
      Field("not_built", &P::not_built,
            "Parts that this build does not have, each with what goes without it."),
      Field("libraries", &P::libraries, "Other libraries in use and their versions.",
            {.schema = R"("type": "object", "additionalProperties": {"type": "string"})"}),
      Field(
          "blas_threads", [](P const& p) { return p.built.blas_threads; },
          "Threads of the host's BLAS."),
      Field("backends", [](P const& p) { return p.built.backends; }, "Execution spaces of Kokkos.",
            {.schema = R"("minItems": 1)"}),
      Field("default_backend", &P::default_backend,
            "Execution space that is used where none is named."),
      Field("concurrency", &P::concurrency, "Threads of the default backend at once.",
            {.schema = R"("minimum": 1)"}),
      FieldsOf(&P::devices));
}
/// The program that runs.
Program this_program();

/// The document of `strata info`.
struct InfoDocument {
  Program program;  ///< The program that runs.
};
/// What is told there.
constexpr auto fields_of(InfoDocument const*) {
  using I = InfoDocument;
  return std::tuple(
      Field("schema", [](I const&) { return std::string("strata.info/1"); },
            "Name and version of this schema.", {.schema = R"("const": "strata.info/1")"}),
      FieldsOf(&I::program));
}

}  // namespace apps
}  // namespace strata

#endif
