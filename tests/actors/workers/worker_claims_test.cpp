// Goal: no field of no message that a worker may send reaches the director or the aggregator with a value that cannot
// be true; the worker is killed for it, and the reason names the field. True messages pass, late ones too. Method:
// the production actor of a stage under the test's scheduler, around a worker that is no process; the test speaks
// for the worker, a table has a lie for every field that the codec knows.
#include <algorithm>
#include <csignal>
#include <functional>
#include <set>

#include <gmock/gmock.h>

#include "messages/codec/schema.hpp"
#include "tests/actors/workers/assigned_worker.hpp"

namespace troupe {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// --- true messages ---------------------------------------------------------------------------------------------------

score true_score(micro_batch_id id, std::uint64_t samples) {
  score made;
  made.id = id;
  made.sender_incarnation = incarnation;
  made.samples = samples;
  made.words = {1, 2, 3};
  return made;
}

template <class Message>
Message truth();
template <>
stage_ready truth() {
  return {address, incarnation};
}
template <>
score_batch truth() {
  return {{true_score({1, 0}, 4), true_score({1, 2}, 2)}};
}
template <>
failure truth() {
  return {address, incarnation, "guess", micro_batch_id{1, 1}, {error_code::forward_failed, "guess", "it broke", {}},
          2};
}
template <>
stopped truth() {
  return {address, incarnation, 5, 1};
}
template <>
edge_lost truth() {
  return {epoch, {error_code::peer_lost, "edge 0", "the connection broke", {}}};
}
template <>
edge_damaged truth() {
  return {epoch, 1, {error_code::wire_malformed, "edge", "no such micro-batch was sent", {}}};
}
template <>
call_opened truth() {
  return {1};
}

// --- lies ------------------------------------------------------------------------------------------------------------

/// Which field, in the words of the reason, and how to say it.
struct lie_told {
  std::string field;
  codec::bytes message;
};

/// All about one kind of message.
struct lies_of_a_kind {
  const char* kind;
  codec::bytes honest;
  /// Fields that the codec knows, and those that anything may stand in.
  std::size_t fields;
  std::set<std::string> free;
  std::vector<lie_told> lies;

