// Goal: no field of no message that a worker may send reaches the director or the aggregator with a value that cannot
// be true; the worker is killed for it, and the reason names the field. True messages pass, late ones too. Method:
// the production face of a stage under the test's scheduler, around a process that was never started; the test speaks
// for the worker, a table has a lie for every field that the codec knows.
#include <csignal>
#include <functional>
#include <set>

#include <caf/scheduler/test_coordinator.hpp>
#include <gmock/gmock.h>

#include "actors/workers/remote_stage.hpp"
#include "actors/workers/wire_codec.hpp"
#include "messages/codec/schema.hpp"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr stage_address address{1, 0};
constexpr incarnation_number incarnation = 2;
constexpr epoch_number epoch = 3;

struct testing_config : caf::actor_system_config {
  testing_config() { set("scheduler.policy", caf::atom("testing")); }
};

/// For tcp_ends alone, over which nothing is sent here.
struct no_codec final : payload_codec {
  [[nodiscard]] std::size_t size_of(const payload&) const override { return 0; }
  void write(const payload&, std::span<std::byte>) const override {}
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte>, std::shared_ptr<const void>) const override {
    return payload_ptr{};
  }
};

/// A chain of two stages, of which the worker is the last. Call 0 has ended; of call 1 three micro-batches were sent,
/// two of 4 samples and one of 2; call 2 has begun. The worker was asked to open 1.
struct seated_worker {
  explicit seated_worker(std::vector<std::uint64_t> boundaries = {}) {
    for (const micro_batch_id id : {micro_batch_id{0, 0}, micro_batch_id{0, 1}}) note(id, 4);
    sent->learn({1, 0});
    note({1, 0}, 4);
    note({1, 1}, 4);
    note({1, 2}, 2);
    sent->begin(2, 0);

    auto setup = std::make_shared<worker_setup>();
    setup->parcel = [boundaries](stage_address) { return stage_parcel{.boundaries = boundaries}; };
    setup->tcp = *tcp_ends::open(std::make_shared<no_codec>(), std::nullopt);
    const auto plan = expand(make_chain({.stages = 2, .replicas = 1, .num_pipe_buffers = 2}));
    face = system.spawn(remote_stage, remote_stage_options{.at = address,
                                                           .incarnation = incarnation,
                                                           .setup = setup,
                                                           .seats = seats,
                                                           .accounts = accounts,
                                                           .depths = {},
                                                           .place = place_in(*plan, address),
                                                           .sent = sent,
                                                           .pool = system.spawn(pool, this),
                                                           .director = system.spawn(director, this),
                                                           .aggregator = system.spawn(aggregator, this)});
    run();
    post(face, worker_given{process, system.spawn(worker, this), 1});
    run();
    seats->at(address)->page.page()->taken.store(true);  // it begins to become the stage
    auto ticket = std::make_shared<call_ticket>();
    ticket->number = 1;
    ticket->score_words = {3};
    post(face, open_call{ticket});
    post(face, pass_on{{}, epoch, {{1, [this](const error& why) { accused_for = to_string(why); }}}});
    run();
    told.clear();
  }
  ~seated_worker() {
    for (const caf::actor& each : others) caf::anon_send_exit(each, caf::exit_reason::kill);
    caf::anon_send_exit(face, caf::exit_reason::kill);
    run();
  }

  void note(micro_batch_id id, std::uint64_t samples) {
    if (id.index == 0) sent->begin(id.call, 0);
    sent->note(id, samples);
  }
  void says(const wire_message& message) {
    post(face, message);
    run();
  }
  void run() { dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler()).run(); }
  [[nodiscard]] std::string killed_for() const { return process->killed_for(); }

  // --- whom the face speaks to ---

  template <class Message>
  static auto note_as(seated_worker* world, const char* what) {
    return [world, what](const Message&) { world->told.emplace_back(what); };
  }
  static director_actor::behavior_type director(director_actor::pointer self, seated_worker* world) {
    world->others.push_back(caf::actor_cast<caf::actor>(self));
    return {note_as<open_call>(world, "open_call"),
            note_as<cancel_ticket>(world, "cancel_ticket"),
            note_as<cut_calls>(world, "cut_calls"),
            note_as<stop_request>(world, "stop_request"),
            note_as<stage_ready>(world, "stage_ready"),
            [world](const stage_lost& lost) {
              world->told.emplace_back("stage_lost");
              world->lost_for = lost.cause.cause;
            },
            note_as<edge_lost>(world, "edge_lost"),
            note_as<edge_still_lost>(world, "edge_still_lost"),
            note_as<work_lost>(world, "work_lost"),
            note_as<loading_paused>(world, "loading_paused"),
            note_as<failure>(world, "failure"),
            note_as<call_ended>(world, "call_ended"),
            note_as<stopped>(world, "stopped")};
  }
  static aggregator_actor::behavior_type aggregator(aggregator_actor::pointer self, seated_worker* world) {
    world->others.push_back(caf::actor_cast<caf::actor>(self));
    return {[](const meet_loader&) {}, [](const open_call&) { return call_opened{}; },
            note_as<score_batch>(world, "score_batch"), [](const end_of_call&) {}, [](const cancel_call&) {}};
  }
  static worker_pool_actor::behavior_type pool(worker_pool_actor::pointer self, seated_worker* world) {
    world->others.push_back(caf::actor_cast<caf::actor>(self));
    return {[](const worker_said&) {}, [](const want_worker&) {}, [](const worker_exited&) {}, [](const hello_late&) {},
            [](const hello_overdue&) {}};
  }
  static wire_actor::behavior_type worker(wire_actor::pointer self, seated_worker* world) {
    world->others.push_back(caf::actor_cast<caf::actor>(self));
    return {[](const wire_message&) {}};
  }

  testing_config config;
  caf::actor_system system{config};
  std::vector<caf::actor> others;
  const std::shared_ptr<worker_seats> seats = std::make_shared<worker_seats>();
  std::shared_ptr<handed_out> sent = std::make_shared<handed_out>();
  std::shared_ptr<stage_accounts> accounts =
      std::make_shared<stage_accounts>(std::vector<stage_accounts::owner>{{"guess", address}});
  std::unique_ptr<process_host> host = *process_host::create();
  std::pair<fd_channel, unique_fd> channel = *fd_channel::make();
  std::shared_ptr<worker_process> process =
      std::make_shared<worker_process>("worker 0", std::move(channel.first), *host);
  remote_stage_actor face;
  /// Kinds of messages that director and aggregator got.
  std::vector<std::string> told;
  std::string lost_for;
  /// The worker at the other end of edge 1.
  std::string accused_for;
};

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
  wire_message message;
};

