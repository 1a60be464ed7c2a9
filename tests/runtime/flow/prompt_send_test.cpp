// Goal: a stage that waited for its input lets the edge use its thread, and one that has work to do does not. Method:
// an engine over an inproc edge in and an edge that notes who sent.
#include <memory>

#include <gmock/gmock.h>

#include "forked.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/flow/stage_engine.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct passing_body final : unary_body {
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override { return input.tensors; }
};

struct prompt_send : ::testing::Test {
  prompt_send() {
    edge_ends in = inproc_edge_factory{}.make({.slots = 4, .producer_bell = nullptr, .consumer_bell = nullptr});
    feed = std::move(in.producer);
    engine.add_inbound(std::move(in.consumer));
    engine.outbound().add_edge(engine.outbound().add_branch({}), std::make_unique<fake_producer>(out));
  }
  void arrive(std::uint64_t index) {
    activation message;
    message.id = {0, index};
    message.samples = {0, 1};
    message.tensors = std::make_shared<const some_payload>();
    ASSERT_EQ(feed->try_send(message), send_status::sent);
  }
  void run() {
    while (engine.step() == step_result::progressed) {
    }
  }

  fake_edge out;
  std::unique_ptr<edge_producer> feed;
  stage_engine engine{{.name = "stage 0", .address = {}, .now = [] { return std::chrono::nanoseconds{0}; }},
                      std::make_shared<passing_body>()};
};

TEST_F(prompt_send, of_what_a_stage_waited_for) {
  for (std::uint64_t index = 0; index < 3; ++index) {
    run();
    arrive(index);
  }
  run();
  EXPECT_THAT(out.got, ElementsAre(0, 1, 2));
  EXPECT_THAT(out.got_now, ElementsAre(0, 1, 2));
}

TEST_F(prompt_send, not_of_what_lay_there) {
  for (std::uint64_t index = 0; index < 3; ++index) arrive(index);
  run();
  EXPECT_THAT(out.got, ElementsAre(0, 1, 2));
  EXPECT_THAT(out.got_now, IsEmpty());
}

TEST_F(prompt_send, of_the_first_alone_where_more_lie_behind_it) {
  run();
  for (std::uint64_t index = 0; index < 3; ++index) arrive(index);
  run();
  EXPECT_THAT(out.got, ElementsAre(0, 1, 2));
  EXPECT_THAT(out.got_now, ElementsAre(0));
}

}  // namespace
}  // namespace troupe::testing
