// Goal: the shares of a machine's cores are disjoint where there are enough of them, and none is empty. Method: a child
// process that waits, whose mask the kernel tells.
#include "runtime/os/cores.hpp"

#include <csignal>
#include <set>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::testing {
namespace {

class waiting_child {
 public:
  waiting_child() : pid_(::fork()) {
    while (pid_ == 0) ::pause();
  }
  ~waiting_child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::set<int> cores() const {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    EXPECT_EQ(::sched_getaffinity(pid_, sizeof mask, &mask), 0);
    std::set<int> found;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &mask)) found.insert(core);
    }
    return found;
  }

 private:
  const pid_t pid_;
};

TEST(cores, shares_cover_all_cores_once) {
  const std::uint32_t parts = usable_cores();
  std::set<int> all;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const waiting_child child;
    ASSERT_TRUE(bind_to_share(child.pid(), part, parts));
    EXPECT_EQ(child.cores().size(), 1u);
    all.merge(child.cores());
  }
  EXPECT_EQ(all.size(), parts);
}

TEST(cores, more_parts_than_cores_share_them) {
  const std::uint32_t parts = 3 * usable_cores();
  const waiting_child child;
  for (std::uint32_t part = 0; part < parts; ++part) {
    ASSERT_TRUE(bind_to_share(child.pid(), part, parts));
    EXPECT_EQ(child.cores().size(), 1u);
  }
  EXPECT_FALSE(bind_to_share(child.pid(), parts, parts)) << "no such part";
  EXPECT_TRUE(bind_to_share(child.pid(), 0, 1));
  EXPECT_EQ(child.cores().size(), usable_cores());
}

}  // namespace
}  // namespace troupe::testing
