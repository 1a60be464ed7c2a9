// Goal: what the loader can send again: everything that is not folded, in order and as it was, without holding what
// its source gives again; a source that fails then costs its call and no other. Method: the window by itself, then in
// a loader with edges in one thread.
#include "runtime/ledger/replay_window.hpp"

#include <stdexcept>

#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/flow/loader_engine.hpp"

namespace troupe {
namespace {

struct numbered final : payload {
  explicit numbered(std::uint64_t n) : number(n) {}
  std::uint64_t number;
};

struct numbered_source final : micro_batch_source {
  numbered_source(std::uint64_t n, bool again) : end(n), rereads(again) {}
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    if (position == end) return std::nullopt;
    return made(position++);
  }
  [[nodiscard]] bool is_rereadable() const noexcept override { return rereads; }
  [[nodiscard]] expected<loaded_micro_batch> reread(std::uint64_t index) override {
    indices_reread.push_back(index);
    if (index == unreadable) return fail(error_code::data_unreadable, "disk", "it is gone");
    if (index == throws_at) throw std::runtime_error("it is gone");
    return made(index);
  }
  [[nodiscard]] loaded_micro_batch made(std::uint64_t index) {
    auto tensors = std::make_shared<const numbered>(index);
    given.push_back(tensors);
    return {
        {index, index + 1}, std::move(tensors), std::make_shared<const numbered>(100 + index), limits::window_bytes};
  }
  [[nodiscard]] std::size_t held() const {
    return static_cast<std::size_t>(std::ranges::count_if(given, [](const auto& each) { return !each.expired(); }));
  }

  std::uint64_t position = 0;
  std::uint64_t end;
  bool rereads;
  std::uint64_t unreadable = ~std::uint64_t{0};
  std::uint64_t throws_at = ~std::uint64_t{0};
  std::vector<std::uint64_t> indices_reread;
  std::vector<std::weak_ptr<const numbered>> given;
};

using source_ptr = std::shared_ptr<numbered_source>;
using ids = std::vector<micro_batch_id>;

std::uint64_t number_of(const payload_ptr& handle) {
  return static_cast<const numbered&>(*handle).number;
}

/// Reads the next `count` and keeps them, as the loader does after sending.
void keep(replay_window& window, call_number call, const source_ptr& source, int count) {
  for (; count > 0; --count) {
    const std::uint64_t index = source->position;
    loaded_micro_batch next = **source->next();
    window.keep({.id = {call, index},
                 .samples = next.samples,
                 .tensors = std::move(next.tensors),
                 .labels = std::move(next.labels)},
                next.bytes, source);
  }
}

/// All that is to be sent again, checked for being what it was.
ids replay(replay_window& window) {
  ids seen;
  for (window.begin_replay(); window.replaying(); window.replayed()) {
    const expected<activation> again = window.next_replay();
    if (!again) {
      ADD_FAILURE() << to_string(again.error());
      return seen;
    }
    EXPECT_EQ(again->id, window.next_id());
    EXPECT_EQ(again->samples, (sample_range{again->id.index, again->id.index + 1}));
    EXPECT_EQ(number_of(again->tensors), again->id.index);
    EXPECT_EQ(number_of(again->labels), 100 + again->id.index);
    seen.push_back(again->id);
  }
  return seen;
}

TEST(replay_window, gives_everything_again_in_order_and_holds_only_what_cannot_be_read_again) {
  replay_window window(100, 100);
  const auto reads = std::make_shared<numbered_source>(10, true);
  const auto keeps = std::make_shared<numbered_source>(10, false);
  keep(window, 0, reads, 2);
  keep(window, 1, keeps, 2);
  keep(window, 2, reads, 1);
  EXPECT_EQ(reads->held(), 0u);
  EXPECT_EQ(keeps->held(), 2u);
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_EQ(replay(window), (ids{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 2}}));
    EXPECT_EQ(reads->held(), 0u) << "no longer than until it was sent";
    EXPECT_EQ(keeps->held(), 2u);
  }
  EXPECT_EQ(reads->indices_reread, (std::vector<std::uint64_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_TRUE(keeps->indices_reread.empty());
}

TEST(replay_window, reads_once_what_has_to_wait_for_room) {
  replay_window window(100, 100);
  const auto source = std::make_shared<numbered_source>(10, true);
  keep(window, 0, source, 2);
  window.begin_replay();
  for (int attempts = 0; attempts < 3; ++attempts) ASSERT_TRUE(window.next_replay());
  EXPECT_EQ(source->indices_reread, (std::vector<std::uint64_t>{0}));
}

TEST(replay_window, bounds_what_is_under_way_whether_it_holds_it_or_not) {
  for (const bool again : {true, false}) {
    replay_window window(8, 3);
    const auto source = std::make_shared<numbered_source>(20, again);
    int kept = 0;
    for (; window.has_room(); ++kept) keep(window, 0, source, 1);
    EXPECT_EQ(kept, 3) << "each is as large as all may be together";
    EXPECT_EQ(replay(window).size(), window.size());
    EXPECT_FALSE(window.has_room());
    window.set_low_water({0, 1});
    window.forget(replay_window::all_of_them);
    EXPECT_TRUE(window.has_room());
  }
}

TEST(replay_window, what_is_still_to_be_sent_again_outlives_its_folding_with_its_source) {
  replay_window window(100, 100);
  auto source = std::make_shared<numbered_source>(10, true);
  const std::weak_ptr<numbered_source> watched = source;
  keep(window, 0, source, 3);
  source.reset();
  window.begin_replay();
  ASSERT_TRUE(window.next_replay());
  window.replayed();
  window.set_low_water({1, 0});
  window.forget(replay_window::all_of_them);
  EXPECT_EQ(window.size(), 2u);
  for (const std::uint64_t index : {1u, 2u}) {
    const expected<activation> again = window.next_replay();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->id, (micro_batch_id{0, index}));
    window.replayed();
  }
  EXPECT_FALSE(watched.expired());
  window.forget(replay_window::all_of_them);
  EXPECT_TRUE(window.empty());
  EXPECT_TRUE(watched.expired()) << "nothing of its call can be asked for any more";
}

