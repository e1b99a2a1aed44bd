// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Statuses and messages, the version, the life of Kokkos.
#include <c/detail/Strata_Call.hpp>
#include <c/detail/Strata_Options.hpp>
#include <c/runtime/Strata_Runtime.hpp>
#include <c/runtime/vendor/Strata_Pointer.hpp>
#include <c/strata.h>
#include <core/Strata_Config.hpp>
#include <core/Strata_EnumNames.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <string_view>
#include <type_traits>

namespace strata::c::detail {

namespace {

// Has no destructor, and so serves until the thread's last one has run.
struct Message {
  static constexpr std::size_t most = 2048;
  char text[most];  // empty: success

  void set(std::initializer_list<std::string_view> parts) noexcept {
    std::size_t used = 0;
    for (std::string_view const part : parts) {
      std::size_t const count = std::min(part.size(), most - 1 - used);
      std::memmove(text + used, part.data(), count);
      used += count;
      if (count < part.size()) std::memcpy(text + most - 4, "...", 3);
    }
    text[used] = '\0';
  }
};
static_assert(std::is_trivially_destructible_v<Message>);
constinit thread_local Message message_of_thread{};

// The status of the exception that is being handled; tell(what) gets its text.
template <class Tell>
strata_status status_of(Tell const& tell) {
  auto const with = [&](std::exception const& error, strata_status status) {
    tell(error.what());
    return status;
  };
  try {
    throw;
  } catch (Incomplete const& failed) {
    try {
      std::rethrow_exception(failed.cause);
    } catch (...) {
      (void)status_of(tell);
    }
    return STRATA_INCOMPLETE;
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
    return with(error, is_allocation_failure(error) ? STRATA_OUT_OF_MEMORY : STRATA_INTERNAL_ERROR);
  } catch (...) {
    tell("an exception of unknown type");
    return STRATA_INTERNAL_ERROR;
  }
}

}  // namespace

strata_status status_of_exception(char const* function) noexcept {
  return status_of([function](char const* what) { message_of_thread.set({function, ": ", what}); });
}

strata_status keep(Outcome const& outcome) noexcept {
  if (outcome.message.empty())
    message_of_thread.set({strata_status_name(outcome.status)});
  else
    message_of_thread.set({outcome.message});
  return outcome.status;
}

Outcome not_positive_definite(std::int64_t info) {
  return {STRATA_NOT_POSITIVE_DEFINITE, not_positive_definite_text(info)};
}

}  // namespace strata::c::detail

using namespace strata::c;
using namespace strata::c::detail;

char const* strata_status_name(int status) {
  static constexpr auto table =
      strata::enum_names<int>("status", {{STRATA_SUCCESS, "success"},
                                         {STRATA_NOT_POSITIVE_DEFINITE, "not positive definite"},
                                         {STRATA_NOT_CONVERGED, "not converged"},
                                         {STRATA_INVALID_ARGUMENT, "invalid argument"},
                                         {STRATA_NOT_FINITE, "not finite"},
                                         {STRATA_OUT_OF_MEMORY, "out of memory"},
                                         {STRATA_VENDOR_ERROR, "error of a vendor's library"},
                                         {STRATA_NOT_READY, "not ready"},
                                         {STRATA_INTERNAL_ERROR, "internal error"},
                                         {STRATA_INCOMPLETE, "incomplete"},
                                         {STRATA_SINGULAR, "singular"}});
  return strata::detail::name_in(table, status, "unknown status").data();
}

char const* strata_message(void) {
  char const* const text = message_of_thread.text;
  return *text == '\0' ? strata_status_name(STRATA_SUCCESS) : text;
}

strata_status strata_report_status(strata_status status, char const* message) {
  return call("strata_report_status",
              [&] { return Outcome{status, message == nullptr ? "" : message}; });
}

char const* strata_version(void) { return STRATA_VERSION_STRING; }

char const* strata_configuration(void) {
  try {
    static std::string const text = configuration_line();
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
