// Goal: the quota of processors is that of the process's group or of a group around it, whatever the layout of the
// groups. Method: files as systems have them: version 1, version 2, both, containers, and damaged ones.
#include "runtime/os/cpu_quota.hpp"

#include <map>

#include <gtest/gtest.h>

#include "runtime/os/cores.hpp"

namespace troupe::testing {
namespace {

using files = std::map<std::string, std::string>;

const std::string second_mount = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string first_mount =
    "22 1 0:20 / / rw - ext4 /dev/sda rw\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 master:2 - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n";

std::optional<cpu_quota> quota_of(const std::string& cgroups, const std::string& mounts, files others) {
  others["/proc/self/cgroup"] = cgroups;
  others["/proc/self/mountinfo"] = mounts;
  return find_cpu_quota([&](const std::string& path) -> std::optional<std::string> {
    const auto found = others.find(path);
    return found == others.end() ? std::nullopt : std::optional(found->second);
  });
}

void expect_cores(const std::optional<cpu_quota>& found, double cores, const std::string& file) {
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->cores, cores);
  EXPECT_EQ(found->file, file);
}

TEST(cpu_quota, of_version_2_is_that_of_the_own_group) {
  const files group = {{"/sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n"}};
  expect_cores(quota_of("0::/user.slice/job\n", second_mount, group), 1.5, "/sys/fs/cgroup/user.slice/job/cpu.max");
}

TEST(cpu_quota, of_the_groups_around_counts_where_it_is_smaller) {
  files groups = {{"/sys/fs/cgroup/a/cpu.max", "50000 100000\n"}, {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"}};
  expect_cores(quota_of("0::/a/b/c\n", second_mount, groups), 0.5, "/sys/fs/cgroup/a/cpu.max");
  groups["/sys/fs/cgroup/a/b/c/cpu.max"] = "20000 100000\n";
  expect_cores(quota_of("0::/a/b/c\n", second_mount, groups), 0.2, "/sys/fs/cgroup/a/b/c/cpu.max");
}

TEST(cpu_quota, of_a_container_is_at_the_mount_point) {
  const files inside = {{"/sys/fs/cgroup/cpu.max", "400000 200000\n"}};
  expect_cores(quota_of("0::/\n", second_mount, inside), 2, "/sys/fs/cgroup/cpu.max");
  expect_cores(quota_of("0::/../other\n", second_mount, inside), 2, "/sys/fs/cgroup/cpu.max");
  const std::string bound = "33 31 0:30 /docker/7f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
  const files first = {{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"},
                       {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
                       {"/sys/fs/cgroup/cpu/in/cpu.cfs_quota_us", "100000\n"},
                       {"/sys/fs/cgroup/cpu/in/cpu.cfs_period_us", "100000\n"}};
  expect_cores(quota_of("4:cpu:/docker/7f\n", bound, first), 3, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  expect_cores(quota_of("4:cpu:/docker/7f/in\n", bound, first), 1, "/sys/fs/cgroup/cpu/in/cpu.cfs_quota_us");
  expect_cores(quota_of("4:cpu:/docker/7f8\n", bound, first), 3, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
}

TEST(cpu_quota, of_version_1_is_found_by_its_controller) {
  const files groups = {{"/sys/fs/cgroup/cpu,cpuacct/half/cpu.cfs_quota_us", "50000\n"},
                        {"/sys/fs/cgroup/cpu,cpuacct/half/cpu.cfs_period_us", "100000\n"},
                        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
                        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}};
  const std::string cgroups = "9:name=systemd:/\n3:cpuset:/other\n2:cpuacct,cpu:/half\n1:memory:/other\n";
  expect_cores(quota_of(cgroups, first_mount, groups), 0.5, "/sys/fs/cgroup/cpu,cpuacct/half/cpu.cfs_quota_us");
  EXPECT_FALSE(quota_of("2:cpuacct,cpu:/\n", first_mount, groups));
  EXPECT_FALSE(quota_of("3:cpuset:/half\n", first_mount, groups));
}

TEST(cpu_quota, of_both_versions_is_the_smaller) {
  const std::string mounts = first_mount + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  files groups = {{"/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n"},
                  {"/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n"}};
  expect_cores(quota_of("2:cpu,cpuacct:/x\n0::/y\n", mounts, groups), 2.5,
               "/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us");
  groups["/sys/fs/cgroup/unified/y/cpu.max"] = "100000 100000";
  expect_cores(quota_of("2:cpu,cpuacct:/x\n0::/y\n", mounts, groups), 1, "/sys/fs/cgroup/unified/y/cpu.max");
}

TEST(cpu_quota, of_a_group_with_a_blank_or_a_colon_in_its_name) {
  const std::string mounts = "29 23 0:26 / /my\\040groups rw - cgroup2 none rw\n";
  expect_cores(quota_of("0::/a:b c\n", mounts, {{"/my groups/a:b c/cpu.max", "100000"}}), 1,
               "/my groups/a:b c/cpu.max");
}

TEST(cpu_quota, that_cannot_be_understood_limits_nothing) {
  for (const char* content : {"", "\n", "max", "max 100000", "0 100000", "-5 100000", "50000 0", "50000 x",
                              "5e4 100000", "99999999999999999999 100000", "\xff\xfe"}) {
    EXPECT_FALSE(quota_of("0::/\n", second_mount, {{"/sys/fs/cgroup/cpu.max", content}})) << content;
  }
  const files one = {{"/sys/fs/cgroup/cpu.max", "100000 100000"}};
  for (const char* cgroups : {"", "0", "0:", "0::", "0::relative", ":", "x:cpu:/"}) {
    EXPECT_FALSE(quota_of(cgroups, second_mount, one)) << cgroups;
  }
  for (const char* mounts : {"", "-", "1 2 3 - cgroup2", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2",
                             "29 23 0:26 / /sys/fs/cgroup rw cgroup2 cgroup2 rw"}) {
    EXPECT_FALSE(quota_of("0::/\n", mounts, one)) << mounts;
  }
  EXPECT_FALSE(find_cpu_quota([](const std::string&) { return std::optional<std::string>{}; }));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "/a";
  EXPECT_FALSE(quota_of("0::" + deep + "\n", second_mount, one)) << "no more groups are looked at than there can be";
}

TEST(cores_within, are_whole_cores_of_the_quota) {
  EXPECT_EQ(cores_within(std::nullopt, 8), 8U);
  EXPECT_EQ(cores_within(cpu_quota{2.9, ""}, 8), 2U);
  EXPECT_EQ(cores_within(cpu_quota{0.5, ""}, 8), 1U);
  EXPECT_EQ(cores_within(cpu_quota{64, ""}, 8), 8U);
  EXPECT_EQ(cores_within(cpu_quota{1e300, ""}, 8), 8U);
  EXPECT_GE(cores_to_use(), 1U);
  EXPECT_LE(cores_to_use(), usable_cores());
}

}  // namespace
}  // namespace troupe::testing
