// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Statuses and messages, the version, the life of Kokkos.
#include <c/strata.h>

#include <c/detail/Strata_Call.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/detail/Strata_Runtime.hpp>
#include <c/vendor/Strata_Pointer.hpp>
#include <core/Strata_Config.hpp>
#include <core/Strata_Version.hpp>
#include <exception>
#include <new>
#include <string_view>

namespace strata::c::detail {

namespace {

std::string& message_of_thread() {
  thread_local std::string text = strata_status_name(STRATA_SUCCESS);
  return text;
}

// Kokkos says by its text alone that it has no memory for a View.
bool is_kokkos_allocation(std::exception const& error) {
  return std::string_view(error.what()).find("failed to allocate") != std::string_view::npos;
}

strata_status status_of(std::exception_ptr const& failure, std::string& text) {
  auto const with = [&text](std::exception const& error, strata_status status) {
    text += error.what();
    return status;
  };
  try {
    std::rethrow_exception(failure);
  } catch (NotReady const& error) {
    return with(error, STRATA_NOT_READY);
  } catch (NotFinite const& error) {
    return with(error, STRATA_NOT_FINITE);
  } catch (WrongArgument const& error) {
    return with(error, STRATA_INVALID_ARGUMENT);
  } catch (ShapeError const& error) {
    return with(error, STRATA_INVALID_ARGUMENT);
  } catch (ValueError const& error) {
    return with(error, STRATA_INVALID_ARGUMENT);
  } catch (MemoryError const& error) {
    return with(error, STRATA_OUT_OF_MEMORY);
  } catch (std::bad_alloc const& error) {
    return with(error, STRATA_OUT_OF_MEMORY);
  } catch (VendorError const& error) {
    return with(error, STRATA_VENDOR_ERROR);
  } catch (std::exception const& error) {
    return with(error, is_kokkos_allocation(error) ? STRATA_OUT_OF_MEMORY : STRATA_INTERNAL_ERROR);
  } catch (...) {
    text += "an exception of unknown type";
    return STRATA_INTERNAL_ERROR;
  }
}

}  // namespace

strata_status status_of_exception(char const* function) noexcept {
  try {
    std::string text = std::string(function) + ": ";
    strata_status const status = status_of(std::current_exception(), text);
    message_of_thread() = std::move(text);
    return status;
  } catch (...) {  // no memory for the text
    return STRATA_OUT_OF_MEMORY;
  }
}

strata_status keep(Outcome const& outcome) noexcept {
  try {
    message_of_thread() =
        outcome.message.empty() ? strata_status_name(outcome.status) : outcome.message;
  } catch (...) {
    return STRATA_OUT_OF_MEMORY;
  }
  return outcome.status;
}

Outcome not_positive_definite(std::int64_t info) {
  return {STRATA_NOT_POSITIVE_DEFINITE,
          strata::detail::message("the leading minor of order ", info,
                                  " is not positive: A is not positive definite, or not symmetric, "
                                  "or holds a NaN")};
}

}  // namespace strata::c::detail

using namespace strata::c::detail;

char const* strata_status_name(int status) {
  switch (status) {
    case STRATA_SUCCESS:
      return "success";
    case STRATA_NOT_POSITIVE_DEFINITE:
      return "not positive definite";
    case STRATA_NOT_CONVERGED:
      return "not converged";
    case STRATA_INVALID_ARGUMENT:
      return "invalid argument";
    case STRATA_NOT_FINITE:
      return "not finite";
    case STRATA_OUT_OF_MEMORY:
      return "out of memory";
    case STRATA_VENDOR_ERROR:
      return "error of a vendor's library";
    case STRATA_NOT_READY:
      return "not ready";
    case STRATA_INTERNAL_ERROR:
      return "internal error";
    default:
      return "unknown status";
  }
}

char const* strata_message(void) {
  try {
    return message_of_thread().c_str();
  } catch (...) {
    return "out of memory";
  }
}

strata_status strata_report_status(strata_status status, char const* message) {
  return call("strata_report_status",
              [&] { return Outcome{status, message == nullptr ? "" : message}; });
}

char const* strata_version(void) { return STRATA_VERSION_STRING; }

char const* strata_configuration(void) {
  try {
    static std::string const text = [] {
      auto const found = strata::configuration();
      std::string line = "Strata " + found.version + " (" + found.commit + "), " + found.compiler +
                         " " + found.build_type + ", Kokkos " + found.kokkos;
      for (auto const& backend : found.backends) line += " " + backend;
      for (auto const& library : found.libraries)
        line += ", " + library.name + " " + library.version;
      return line;
    }();
    return text.c_str();
  } catch (...) {
    return "unknown";
  }
}

strata_status strata_initialize(void) {
  return call("strata_initialize", [] {
    start_kokkos();
    return Outcome{};
  });
}

strata_status strata_finalize(void) {
  return call("strata_finalize", [] {
    stop_kokkos();
    return Outcome{};
  });
}

strata_status strata_check_options(strata_options const* options) {
  return call("strata_check_options", [&] {
    (void)choices(options);
    return Outcome{};
  });
}

int strata_is_device_pointer(void const* pointer) {
  try {
    return strata::c::vendor::is_device_pointer(pointer) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}
