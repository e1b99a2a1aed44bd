// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/team/Strata_DeviceTeam.hpp>

#include <comm/Strata_Communicator.hpp>
#include <comm/Strata_Together.hpp>
#include <core/Strata_Errors.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <core/kokkos_ext/Strata_Team.hpp>
#include <ooc/team/detail/Strata_Lane.hpp>
#include <ooc/team/detail/Strata_Machine.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace strata::ooc {

Devices make_devices(int count, std::size_t budget_bytes) {
  STRATA_REQUIRE(ValueError, count >= 1, "devices: ", count, ", must be at least 1");
  Devices devices;
  for (int id = 0; id < count; ++id) devices.push_back({id, budget_bytes});
  return devices;
}

template <class Exec>
std::vector<int> numa_nodes(Devices const& devices) {
  std::vector<int> nodes;
  for (Device const& device : devices) nodes.push_back(detail::Lane<Exec>::node_of(device.id));
  return nodes;
}

template <class Exec>
int device_of(Exec const& exec) {
  return detail::Lane<Exec>::device_of(exec);
}

template <class Exec>
std::size_t free_bytes(Exec const& exec) {
  return detail::Lane<Exec>::free_bytes(device_of(exec));
}

namespace detail {

namespace {

// A number of a device's memory, the same for all processes of this host.
template <class Exec>
std::uint64_t memory_number(int id) {
  if (strata::runs_on_host<Exec>) return 0;
  static auto const known = strata::devices().accelerators;
  for (auto const& one : known)
    if (one.id == id) return std::hash<std::string>()(one.identity);
  return 0;  // there is none, as whoever uses it says
}

}  // namespace

template <class Exec>
int default_streams() {
  return strata::runs_on_host<Exec> ? 1 : 4;
}

template <class Exec>
bool works_at_home(Device const& given) {
  return strata::runs_on_host<Exec> && given.budget_bytes == 0;
}

template <class Exec>
std::vector<int> ranks_that_share(Devices const& devices, Communicator const* comm) {
  std::vector<int> ranks(devices.size(), 1);
  if (!comm) return ranks;
  constexpr std::size_t size = 3;  // the host, and two halves of a number of the memory there
  using Memory = std::array<double, size>;
  double const host = comm->hosts()[static_cast<std::size_t>(comm->rank())];
  auto const memory_of = [&](Device const& device) {
    std::uint64_t const number = memory_number<Exec>(device.id);
    return Memory{host, static_cast<double>(number >> 32U), static_cast<double>(number & ~0U)};
  };
  std::set<Memory> own;
  together(comm, [&] {
    for (Device const& device : devices) own.insert(memory_of(device));
  });
  std::vector<double> told;
  for (Memory const& memory : own) told.insert(told.end(), memory.begin(), memory.end());
  auto const all = comm->gather(told);
  std::map<Memory, int> count;
  for (std::size_t k = 0; k < all.size(); k += size) ++count[{all[k], all[k + 1], all[k + 2]}];
  for (std::size_t d = 0; d < devices.size(); ++d) ranks[d] = count[memory_of(devices[d])];
  return ranks;
}

}  // namespace detail

template <class Exec>
DeviceTeam<Exec>::DeviceTeam(Devices devices) : machine_("DeviceTeam") {
  STRATA_REQUIRE(ValueError, !devices.empty(), "device team: there is no device");
  machine_ = Shared("DeviceTeam", std::make_shared<Machine>(std::move(devices)));
}

template <class Exec>
Devices const& DeviceTeam<Exec>::devices() const {
  return machine_->devices();
}
template <class Exec>
int DeviceTeam<Exec>::threads() const {
  return machine_->threads();
}
template <class Exec>
std::size_t DeviceTeam<Exec>::bytes() const {
  return machine_->bytes();
}
template <class Exec>
void DeviceTeam<Exec>::release() {
  machine_->release();
}

#define STRATA_INSTANTIATE(Exec)                                                                 \
  template class DeviceTeam<Exec>;                                                               \
  template int device_of<Exec>(Exec const&);                                                     \
  template std::size_t free_bytes<Exec>(Exec const&);                                            \
  template int detail::default_streams<Exec>();                                                  \
  template bool detail::works_at_home<Exec>(Device const&);                                      \
  template std::vector<int> detail::ranks_that_share<Exec>(Devices const&, Communicator const*); \
  template std::vector<int> numa_nodes<Exec>(Devices const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
