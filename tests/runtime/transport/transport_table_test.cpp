// Goal: the name of --transport leads to the row that can do it, else to the one that is taken by itself.
#include "runtime/transport/transport_table.hpp"

#include <gtest/gtest.h>

#include "devices/stand_in_rows.hpp"
#include "runtime/edge/cuda_ipc/ipc_transport.hpp"
#include "testing/nccl/late_device.hpp"
#include "two_processes.hpp"

namespace troupe {
namespace {

TEST(transport_table, gives_the_row_of_the_name_or_the_first_that_can) {
  EXPECT_EQ(between_processes("tcp").name, "tcp");
  EXPECT_EQ(between_processes("shm").name, "shm");
  for (const char* name : {"auto", "inproc", "nonsense"}) EXPECT_EQ(between_processes(name).name, "shm") << name;
  EXPECT_EQ(between_nodes("tcp").name, "tcp");
  for (const char* name : {"auto", "shm", "nonsense"}) EXPECT_EQ(between_nodes(name).name, "shm and tcp") << name;
  EXPECT_EQ(within_process("shm").name, "shm");
  for (const char* name : {"auto", "inproc", "tcp"}) EXPECT_EQ(within_process(name).name, "inproc") << name;
}

TEST(transport_table, counts_what_a_row_takes) {
  EXPECT_EQ(between_processes("shm").threads, 0u);
  EXPECT_EQ(between_processes("tcp").threads, 1u) << "its I/O thread";
  EXPECT_GT(between_processes("tcp").files, 0u) << "it listens";
}

TEST(transport_table, says_which_rows_have_a_thread_that_moves_what_comes) {
  const transport_options options{std::make_shared<const testing::pattern_codec>(), std::nullopt};
  const auto has_thread = [](const expected<std::shared_ptr<transport>>& edges) { return (*edges)->has_thread(); };
  EXPECT_FALSE(has_thread(between_processes("shm").between(options)));
  EXPECT_TRUE(has_thread(between_processes("tcp").between(options)));
  EXPECT_TRUE(has_thread(between_nodes("auto").between(options)));
}

TEST(transport_table, chooses_the_kind_of_an_edge_by_the_nodes_of_its_ends) {
  const auto edges = between_nodes("auto").between({std::make_shared<const testing::pattern_codec>(), std::nullopt});
  ASSERT_TRUE(edges);
  const edge_options shape{.slots = 2};
  const auto near = (*edges)->offer(shape, edge_reach::host);
  const auto far = (*edges)->offer(shape, edge_reach::network);
  ASSERT_TRUE(near && far);
  EXPECT_TRUE(near->memory) << "shm";
  EXPECT_FALSE(far->memory) << "tcp";
  EXPECT_NE(near->words.front(), far->words.front());
  EXPECT_NE((*edges)->contact(), 0u) << "the port of tcp";
}

expected<std::shared_ptr<const ipc_tools>> without_device() {
  return fail(error_code::device_unavailable, "a driver", "it has no device");
}

/// As a driver offers an edge between two workers.
TEST(transport_table, offers_memory_of_devices_without_one_and_opens_no_end) {
  const auto edges = between_processes("cuda_ipc")
                         .between({.codec = std::make_shared<const testing::pattern_codec>(),
                                   .devices = {.ipc = [] { return without_device(); }}});
  ASSERT_TRUE(edges);
  const edge_options shape{.slots = 2};
  const auto offer = (*edges)->offer(shape, edge_reach::devices);
  ASSERT_TRUE(offer && offer->memory);
  const auto end = (*edges)->open_producer({.epoch = 1, .shape = shape, .offer = *offer});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().cause, "it has no device");
}

TEST(transport_table, needs_a_device_for_nccl) {
  const auto edges =
      between_processes("nccl").between({std::make_shared<const testing::pattern_codec>(), std::nullopt});
  ASSERT_FALSE(edges);
  EXPECT_EQ(edges.error().code, error_code::device_unavailable);
  EXPECT_EQ(edges.error().cause, "NCCL connects CUDA devices, and this process has none");
}

TEST(transport_table, needs_a_device_for_cuda_ipc) {
  const auto edges =
      between_processes("cuda_ipc").between({std::make_shared<const testing::pattern_codec>(), std::nullopt});
  ASSERT_FALSE(edges);
  EXPECT_EQ(edges.error().code, error_code::device_unavailable);
}

TEST(transport_table, memory_of_devices_does_not_leave_its_host) {
  const auto edges =
      testing::ipc_stand_in_row.between({std::make_shared<const testing::pattern_codec>(), std::nullopt});
  ASSERT_TRUE(edges);
  const edge_options shape{.slots = 2};
  EXPECT_TRUE((*edges)->offer(shape, edge_reach::devices)->memory);
  EXPECT_EQ(between_nodes("cuda_ipc").name, "shm and tcp") << "no other node is reached";
  const auto bare =
      ipc_transport::open([] { return without_device(); }, std::make_shared<const testing::pattern_codec>());
  const auto far = bare->offer(shape, edge_reach::network);
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().code, error_code::config_bad_value);
}

TEST(transport_table, shared_memory_does_not_leave_its_host) {
  const auto edges = between_processes("shm").between({std::make_shared<const testing::pattern_codec>(), std::nullopt});
  ASSERT_TRUE(edges);
  const auto far = (*edges)->offer({.slots = 2}, edge_reach::network);
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().code, error_code::config_bad_value);
}

}  // namespace
}  // namespace troupe
