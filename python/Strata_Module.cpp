// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// The extension strata._core: exceptions, the version, what both ends of a process' life need.
#include <c/runtime/Strata_Runtime.hpp>
#include <core/Strata_Config.hpp>
#include <python/detail/Strata_Bind.hpp>
#include <python/detail/Strata_BindSolveEach.hpp>
#include <python/detail/Strata_BindSymmetric.hpp>
#include <python/detail/Strata_Dlpack.hpp>
#include <python/detail/Strata_Work.hpp>

#include <nanobind/stl/pair.h>

#include <exception>
#include <new>

namespace strata::python {

NotPositiveDefinite::NotPositiveDefinite(std::int64_t order)
    : Error(c::not_positive_definite_text(order)), minor_order(order) {}

namespace {

// The class of that name in strata._errors, raised with this text.
void raise(char const* name, char const* text) {
  nb::object const type = nb::module_::import_("strata._errors").attr(name);
  PyErr_SetString(type.ptr(), text);
}

// It is made by Python's code, which Ctrl-C may interrupt.
void raise_not_positive_definite(NotPositiveDefinite const& error) {
  nb::object const type = nb::module_::import_("strata._errors").attr("NotPositiveDefinite");
  try {
    nb::object const value = type(nb::str(error.what()), error.minor_order);
    PyErr_SetObject(type.ptr(), value.ptr());
  } catch (nb::python_error& interrupted) {
    interrupted.restore();
  }
}

void translate(std::exception_ptr const& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (NotPositiveDefinite const& error) {
    raise_not_positive_definite(error);
  } catch (c::NotReady const& error) {
    raise("NotReady", error.what());
  } catch (ShapeError const& error) {
    raise("ShapeError", error.what());
  } catch (ValueError const& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (IoError const& error) {
    raise("IoError", error.what());
  } catch (MemoryError const& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (VendorError const& error) {
    raise("VendorError", error.what());
  } catch (Error const& error) {
    raise("Error", error.what());
  } catch (nb::python_error&) {
    throw;
  } catch (nb::builtin_exception const&) {
    throw;
  } catch (std::bad_alloc const&) {
    throw;
  } catch (std::exception const& error) {
    if (!c::is_allocation_failure(error)) throw;
    PyErr_SetString(PyExc_MemoryError, error.what());
  }
}

}  // namespace

NB_MODULE(_core, m) {
  nb::set_leak_warnings(
      false);  // what lives until the process ends is no leak, and a library prints nothing
  nb::register_exception_translator(translate);
  m.attr("version") = STRATA_VERSION_STRING;
  m.def("configuration", &c::configuration_line,
        "One line: version, commit, compiler, Kokkos and its backends, the vendors' libraries.");
  m.def("end_work", &detail::end_work,
        "Before Python ends: until work on other threads has ended.");
  m.def(
      "seconds_of_work", [] { return detail::seconds_of_work(); },
      "Seconds of this thread's last call, in C++ alone.");
  m.def("unversioned", &detail::unversioned, nb::arg("capsule"),
        "A capsule of DLPack as before version 1, and whether it is read-only.");
  m.def("forget_work", &detail::forget_work, "In a forked process, which does not have it.");
  bind_dense(m);
  bind_symmetric(m);
  bind_solve_each(m);
  bind_geostat(m);
  bind_ooc(m);
  bind_sparse(m);
}

}  // namespace strata::python
