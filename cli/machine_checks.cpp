#include "machine_checks.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "actors/caf.hpp"
#include "runtime/os/cpu_quota.hpp"

namespace troupe::cli {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void check_versions(std::vector<machine_check>& into) {
  into.push_back({check_level::ok, "troupe", TROUPE_VERSION});
  into.push_back({check_level::ok, "compiler", fmt::format("{} {}", TROUPE_COMPILER, __VERSION__)});
  into.push_back(
      {check_level::ok, "caf", fmt::format("{}.{}.{}", CAF_MAJOR_VERSION, CAF_MINOR_VERSION, CAF_PATCH_VERSION)});
}

void check_cores(std::vector<machine_check>& into) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  const int usable = known ? CPU_COUNT(&allowed) : static_cast<int>(online);
  const auto level = usable < online ? check_level::warning : check_level::ok;
  const auto quota = find_cpu_quota();
  into.push_back({level, "cores", fmt::format("{} online, {} in this process's affinity mask", online, usable)});
  into.push_back(
      {quota ? check_level::warning : check_level::ok, "cpu quota",
       quota ? fmt::format("{:.2f} cores, by {}: threads beyond it only wait", quota->cores, quota->file) : "none"});
  std::string threads =
      fmt::format("auto divides {} among stages and replicas", cores_within(quota, static_cast<std::uint32_t>(usable)));
  for (const char* name : {"OMP_NUM_THREADS", "OMP_WAIT_POLICY"}) {
    if (const char* value = std::getenv(name)) threads += fmt::format(", {}={}", name, value);
  }
  into.push_back({check_level::ok, "threads", threads});
}

void check_memory(std::vector<machine_check>& into) {
  const double total = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  into.push_back(
      {total < gib ? check_level::warning : check_level::ok, "memory", fmt::format("{:.1f} GiB", total / gib)});
  const std::string limit = first_line("/sys/fs/cgroup/memory.max");
  const bool limited = !limit.empty() && limit != "max";
  into.push_back({check_level::ok, "cgroup",
                  limited ? fmt::format("memory.max is {:.1f} GiB", std::strtod(limit.c_str(), nullptr) / gib)
                          : "no memory limit"});
  rlimit space{};
  const bool capped = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  into.push_back(
      {capped ? check_level::warning : check_level::ok, "ulimit -v",
       capped ? fmt::format("{:.1f} GiB: LibTorch alone maps several", static_cast<double>(space.rlim_cur) / gib)
              : "unlimited"});
}

/// Which allocator is loaded, by the libraries in this process's map.
std::string allocator_name() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const char* name : {"jemalloc", "tcmalloc", "mimalloc"}) {
      if (line.find(name) != std::string::npos) return name;
    }
  }
  return "glibc malloc";
}

void check_allocator(std::vector<machine_check>& into) {
  std::string finding = allocator_name();
  for (const char* name : {"GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}) {
    if (const char* value = std::getenv(name)) finding += fmt::format(", {}={}", name, value);
  }
  into.push_back({check_level::ok, "allocator", finding});
}

void check_files(std::vector<machine_check>& into) {
  const char* source = std::getenv("TROUPE_SOURCE_DIR");
  const std::filesystem::path root = source == nullptr ? "." : source;
  for (const char* name : {"data/mnist/lenet.pt", "data/mnist/t10k-images-idx3-ubyte.gz", "data/cifar10/resnet20.pt"}) {
    const bool found = std::filesystem::exists(root / name);
    into.push_back({found ? check_level::ok : check_level::warning, "example",
                    fmt::format("{} {}", (root / name).string(), found ? "found" : "not found from this directory")});
  }
}

/// What a machine without GPUs lacks is no warning: nothing needs it there.
void check_gpus(const gpu_findings& gpus, std::vector<machine_check>& into) {
  const auto text = [](const auto& found) { return found ? *found : found.error().cause; };
  into.push_back({check_level::ok, "cuda", fmt::format("runtime: {}", text(gpus.cuda_runtime))});
  const bool is_broken = !gpus.cuda_driver && gpus.cuda_driver.error().code == error_code::device_failed;
  into.push_back(
      {is_broken ? check_level::warning : check_level::ok, "cuda", fmt::format("driver: {}", text(gpus.cuda_driver))});
  for (const cuda_device_info& each : gpus.cuda_devices) {
    into.push_back({check_level::ok, fmt::format("cuda:{}", each.ordinal),
                    fmt::format("{}, {:.1f} GiB", each.name, static_cast<double>(each.memory_bytes) / gib)});
  }
  into.push_back({check_level::ok, "nccl", text(gpus.nccl)});
}

}  // namespace

std::vector<machine_check> check_machine(const gpu_findings& gpus) {
  std::vector<machine_check> checks;
  check_versions(checks);
  check_libtorch(checks);
  check_cores(checks);
  check_memory(checks);
  check_allocator(checks);
  check_gpus(gpus, checks);
  check_files(checks);
  return checks;
}

}  // namespace troupe::cli
