// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/info/vendor/Strata_VendorInfo.hpp>

#include <core/Strata_Config.hpp>
#include <core/detail/Strata_Symbol.hpp>

#include <dlfcn.h>
#include <zlib.h>

#include <array>
#include <string>

#ifdef STRATA_ENABLE_TPL_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace strata::vendor {

namespace {

using strata::detail::symbol;

// BLAS has no version of its own: ask the implementations, by a function that each alone has.
[[maybe_unused]] Library blas() {
  if (auto* const config = symbol<char*()>("openblas_get_config")) {
    std::string const text = config();  // "OpenBLAS 0.3.29 DYNAMIC_ARCH ..."
    auto const begin = text.find(' ') + 1;
    return {"OpenBLAS", text.substr(begin, text.find(' ', begin) - begin)};
  }
  if (auto* const mkl = symbol<void(char*, int)>("mkl_get_version_string")) {
    std::array<char, 256> text{};
    mkl(text.data(), static_cast<int>(text.size()) - 1);
    return {"oneMKL", text.data()};
  }
  if (auto* const blis = symbol<char const*()>("bli_info_get_version_str")) return {"BLIS", blis()};
  return {"BLAS", "unknown"};
}

#ifdef STRATA_ENABLE_TPL_ONEDNN
Library onednn() {
  dnnl_version_t const& v = *dnnl_version();
  return {"oneDNN",
          std::to_string(v.major) + '.' + std::to_string(v.minor) + '.' + std::to_string(v.patch)};
}
#endif

}  // namespace

std::vector<Library> libraries() {
  std::vector<Library> found;
#ifdef STRATA_ENABLE_TPL_LAPACK
  found.push_back(blas());
#endif
#ifdef STRATA_ENABLE_TPL_ONEDNN
  found.push_back(onednn());
#endif
  for (auto const& library : device_libraries()) found.push_back(library);
  found.push_back({"zlib", zlibVersion()});
  return found;
}

}  // namespace strata::vendor
