// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <c/runtime/detail/Strata_LoadedObjects.hpp>

#include <link.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <set>
#include <vector>

namespace strata::c::detail {

namespace {

// A program or library in memory: what others call it, where it is, and what it is linked to.
struct Object {
  std::string path, name;
  std::vector<std::string> needs;
  bool is_this = false;
};

std::string file_name(std::string const& path) { return path.substr(path.rfind('/') + 1); }

bool holds(dl_phdr_info const& info, void const* address) {
  auto const position = reinterpret_cast<std::uintptr_t>(address);
  return std::any_of(info.dlpi_phdr, info.dlpi_phdr + info.dlpi_phnum, [&](auto const& part) {
    return part.p_type == PT_LOAD && position - (info.dlpi_addr + part.p_vaddr) < part.p_memsz;
  });
}

Object read(dl_phdr_info const& info) {
  static char const mark = 0;
  Object object{info.dlpi_name, file_name(info.dlpi_name), {}, holds(info, &mark)};
  if (object.path.empty()) object.path = "the program";
  for (std::size_t k = 0; k < info.dlpi_phnum; ++k) {
    if (info.dlpi_phdr[k].p_type != PT_DYNAMIC) continue;
    auto const* const entries =
        std::bit_cast<ElfW(Dyn) const*>(info.dlpi_addr + info.dlpi_phdr[k].p_vaddr);
    std::uintptr_t strings = 0;
    for (auto const* e = entries; e->d_tag != DT_NULL; ++e)
      if (e->d_tag == DT_STRTAB) strings = e->d_un.d_ptr;
    if (strings == 0) continue;
    if (strings < info.dlpi_addr) strings += info.dlpi_addr;  // not every loader adds it
    auto const* const text = std::bit_cast<char const*>(strings);
    for (auto const* e = entries; e->d_tag != DT_NULL; ++e) {
      if (e->d_tag == DT_NEEDED) object.needs.emplace_back(text + e->d_un.d_val);
      if (e->d_tag == DT_SONAME) object.name = text + e->d_un.d_val;
    }
  }
  return object;
}

std::vector<Object> loaded_objects() {
  std::vector<Object> found;
  auto const add = [](dl_phdr_info* info, std::size_t, void* to) {
    try {
      static_cast<std::vector<Object>*>(to)->push_back(read(*info));
      return 0;
    } catch (std::bad_alloc const&) {
      return 1;
    }
  };
  if (dl_iterate_phdr(add, &found) != 0) throw std::bad_alloc();
  return found;
}

bool starts_kokkos_at_need(Object const& object) {
  return object.name.starts_with("libstrata_c.so") ||
         object.path.find("/strata/_core.") != std::string::npos;
}

// This library and all that it is linked to, directly or not.
std::set<std::string> own_names(std::vector<Object> const& objects) {
  std::set<std::string> own;
  std::size_t before = 0;
  do {
    before = own.size();
    for (Object const& object : objects) {
      if (!object.is_this && !own.contains(object.name)) continue;
      own.insert(object.name);
      own.insert(object.needs.begin(), object.needs.end());
    }
  } while (own.size() != before);
  return own;
}

}  // namespace

std::string other_object_that_needs(std::string const& library) {
  auto const objects = loaded_objects();
  auto const own = own_names(objects);
  for (Object const& object : objects) {
    if (object.is_this || own.contains(object.name) || starts_kokkos_at_need(object)) continue;
    for (std::string const& need : object.needs)
      if (need.starts_with(library)) return object.path;
  }
  return {};
}

}  // namespace strata::c::detail
