// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ooc/Strata_DeviceTeam.hpp>

#include <core/Strata_Errors.hpp>
#include <core/kokkos_ext/Strata_Instantiate.hpp>
#include <ooc/detail/Strata_Machine.hpp>

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

#define STRATA_INSTANTIATE(Exec)   \
  template class DeviceTeam<Exec>; \
  template std::vector<int> numa_nodes<Exec>(Devices const&);
STRATA_FOR_EACH_EXECUTION_SPACE(STRATA_INSTANTIATE)
#undef STRATA_INSTANTIATE

}  // namespace strata::ooc
