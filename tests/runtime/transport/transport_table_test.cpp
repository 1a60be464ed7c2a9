// Goal: the name of --transport leads to the row that can do it, else to the one that is taken by itself.
#include "runtime/transport/transport_table.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(transport_table, gives_the_row_of_the_name_or_the_first_that_can) {
  EXPECT_EQ(between_processes("tcp").name, "tcp");
  EXPECT_EQ(between_processes("shm").name, "shm");
  for (const char* name : {"auto", "inproc", "nonsense"}) EXPECT_EQ(between_processes(name).name, "shm") << name;
  EXPECT_EQ(within_process("shm").name, "shm");
  for (const char* name : {"auto", "inproc", "tcp"}) EXPECT_EQ(within_process(name).name, "inproc") << name;
}

TEST(transport_table, counts_what_a_row_takes) {
  EXPECT_EQ(between_processes("shm").threads, 0u);
  EXPECT_EQ(between_processes("tcp").threads, 1u) << "its I/O thread";
  EXPECT_GT(between_processes("tcp").files, 0u) << "it listens";
}

}  // namespace
}  // namespace troupe