/// All about one kind of message.
struct lies_of_a_kind {
  const char* kind;
  wire_message honest;
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
  lies_of_a_kind made{kind, *to_wire(truth<Message>()), codec::arity<Message>, std::move(free), {}};
  for (const auto& [field, forge] : lies) {
    Message said = truth<Message>();
    forge(said);
    made.lies.push_back({field, *to_wire(said)});
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
      seated_worker one;
      post(one.face, stop_request{stop_mode::drain});
      one.says(lie.message);
      EXPECT_THAT(one.killed_for(), HasSubstr("it said what cannot be: " + lie.field + " ")) << each.kind;
      EXPECT_THAT(one.told, IsEmpty()) << lie.field;
    }
  }
}

TEST(a_worker_that_is_honest, is_heard) {
  for (const lies_of_a_kind& each : all_lies()) {
    seated_worker one;
    post(one.face, stop_request{stop_mode::drain});
    one.says(each.honest);
    EXPECT_EQ(one.killed_for(), "") << each.kind;
    const bool is_an_answer = each.kind == std::string("call_opened") || each.kind == std::string("edge_damaged");
    EXPECT_EQ(one.told, is_an_answer ? std::vector<std::string>{} : std::vector<std::string>{each.kind});
  }
}

TEST(a_worker_that_was_sent_what_cannot_be, has_the_other_one_killed) {
  seated_worker one;
  one.says(*to_wire(truth<edge_damaged>()));
  EXPECT_THAT(one.accused_for, HasSubstr("guess was sent what cannot be: edge: no such micro-batch was sent"));
  EXPECT_EQ(one.killed_for(), "");
}

TEST(a_worker_that_speaks_of_an_old_edge, has_none_killed) {
  seated_worker one;
  edge_damaged old = truth<edge_damaged>();
  --old.epoch;
  one.says(*to_wire(old));
  EXPECT_EQ(one.accused_for, "");
  EXPECT_EQ(one.killed_for(), "");
}

TEST(a_worker_that_is_late, tells_no_lie) {
  seated_worker one;
  const wire_message twice = *to_wire(truth<score_batch>());
  one.says(twice);
  one.says(twice);
  one.says(*to_wire(score_batch{{true_score({0, 1}, 4)}}));
  one.says(*to_wire(failure{address, incarnation, {}, micro_batch_id{0, 1}, {}, 1}));
  post(one.face, cancel_call{1, {}});
  one.says(twice);
  one.says(*to_wire(call_opened{1}));
  post(one.face, end_call{1});
  one.sent->learn({2, 0});
  one.says(twice);
  EXPECT_EQ(one.killed_for(), "");
  EXPECT_EQ(one.told.size(), 6U);
}

TEST(a_worker_that_stops_unasked, is_killed_and_counts_as_lost) {
  seated_worker one;
  one.says(*to_wire(truth<stopped>()));
  EXPECT_THAT(one.killed_for(), HasSubstr("it said what cannot be: stopped comes unasked"));
  exit_report report;
  report.kind = exit_kind::signalled;
  report.value = SIGKILL;
  post(one.face, worker_exited{one.process, report});
  one.run();
  EXPECT_THAT(one.told, ElementsAre("stage_lost"));
  EXPECT_THAT(one.lost_for, HasSubstr("stopped comes unasked, and was killed"));
}

TEST(a_worker_that_has_lied_once, is_not_believed_again) {
  seated_worker one;
  one.says(*to_wire(call_opened{7}));
  one.says(*to_wire(truth<stage_ready>()));
  one.says(*to_wire(truth<score_batch>()));
  EXPECT_THAT(one.told, IsEmpty());
}

TEST(a_worker_that_opens_a_call_twice, is_killed) {
  seated_worker one;
  one.says(*to_wire(truth<call_opened>()));
  EXPECT_EQ(one.killed_for(), "");
  one.says(*to_wire(truth<call_opened>()));
  EXPECT_THAT(one.killed_for(), HasSubstr("call_opened.call is 1"));
}

TEST(a_worker_that_sends_what_is_no_message_of_a_worker, is_killed) {
  for (const wire_message& message : {wire_message{}, *to_wire(low_water{{1, 1}})}) {
    seated_worker one;
    one.says(message);
    EXPECT_THAT(one.killed_for(), HasSubstr("it sent nonsense"));
    EXPECT_THAT(one.told, IsEmpty());
  }
}

TEST(a_worker_that_cannot_be_told_what_it_must_know, is_killed) {
  seated_worker one(std::vector<std::uint64_t>(limits::score_words_max + 1));
  EXPECT_THAT(one.killed_for(), HasSubstr("it cannot be told what it must know: error E0701"));
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
