// Goal: descriptors can be taken by tag, in any order, or an error names the missing ones.
// Method: both ends of a channel in this process.
#include "actors/workers/descriptor_box.hpp"

#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/process/memory_file.hpp"

namespace troupe {
namespace {

struct filled_box {
  filled_box() {
    auto made = fd_channel::make();
    driver.emplace(std::move(made->first));
    box.emplace(std::move(*fd_channel::adopt(std::move(made->second), ::getpid())));
    receiver = std::thread([this] { received = box->receive_all(); });
  }
  ~filled_box() {
    driver.reset();
    receiver.join();
    EXPECT_TRUE(received);
  }
  void send(const std::string& tag, std::vector<int> fds) { ASSERT_TRUE(driver->send(tag, fds)); }

  std::optional<fd_channel> driver;
  std::optional<descriptor_box> box;
  expected<void> received;
  std::thread receiver;
};

TEST(descriptor_box, keeps_what_came_until_it_is_taken) {
  const auto file = memory_file::make("one", "1");
  filled_box worker;
  worker.send("edge 1 0", {file->fd(), file->fd()});
  worker.send("page", {file->fd()});
  const auto page = worker.box->take("page", 1);
  ASSERT_TRUE(page) << to_string(page.error());
  EXPECT_EQ(page->size(), 1u);
  const auto edge = worker.box->take("edge 1 0", 2);
  ASSERT_TRUE(edge);
  EXPECT_NE((*edge)[0].get(), (*edge)[1].get());
}

TEST(descriptor_box, refuses_another_number_of_them) {
  const auto file = memory_file::make("one", "1");
  filled_box worker;
  worker.send("page", {file->fd()});
  EXPECT_EQ(worker.box->take("page", 2).error().code, error_code::wire_malformed);
}

}  // namespace
}  // namespace troupe
