// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_Backends.hpp>
#include <core/blas/host/vendor/Strata_HostOnednn.hpp>
#include <core/info/Strata_Version.hpp>
#include <core/info/detail/Strata_HostInfo.hpp>
#include <core/io/Strata_HostMatrix.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace {

using namespace strata;

bool matches(std::string const& text, char const* pattern) {
  return std::regex_match(text, std::regex(pattern));
}

TEST(Version, IsThatOfTheBuild) {
  Configuration const c = configuration();
  EXPECT_EQ(c.version, STRATA_VERSION_STRING);
  EXPECT_TRUE(matches(c.commit, "unknown|[0-9a-f]{12,40}(-dirty)?")) << c.commit;
  EXPECT_TRUE(matches(c.compiler, "[A-Za-z]+ [0-9.]+")) << c.compiler;
  EXPECT_TRUE(matches(c.build_type, "[A-Za-z]+")) << c.build_type;
  EXPECT_TRUE(matches(c.kokkos_kernels, R"([45]\.\d+\.\d+)")) << c.kokkos_kernels;
  int major = 0, minor = 0, patch = 0;
  ASSERT_EQ(std::sscanf(c.kokkos.c_str(), "%d.%d.%d", &major, &minor, &patch), 3) << c.kokkos;
  EXPECT_EQ(10000 * major + 100 * minor + patch, KOKKOS_VERSION);
}

TEST(Version, NamesTheBackendsAmongThemTheDefault) {
  std::vector<std::string> const backends = configuration().backends;
  auto const has = [&](char const* name) {
    return std::count(backends.begin(), backends.end(), name);
  };
  EXPECT_EQ(has(Kokkos::DefaultExecutionSpace::name()), 1);
  EXPECT_EQ(has(Kokkos::DefaultHostExecutionSpace::name()), 1);
}

TEST(Version, NamesEachLibraryOnceWithItsVersion) {
  std::vector<Library> const libraries = configuration().libraries;
  auto const version = [&](std::string const& name) {
    std::vector<std::string> found;
    for (Library const& library : libraries)
      if (library.name == name) found.push_back(library.version);
    return found;
  };
  EXPECT_EQ(version("zlib"), std::vector<std::string>{zlibVersion()});
  ASSERT_EQ(version("oneDNN").size(), has_onednn ? 1u : 0u);
  for (std::string const& onednn : version("oneDNN"))
    EXPECT_TRUE(matches(onednn, R"(\d+\.\d+\.\d+)")) << onednn;
#ifdef STRATA_ENABLE_TPL_LAPACK
  EXPECT_TRUE(matches(libraries.at(0).name, "OpenBLAS|oneMKL|BLIS|BLAS")) << libraries[0].name;
  if (libraries[0].name == "OpenBLAS") {
    EXPECT_TRUE(matches(libraries[0].version, R"(\d+\.\d+.*)")) << libraries[0].version;
  }
#endif
}

TEST(Version, DescribesTheHost) {
  Host const host = devices().host;
  EXPECT_FALSE(host.model.empty());
  EXPECT_GE(host.cores, 1);
  EXPECT_EQ(host.memory_bytes, physical_memory_bytes());
  EXPECT_GT(host.memory_available_bytes, std::size_t{1} << 20);
  EXPECT_LE(host.memory_available_bytes, host.memory_bytes);
}

// The kernel's own list of what the processor has, where the machine shows one.
TEST(Version, MatrixUnitsAreAmongTheKernelsFlags) {
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  for (std::string line; flags.empty() && std::getline(file, line);)
    if (line.starts_with("flags")) flags = line + ' ';
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  std::vector<std::string> const units = devices().host.matrix_units;
  for (std::string const unit : {"amx_bf16", "amx_int8", "amx_fp16", "avx512_bf16", "avx512_fp16"})
    EXPECT_EQ(std::count(units.begin(), units.end(), unit),
              flags.find(' ' + unit + ' ') != std::string::npos)
        << unit;
  for (auto const precision : {Precision::bf16, Precision::fp16}) {
    auto const unit = "amx_" + std::string(traits(precision).name);
    EXPECT_EQ(host_has_matrix_units(precision),
              std::count(units.begin(), units.end(), unit) > 0 &&
                  vendor::OnednnMatmul::has_instructions(precision));
  }
  EXPECT_FALSE(host_has_matrix_units(Precision::fp64));
}

TEST(Version, ListsTheAcceleratorsOfTheBackend) {
  std::vector<Accelerator> const found = devices().accelerators;
  bool const on_device =
      !Kokkos::SpaceAccessibility<Kokkos::HostSpace,
                                  Kokkos::DefaultExecutionSpace::memory_space>::accessible;
  EXPECT_EQ(found.empty(), !on_device);
  for (Accelerator const& accelerator : found) {
    EXPECT_FALSE(accelerator.name.empty());
    EXPECT_TRUE(matches(accelerator.architecture, "sm_[0-9]+|gfx[0-9a-f].*"))
        << accelerator.architecture;
    EXPECT_GT(accelerator.memory_bytes, std::size_t{1} << 30);
    EXPECT_FALSE(accelerator.identity.empty());
    EXPECT_EQ(std::count_if(found.begin(), found.end(),
                            [&](auto const& o) { return o.identity == accelerator.identity; }),
              1);
  }
}

// A false root of /proc and /sys.
class MemoryOf {
 public:
  MemoryOf() : root_(std::filesystem::path(testing::TempDir()) / "strata_test_memory") {
    remove_all(root_);
  }
  ~MemoryOf() { remove_all(root_); }
  MemoryOf& file(std::string const& path, std::string const& text) {
    auto const position = root_ / path;
    create_directories(position.parent_path());
    std::ofstream(position) << text;
    return *this;
  }
  std::size_t available() const { return strata::detail::available_memory_bytes(root_.string()); }

 private:
  std::filesystem::path root_;
};

TEST(AvailableMemory, IsTheSystemsOrTheTightestGroupsRest) {
  MemoryOf machine;
  EXPECT_EQ(machine.available(), physical_memory_bytes());
  machine.file("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    5000 kB\n");
  EXPECT_EQ(machine.available(), 5000u * 1024);
  machine.file("proc/self/cgroup", "0::/job/step\n");
  machine.file("sys/fs/cgroup/job/step/memory.max", "max\n")
      .file("sys/fs/cgroup/job/step/memory.current", "7\n");
  EXPECT_EQ(machine.available(), 5000u * 1024);
  machine.file("sys/fs/cgroup/job/memory.max", "4000\n")
      .file("sys/fs/cgroup/job/memory.current", "1500\n");
  EXPECT_EQ(machine.available(), 2500u);
  machine.file("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 500\n");
  EXPECT_EQ(machine.available(), 3000u);
  machine.file("sys/fs/cgroup/memory.max", "2000\n").file("sys/fs/cgroup/memory.current", "1500\n");
  EXPECT_EQ(machine.available(), 500u);
  machine.file("sys/fs/cgroup/memory.current", "99999\n");
  EXPECT_EQ(machine.available(), 0u);
}

}  // namespace
