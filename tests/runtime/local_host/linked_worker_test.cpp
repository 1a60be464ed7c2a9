// Goal: the listener hears a worker's words and its end, in order, the end last, also of a worker that dies before its
// first words. Method: the production worker over a link, whose other end is here as well.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/local_host/local_worker.hpp"
#include "tests/runtime/link/link_support.hpp"
#include "tests/runtime/local_host/noted_worker.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

class linked_worker : public ::testing::Test {
 protected:
  linked_worker() { worker->tell(news); }

  void ends() {
    exit_report report;
    report.pid = 42;
    worker->on_exit(report);
  }

  std::pair<unique_fd, unique_fd> sockets = *make_link_sockets();
  std::unique_ptr<link_loop> links = *link_loop::create({});
  const std::shared_ptr<noted_worker> news = std::make_shared<noted_worker>();
  std::unique_ptr<process_host> host = *process_host::create();
  std::pair<fd_channel, unique_fd> channel = *fd_channel::make();
  const std::shared_ptr<local_worker> worker = std::make_shared<local_worker>(
      "worker 0", 0, nullptr,
      local_worker::parts{.channel = std::move(channel.first),
                          .link = links->open(std::move(sockets.first), link_side::driver),
                          .page = *shared_page::create(),
                          .host = *host});
};

TEST_F(linked_worker, that_dies_before_its_first_words_is_told) {
  worker->started({});
  sockets.second.reset();
  ends();
  EXPECT_TRUE(news->hears("process 42 exited")) << "maybe after the loss of its link";
}

TEST_F(linked_worker, whose_end_is_known_before_its_start_is_told) {
  link_process far(std::move(sockets.second), link_side::worker);
  far.link->send(message_of("unheard"));
  ends();
  EXPECT_THAT(news->first(1), ElementsAre("process 42 exited"));
  worker->started({});
  auto others = std::move(*make_link_sockets());
  noted_news later;  // on the same thread
  const auto near = links->open(std::move(others.first), link_side::driver);
  near->start(later.events());
  const link_process other(std::move(others.second), link_side::worker);
  other.link->send(message_of("after all that was asked before"));
  ASSERT_TRUE(later.next());
  EXPECT_THAT(news->first(1), ElementsAre("process 42 exited")) << "nothing after its end";
  links.reset();  // before what it tells
}

TEST_F(linked_worker, is_heard_and_spoken_to_and_its_end_comes_last) {
  worker->started({});
  link_process far(std::move(sockets.second), link_side::worker);
  worker->send(message_of("become a stage"));
  EXPECT_EQ(text_of(far.news.next().value_or(codec::bytes{})), "become a stage");
  far.link->send(message_of("ready"));
  EXPECT_THAT(news->first(1), ElementsAre("said ready"));
  far.end_loop();
  EXPECT_THAT(news->first(2), ElementsAre("said ready", "link lost"));
  ends();
  EXPECT_THAT(news->first(3), ElementsAre("said ready", "link lost", "process 42 exited"));
}

}  // namespace
}  // namespace troupe::testing
