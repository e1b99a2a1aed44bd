// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <python/detail/Strata_Dlpack.hpp>

#include <core/Strata_Errors.hpp>

#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>

namespace strata::python::detail {

namespace {

constexpr char const *versioned_name = "dltensor_versioned", *name = "dltensor";
constexpr std::uint64_t read_only = 1;

struct Versioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  nb::dlpack::dltensor tensor;
};

struct Unversioned {
  nb::dlpack::dltensor tensor;
  void* context;  // the Versioned
  void (*deleter)(Unversioned*);
};

void release(Unversioned* tensor) {
  auto* const from = static_cast<Versioned*>(tensor->context);
  if (from->deleter != nullptr) from->deleter(from);
  delete tensor;
}

void release_unused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;  // somebody else will
  release(static_cast<Unversioned*>(PyCapsule_GetPointer(capsule, name)));
}

}  // namespace

std::pair<nb::object, bool> unversioned(nb::object const& capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), versioned_name) == 0) return {capsule, false};
  auto* const from = static_cast<Versioned*>(PyCapsule_GetPointer(capsule.ptr(), versioned_name));
  if (from->major != 1)
    throw nb::buffer_error(strata::detail::message("a capsule of DLPack ", from->major, ".",
                                                   from->minor, ", must be of version 1")
                               .c_str());
  auto tensor = std::make_unique<Unversioned>(from->tensor, from, &release);
  nb::object const result = nb::steal(PyCapsule_New(tensor.get(), name, &release_unused));
  if (!result.is_valid()) throw nb::python_error();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
  PyCapsule_SetDestructor(capsule.ptr(), nullptr);
  tensor.release();
  return {result, (from->flags & read_only) != 0};
}

}  // namespace strata::python::detail