TEST(replay_window, a_cancelled_call_takes_its_source_and_its_room_along) {
  replay_window window(4, 1);
  auto given_up = std::make_shared<numbered_source>(10, true);
  const auto stays = std::make_shared<numbered_source>(10, false);
  const std::weak_ptr<numbered_source> watched = given_up;
  keep(window, 0, given_up, 2);
  keep(window, 1, stays, 2);
  given_up.reset();
  window.begin_replay();
  window.cancel(0);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(window.next_id(), (micro_batch_id{1, 0}));
  window.cancel(7);
  window.cancel(1);
  EXPECT_TRUE(window.empty() && !window.replaying() && window.has_room());
}

/// A loader whose edge is replaced, with room for all.
struct replaying_loader {
  replaying_loader() {
    engine.listen({.on_call_size = [](call_size) {},
                   .on_failure = [this](const failure& what) { failures.push_back(what); },
                   .on_paused = [](loading_paused) {},
                   .on_finished = [] {}});
    start_epoch();
  }
  void begin(call_number call, source_ptr source) {
    ASSERT_TRUE(engine.command(loader_command::open_call{call, std::move(source)}));
    run();
  }
  void start_epoch() {
    auto wiring = std::make_shared<engine_wiring>();
    edge_ends made = edges.make({.slots = 64, .producer_bell = nullptr, .consumer_bell = nullptr});
    wiring->outbound.add_edge(wiring->outbound.add_branch({}), std::move(made.producer));
    receiver = std::move(made.consumer);
    ASSERT_TRUE(engine.command(loader_command::start_epoch{std::move(wiring)}));
    run();
  }
  void run() {
    for (int steps = 0; steps < 100; ++steps) static_cast<void>(engine.step());
  }
  ids received() {
    ids seen;
    while (const auto message = receiver->try_receive()) {
      EXPECT_EQ(number_of(message->tensors), message->id.index);
      seen.push_back(message->id);
      receiver->release();
    }
    return seen;
  }