  /// Of those lied about, the first parts of the names behind the message's own.
  [[nodiscard]] std::size_t fields_covered() const {
    std::set<std::string> names = free;
    for (const lie_told& each : lies) {
      const std::size_t from = each.field.find('.') + 1;
      names.insert(each.field.substr(from, each.field.find('.', from) - from));
    }
    return names.size();
  }
};

template <class Message>
lies_of_a_kind lies_about(const char* kind, std::set<std::string> free,
                          const std::vector<std::pair<std::string, std::function<void(Message&)>>>& lies) {
  lies_of_a_kind made{kind, *codec::encode(truth<Message>()), codec::arity<Message>, std::move(free), {}};
  for (const auto& [field, forge] : lies) {
    Message said = truth<Message>();
    forge(said);
    made.lies.push_back({field, *codec::encode(said)});
  }
  return made;
}

/// Of the second score; the first is true.
lies_of_a_kind lies_about_scores() {
  const auto in = [](const std::function<void(score&)>& forge) {
    return [forge](score_batch& said) { forge(said.scores.back()); };
  };
  lies_of_a_kind made =
      lies_about<score_batch>("score_batch", {},
                              {{"score.id.call", in([](score& said) { said.id.call = 99; })},
                               {"score.id.call", in([](score& said) { said.id.call = 3; })},
                               {"score.id.index", in([](score& said) { said.id.index = 1'000'000; })},
                               {"score.id.index", in([](score& said) { said.id.index = 3; })},
                               {"score.id.index", in([](score& said) {
                                  said.id = {2, 0};
                                })},
                               {"score.sink", in([](score& said) { said.sink = 77; })},
                               {"score.sink", in([](score& said) { said.sink = 1; })},
                               {"score.sender_incarnation", in([](score& said) { --said.sender_incarnation; })},
                               {"score.samples", in([](score& said) { said.samples = 4; })},
                               {"score.samples", in([](score& said) { said.samples = 0; })},
                               {"score.words", in([](score& said) { said.words.push_back(0); })},
                               {"score.words", in([](score& said) { said.words.clear(); })}});
  made.fields = codec::arity<score>;
  return made;
}

std::vector<lies_of_a_kind> all_lies() {
  const auto too_long = std::numeric_limits<std::uint64_t>::max();
  return {
      lies_about_scores(),
      lies_about<stage_ready>("stage_ready", {},
                              {{"stage_ready.address", [](stage_ready& said) { said.address.stage = 77; }},
                               {"stage_ready.address", [](stage_ready& said) { said.address.replica = 1; }},
                               {"stage_ready.incarnation", [](stage_ready& said) { ++said.incarnation; }}}),
      lies_about<failure>(
          "failure", {},
          {{"failure.address", [](failure& said) { said.address.stage = 0; }},
           {"failure.incarnation", [](failure& said) { said.incarnation = 0; }},
           {"failure.stage_name", [](failure& said) { said.stage_name = "another"; }},
           {"failure.micro_batch.call", [](failure& said) { said.micro_batch->call = 99; }},
           {"failure.micro_batch.index", [](failure& said) { said.micro_batch->index = 3; }},
           {"failure.cause.code", [](failure& said) { said.cause.code = error_code::interrupted; }},
           {"failure.attempts", [](failure& said) { said.attempts = limits::forward_attempts_max + 1; }}}),
      lies_about<stopped>(
          "stopped", {},
          {{"stopped.address", [](stopped& said) { said.address.stage = 0; }},
           {"stopped.incarnation", [](stopped& said) { said.incarnation = 0; }},
           {"stopped.micro_batches", [](stopped& said) { said.micro_batches = 6; }},
           {"stopped.forward_nanoseconds", [=](stopped& said) { said.forward_nanoseconds = too_long; }}}),
      lies_about<edge_lost>("edge_lost", {"cause"},
                            {{"edge_lost.epoch", [](edge_lost& said) { said.epoch = epoch + 1; }},
                             {"edge_lost.epoch", [](edge_lost& said) { said.epoch = 0; }}}),
      lies_about<edge_damaged>("edge_damaged", {"cause"},
                               {{"edge_damaged.epoch", [](edge_damaged& said) { said.epoch = epoch + 1; }},
                                {"edge_damaged.epoch", [](edge_damaged& said) { said.epoch = 0; }},
                                {"edge_damaged.channel", [](edge_damaged& said) { said.channel = 0; }},
                                {"edge_damaged.channel", [](edge_damaged& said) { said.channel = 77; }}}),
      lies_about<call_opened>("call_opened", {}, {{"call_opened.call", [](call_opened& said) { said.call = 2; }}}),
  };
}

TEST(a_worker_that_lies, is_killed_and_reaches_no_other_actor) {
  for (const lies_of_a_kind& each : all_lies()) {
    EXPECT_EQ(each.fields_covered(), each.fields) << "a field of " << each.kind << " has no lie";
    for (const lie_told& lie : each.lies) {
      assigned_worker one;
      post(one.stage, stop_request{stop_mode::abort});
      one.says(lie.message);
      EXPECT_THAT(one.killed_for(), HasSubstr("it said what cannot be: " + lie.field + " ")) << each.kind;
      EXPECT_THAT(one.told, IsEmpty()) << lie.field;
    }
  }
}

TEST(a_worker_that_is_honest, is_heard) {
  for (const lies_of_a_kind& each : all_lies()) {
    assigned_worker one;
    post(one.stage, stop_request{stop_mode::abort});
    one.says(each.honest);
    EXPECT_EQ(one.killed_for(), "") << each.kind;
    const bool is_an_answer = each.kind == std::string("call_opened") || each.kind == std::string("edge_damaged");
    EXPECT_EQ(one.told, is_an_answer ? std::vector<std::string>{} : std::vector<std::string>{each.kind});
  }
}

TEST(a_worker_that_was_sent_what_cannot_be, has_the_other_one_killed) {
  assigned_worker one;
  one.says(*codec::encode(truth<edge_damaged>()));
  EXPECT_THAT(one.damage_reported, HasSubstr("guess was sent what cannot be: edge: no such micro-batch was sent"));
  EXPECT_EQ(one.killed_for(), "");
}

TEST(a_worker_that_speaks_of_an_old_edge, has_none_killed) {
  assigned_worker one;
  edge_damaged old = truth<edge_damaged>();
  --old.epoch;
  one.says(*codec::encode(old));
  EXPECT_EQ(one.damage_reported, "");
  EXPECT_EQ(one.killed_for(), "");
}

TEST(a_worker_whose_words_cannot_be_unpacked, is_killed_and_reaches_no_other_actor) {
  for (const bool is_true : {true, false}) {
    assigned_worker one;
    auto ticket = std::make_shared<call_ticket>();
    ticket->number = 1;
    ticket->unpack = [&](score& said) -> std::optional<std::string> {
      if (!is_true && said.id.index == 2) return "score.words have no outputs that can be read";
      return std::nullopt;
    };
    post(one.stage, open_ticket{ticket});
    one.run();
    one.told.clear();
    one.says(*codec::encode(truth<score_batch>()));
    EXPECT_EQ(one.killed_for(), is_true ? "" : "it said what cannot be: score.words have no outputs that can be read");
    EXPECT_EQ(one.told.size(), is_true ? 1U : 0U);
  }
}

TEST(a_worker_that_is_late, tells_no_lie) {
  assigned_worker one;
  const codec::bytes twice = *codec::encode(truth<score_batch>());
  one.says(twice);
  one.says(twice);
  one.says(*codec::encode(score_batch{{true_score({0, 1}, 4)}}));
  one.says(*codec::encode(failure{address, incarnation, {}, micro_batch_id{0, 1}, {}, 1}));
  post(one.stage, cancel_call{1, {}});
  one.says(twice);
  one.says(*codec::encode(call_opened{1}));
  post(one.stage, release_call{1});
  one.sent->set_low_water({2, 0});
  one.says(twice);
  EXPECT_EQ(one.killed_for(), "");
  EXPECT_EQ(one.told.size(), 6U);
}

TEST(a_worker_that_stops_unasked, is_killed_and_counts_as_lost) {
  assigned_worker one;
  one.says(*codec::encode(truth<stopped>()));
  EXPECT_THAT(one.killed_for(), HasSubstr("it said what cannot be: stopped comes unasked"));
  exit_report report;
  report.kind = exit_kind::signalled;
  report.value = SIGKILL;
  post(one.stage, worker_exited{one.worker, report});
  one.run();
  EXPECT_THAT(one.told, ElementsAre("stage_lost"));
  EXPECT_THAT(one.lost_for, HasSubstr("stopped comes unasked, and was killed"));
}

TEST(a_worker_that_has_lied_once, is_not_believed_again) {
  assigned_worker one;
  one.says(*codec::encode(call_opened{7}));
  one.says(*codec::encode(truth<stage_ready>()));
  one.says(*codec::encode(truth<score_batch>()));
  EXPECT_THAT(one.told, IsEmpty());
}

TEST(a_worker_that_opens_a_call_twice, is_killed) {
  assigned_worker one;
  one.says(*codec::encode(truth<call_opened>()));
  EXPECT_EQ(one.killed_for(), "");
  one.says(*codec::encode(truth<call_opened>()));
  EXPECT_THAT(one.killed_for(), HasSubstr("call_opened.call is 1"));
}

TEST(a_worker_that_is_slow_to_open_a_call, is_asked_once) {
  assigned_worker one;
  auto ticket = std::make_shared<call_ticket>();
  ticket->number = 1;
  ticket->score_words = {3};
  caf::scoped_actor director{one.system};
  auto again = director->request(one.stage, caf::infinite, open_ticket{ticket});
  one.run();
  const auto asked = std::ranges::count_if(
      one.worker->sent, [](const codec::bytes& order) { return codec::kind_of(order) == message_kind::open_call; });
  EXPECT_EQ(asked, 1) << "it would answer each time, which is a lie the second time";
  one.says(*codec::encode(truth<call_opened>()));
  bool is_answered = false;
  again.receive([&](const call_opened& what) { is_answered = what.call == 1; }, [](const caf::error&) {});
  EXPECT_TRUE(is_answered);
}

TEST(a_worker_that_sends_what_is_no_message_of_a_worker, is_killed) {
  for (const codec::bytes& message : {codec::bytes{}, *codec::encode(open_call{1, 1})}) {
    assigned_worker one;
    one.says(message);
    EXPECT_THAT(one.killed_for(), HasSubstr("it sent nonsense"));
    EXPECT_THAT(one.told, IsEmpty());
  }
}

TEST(a_worker_that_cannot_be_told_what_it_must_know, is_killed) {
  assigned_worker one(std::vector<std::uint64_t>(limits::score_words_max + 1));
  EXPECT_THAT(one.killed_for(), HasSubstr("it cannot be told what it must know: E0701"));
}

// --- parts and replicas ----------------------------------------------------------------------------------------------

TEST(worker_claims, lets_parts_have_fewer_samples_and_each_replica_its_own_ids) {
  const auto sent = std::make_shared<handed_out>();
  sent->begin(0, 0);
  for (std::uint64_t index = 0; index < 4; ++index) sent->note({0, index}, 4);
  worker_claims claims({.address = {0, 1},
                        .incarnation = incarnation,
                        .name = "part",
                        .sinks = {0, 2},
                        .has_parts = true,
                        .replicas = 2},
                       sent);
  claims.told_call(0, {1, 1, 3});
  const auto about = [&](std::uint64_t index, std::uint64_t samples, std::size_t words) {
    score made = true_score({0, index}, samples);
    made.sink = 2;
    made.words.resize(words);
    return claims.to(score_batch{{made}}).value_or("");
  };
  EXPECT_EQ(about(1, 4, 3), "");
  EXPECT_EQ(about(3, 1, 3), "");
  EXPECT_EQ(about(3, 0, 0), "") << "an empty part";
  EXPECT_THAT(about(1, 5, 3), HasSubstr("score.samples is 5"));
  EXPECT_THAT(about(2, 4, 3), HasSubstr("score.id.index is 2, which is another replica's"));
  EXPECT_THAT(about(1, 4, 0), HasSubstr("score.words"));
}

}  // namespace
}  // namespace troupe