  inproc_edge_factory edges;
  std::vector<failure> failures;
  std::unique_ptr<edge_consumer> receiver;
  loader_engine engine{{.name = "loader", .address = {}, .window = 100, .window_min = 100, .paused = true}};
};

TEST(replaying_loader, goes_on_where_it_was_after_it_has_read_again) {
  replaying_loader loader;
  const auto ended = std::make_shared<numbered_source>(2, true);
  const auto current = std::make_shared<numbered_source>(200, true);
  loader.begin(0, ended);
  loader.begin(1, current);
  const std::size_t before = loader.received().size();
  loader.engine.low_water({0, 1});
  loader.run();
  loader.start_epoch();
  ids all;
  for (ids some = loader.received(); !some.empty(); some = loader.received()) {
    all.insert(all.end(), some.begin(), some.end());
    loader.engine.low_water(some.back());
    loader.run();
  }
  ASSERT_EQ(all.size(), 201u);
  EXPECT_EQ(all.front(), (micro_batch_id{0, 1})) << "of a call that was loaded to its end";
  for (std::size_t k = 1; k < all.size(); ++k) ASSERT_EQ(all[k], (micro_batch_id{1, k - 1}));
  EXPECT_GE(current->indices_reread.size(), before - 2);
  EXPECT_TRUE(loader.failures.empty());
}

TEST(replay_window, a_source_that_does_not_keep_its_word_is_an_error_and_no_end_of_the_process) {
  struct forgetful final : micro_batch_source {
    [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override { return std::nullopt; }
    [[nodiscard]] bool is_rereadable() const noexcept override { return true; }
  };
  struct wrong final : micro_batch_source {
    [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override { return std::nullopt; }
    [[nodiscard]] bool is_rereadable() const noexcept override { return true; }
    [[nodiscard]] expected<loaded_micro_batch> reread(std::uint64_t) override {
      return loaded_micro_batch{{5, 6}, {}, {}};
    }
  };
  for (const std::shared_ptr<micro_batch_source>& source :
       {std::shared_ptr<micro_batch_source>(std::make_shared<forgetful>()),
        std::shared_ptr<micro_batch_source>(std::make_shared<wrong>())}) {
    replay_window window(8, 3);
    window.keep({.id = {0, 0}, .samples = {0, 1}, .tensors = {}, .labels = {}}, 1, source);
    window.begin_replay();
    const expected<activation> again = window.next_replay();
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, error_code::source_failed);
  }
}

TEST(replaying_loader, what_cannot_be_read_again_costs_its_call_alone) {
  for (const bool throws : {false, true}) {
    replaying_loader loader;
    const auto bad = std::make_shared<numbered_source>(3, true);
    (throws ? bad->throws_at : bad->unreadable) = 1;
    loader.begin(0, bad);
    loader.begin(1, std::make_shared<numbered_source>(2, true));
    EXPECT_EQ(loader.received().size(), 5u);
    loader.start_epoch();
    EXPECT_EQ(loader.received(), (ids{{0, 0}, {1, 0}, {1, 1}}));
    ASSERT_EQ(loader.failures.size(), 1u);
    EXPECT_EQ(loader.failures[0].micro_batch, (micro_batch_id{0, 1}));
    const error& cause = loader.failures[0].cause;
    EXPECT_EQ(cause.code, throws ? error_code::source_failed : error_code::data_unreadable);
    EXPECT_NE(to_string(cause).find("it is gone"), std::string::npos);
    EXPECT_NE(cause.where.find(to_string(micro_batch_id{0, 1})), std::string::npos) << cause.where;
  }
}

}  // namespace
}  // namespace troupe
