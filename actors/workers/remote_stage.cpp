#include "actors/workers/remote_stage.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "messages/codec/dispatch.hpp"
#include "messages/error_text.hpp"
#include "messages/exception_text.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

/// When a process ends, its connection breaks first. The report of its end comes later and another way: after all of
/// its threads have ended, which takes a while on a busy machine, and after its output was read. This is long enough
/// for it.
constexpr std::chrono::milliseconds patience_with_a_broken_link =
    limits::worker_output_drain_time + std::chrono::milliseconds{500};
static_assert(patience_with_a_broken_link < limits::lost_work_margin,
              "a silent worker is ended before its work counts as lost");

}  // namespace

remote_stage_actor::behavior_type remote_stage(remote_stage_actor::stateful_pointer<remote_stage_state> self,
                                               remote_stage_options options) {
  return self->state.start(std::move(options));
}

remote_stage_actor::behavior_type remote_stage_state::start(remote_stage_options options) {
  options_ = std::move(options);
  name_ = options_.accounts->at(options_.at).name;
  options_.place.incarnation = options_.incarnation;
  options_.place.name = name_;
  options_.place.loses_ends = options_.setup->edges->loses_ends();
  request_worker();
  return {
      [this](const open_ticket& what) { return open(what); },
      [this](const release_call& end) { over(end); },
      [this](const cancel_call& cancel) { over(cancel); },
      [this](const step_decision& decision) { to_worker(decision); },
      [this](const meet_aggregator& meet) { options_.aggregator = meet.aggregator; },
      [this](const stop_request& request) { stop(request); },
      [this](const worker_said& what) { from_worker(what); },
      [this](const worker_granted& given) { take_worker(given); },
      [this](const worker_denied& what) { refused(what); },
      [this](const worker_unlinked& what) { link_broke(what); },
      [this](const worker_exited& what) { exited(what); },
      [this](const worker_silent& what) { still_silent(what); },
      [this](const start_timeout& what) { check_start(what); },
      [this](const forward_to_worker& what) { pass(what); },
  };
}

// --- the worker becomes the stage ------------------------------------------------------------------------------------

void remote_stage_state::request_worker() {
  auto pool = options_.pool();
  if (!pool) return fail_stage(pool.error());
  asked_ = std::move(*pool);
  tell(self_, asked_, troupe::worker_request{remote_stage_actor{self_}});
}

/// Where the node of the pool was lost meanwhile, the stage is placed on another node, whose pool is asked.
void remote_stage_state::refused(const worker_denied& what) {
  if (phase_ != phase::waiting) return;
  const auto pool = options_.pool();
  if (pool && *pool != asked_) return request_worker();
  fail_stage(pool ? what.cause : pool.error());
}

void remote_stage_state::take_worker(const worker_granted& given) {
  worker_ = given.worker;
  if (phase_ != phase::waiting) return worker_->kill();  // the run was stopped meanwhile
  if (const auto lost = lost_state()) {
    worker_->kill();
    return fail_stage(*lost);
  }
  // waiting -> starting: the worker belongs to this stage from now on, and its end is reported here.
  phase_ = phase::starting;
  claims_.emplace(options_.place, options_.sent);
  worker_->rename(name_);
  // A worker that cannot be given its assignment is killed. What follows from that is decided when its end is reported.
  if (const auto assigned = assign(given); !assigned) worker_->kill(brief(assigned.error()));
  wait_for_start(limits::wait_slices - 1);
}

/// The memory of the stage is on the node of its worker before, and outlives that worker, but not its node.
std::optional<error> remote_stage_state::lost_state() const {
  if (!options_.setup->states.contains(options_.at)) return std::nullopt;
  const auto before = options_.registry->at(options_.at);
  if (!before || before->worker->home().node == worker_->home().node) return std::nullopt;
  return error{error_code::training_state_lost, name_,
               "its weights were on node " + before->worker->home().node + ", which is lost",
               "set training_options::protect, or load the last checkpoint into a new engine"};
}

expected<void> remote_stage_state::assign(const worker_granted& given) {
  options_.accounts->add(options_.at, [worker = worker_] { return worker->telemetry(); });
  options_.registry->put(options_.at, {worker_, given.edge_contact});
  const bool shares_memory = options_.loader_page && worker_->home().node == options_.setup->home.node;
  const auto lend_page = [&] {
    return shares_memory ? hand_over("loader", options_.loader_page->memory()) : expected<void>{};
  };
  const auto state = options_.setup->states.find(options_.at);
  if (state != options_.setup->states.end()) {
    TROUPE_TRY(hand_over("state", state->second));
  }
  const bool memory_first = options_.setup->memory_first;
  TROUPE_TRY(memory_first ? lend_page() : expected<void>{});

  const assignment_data assignment = options_.setup->assignment(options_.at);
  const auto warm_up_bytes = TROUPE_TRY(send_warm_up(assignment.warm_up));
  const auto& faults = options_.setup->faults;
  to_worker(worker_assignment{.address = options_.at,
                              .incarnation = options_.incarnation,
                              .fingerprint = options_.setup->fingerprint,
                              .prefetch_slots = options_.depths.from_loader,
                              .stage_slots = options_.depths.between_stages,
                              .threads = assignment.threads,
                              .boundaries = assignment.boundaries,
                              .runs_plain = assignment.runs_plain ? 1u : 0u,
                              .inputs = assignment.inputs,
                              .loader_pages = shares_memory ? 1u : 0u,
                              .warm_up_bytes = warm_up_bytes,
                              .has_state = state != options_.setup->states.end(),
                              .ties = assignment.ties,
                              .faults = faults ? faults->assign(options_.at, worker_) : std::vector<assigned_fault>{}});
  return memory_first ? expected<void>{} : lend_page();
}

expected<void> remote_stage_state::hand_over(const std::string& tag, const blob& what) {
  return worker_->hand_over(tag, {&what, 1});
}

expected<std::uint64_t> remote_stage_state::send_warm_up(const payload_ptr& warm_up) try {
  if (warm_up == nullptr) return 0;
  const payload_codec& codec = *options_.setup->codec;
  const std::uint64_t bytes = codec.size_of(*warm_up);
  auto made = blob::make("troupe-warm-up", bytes, [&](std::span<std::byte> to) { codec.write(*warm_up, to); });
  driver_failed_ = !made;
  const blob memory = TROUPE_TRY(std::move(made));
  return hand_over("warm-up", memory).map([bytes] { return bytes; });
} catch (const std::exception& e) {
  driver_failed_ = true;
  return fail(error_code::forward_failed, name_, "its inputs cannot be sent: " + exception_text(e));
}

// --- messages --------------------------------------------------------------------------------------------------------

template <class Message>
void remote_stage_state::to_worker(const Message& message) {
  if (!has_worker()) return;
  auto bytes = codec::encode(message);
  if (!bytes) return kill_for("it cannot be told what it must know: " + brief(bytes.error()));
  worker_->send(std::move(*bytes));
}

void remote_stage_state::pass(const forward_to_worker& what) {
  if (!has_worker()) return;
  std::set<std::size_t> channels;
  for (const auto& [channel, kill] : what.peers) channels.insert(channel);
  if (claims_) claims_->told_epoch(what.epoch, std::move(channels));
  epoch_ = what.epoch;
  peers_ = what.peers;
  worker_->send(what.message);
}

/// The call has ended or was cancelled.
template <class Message>
void remote_stage_state::over(const Message& end) {
  if (claims_) claims_->told_end(end.call);
  unpack_.erase(end.call);
  to_worker(end);
}

void remote_stage_state::from_worker(const worker_said& what) {
  if (!claims_ || phase_ == phase::lost || what.worker != worker_) return;
  const stage_accounts::taking_in decoding(*options_.accounts);
  const auto taken =
      dispatch<score_batch, step_vote, call_opened, stage_ready, failure, stopped, edge_lost, edge_damaged>(
          what.message, [this](auto&& said) {
            if (const objection wrong = claims_->to(said)) return kill_for(false_claim(*wrong));
            accept(std::forward<decltype(said)>(said));
          });
  if (!taken) kill_for("it sent nonsense: " + brief(taken.error()));
}

template <class Message>
void remote_stage_state::accept(Message&& said) {
  using type = std::decay_t<Message>;
  if constexpr (std::is_same_v<type, call_opened>) {
    opened(said);
  } else if constexpr (std::is_same_v<type, score_batch>) {
    fold(std::forward<Message>(said));
  } else if constexpr (std::is_same_v<type, edge_damaged>) {
    report_damage(said);
  } else {
    // starting, working -> stopped: the last message of an engine. Whatever ends the process now is no loss.
    if constexpr (std::is_same_v<type, stopped>) phase_ = phase::stopped;
    if constexpr (std::is_same_v<type, edge_lost>) {
      said.cause.where = fmt::format("{} (worker {}), {}", name_, worker_->rank(), said.cause.where);
    }
    // starting -> working: the stage has started in time. If its worker ends from now on, the stage has died.
    if constexpr (std::is_same_v<type, stage_ready>) {
      if (phase_ == phase::starting) phase_ = phase::working;
    }
    tell(self_, options_.director, said);
  }
}

/// Scores of a call that has ended are passed on as they came: the aggregator drops them.
void remote_stage_state::fold(score_batch said) {
  for (score& each : said.scores) {
    const auto found = unpack_.find(each.id.call);
    if (found == unpack_.end()) continue;
    if (const objection wrong = found->second(each)) return kill_for(false_claim(*wrong));
  }
  tell(self_, options_.aggregator, std::move(said));
}

/// This worker says that something impossible came over an edge. Either its sender wrote that or this worker lies, and
/// the driver cannot find out which. The edge is of no use any more, so one of the two has to die for there to be new
/// edges: it is the sender.
void remote_stage_state::report_damage(const edge_damaged& what) {
  if (what.epoch != epoch_) return;
  error cause = what.cause;
  cause.where = name_ + " was sent what cannot be: " + cause.where;
  peers_.at(what.channel)(cause);
}

/// The director hears of the death when the end of the process is reported.
void remote_stage_state::kill_for(std::string why) {
  claims_.reset();
  worker_->kill(std::move(why));
}

/// The next worker is looked for when the end of this one is reported: two live processes must not be the same stage.
void remote_stage_state::replace_for(std::string why) {
  worker_->kill(std::move(why));
  if (!options_.setup->awaits_ends) exited({worker_, {}});
}

/// The director repeats a request whose answer is late. The worker is not told again, since the link loses nothing and
/// the worker would answer each order: the answer to the first order goes to the newest request.
caf::result<call_opened> remote_stage_state::open(const open_ticket& open) {
  const call_ticket& call = *open.ticket;
  auto promise = self_->make_response_promise<call_opened>();
  const bool is_new = opening_.insert_or_assign(call.number, promise).second;
  if (claims_) claims_->told_call(call.number, call.score_words);
  if (call.unpack) unpack_.insert_or_assign(call.number, call.unpack);
  if (is_new) to_worker(open_call{call.number, call.start.first(), call.in_workers, call.trains});
  return promise;
}

void remote_stage_state::opened(const call_opened& what) {
  const auto found = opening_.find(what.call);
  if (found == opening_.end()) return;
  found->second.deliver(what);
  opening_.erase(found);
}

void remote_stage_state::stop(const stop_request& request) {
  told_to_stop_ = true;
  if (claims_) claims_->told_to_stop();
  if (has_worker()) return to_worker(request);
  if (phase_ != phase::waiting) return;
  // waiting -> stopped: there is no engine that could say so.
  phase_ = phase::stopped;
  tell(self_, options_.director, stopped{.address = options_.at, .incarnation = options_.incarnation});
}

// --- the end of the worker -------------------------------------------------------------------------------------------

void remote_stage_state::link_broke(const worker_unlinked& what) {
  tell_after(self_, patience_with_a_broken_link, remote_stage_actor{self_}, worker_silent{what.worker});
}

/// The link broke a while ago, and no end of the process was reported: the process is frozen, or cannot be reached. It
/// is killed, because it must not wake up and go on beside its successor.
void remote_stage_state::still_silent(const worker_silent& what) {
  if (!has_worker() || what.worker != worker_) return;
  replace_for("it was silent for " + std::to_string(options_.setup->asked.timeout.count()) + " ms");
}

/// The wait is made of several timers, each started when the one before it has ended: if this process is frozen for a
/// long time, only one of them runs out meanwhile.
void remote_stage_state::wait_for_start(std::uint32_t slices_left) {
  tell_after(self_, options_.setup->asked.start_deadline / limits::wait_slices, remote_stage_actor{self_},
             start_timeout{worker_, slices_left});
}

/// Heartbeats say that the process lives. They do not say that it will ever become the stage.
void remote_stage_state::check_start(const start_timeout& what) {
  if (phase_ != phase::starting || what.worker != worker_) return;
  if (what.slices_left > 0) return wait_for_start(what.slices_left - 1);
  const double seconds = std::chrono::duration<double>(options_.setup->asked.start_deadline).count();
  replace_for(fmt::format("it did not become its stage within {} s", seconds));
}

void remote_stage_state::exited(const worker_exited& what) {
  if (!has_worker() || what.worker != worker_) return;
  options_.accounts->end(options_.at);
  if (options_.setup->faults) options_.setup->faults->look();
  const exit_report& report = what.report;
  const error cause{error_code::stage_lost, name_ + " (" + worker_->place() + ")", worker_->end_of(report),
                    "see its last lines, if any"};
  if (ended_before_it_began() && !told_to_stop_) {
    worker_->log_end(report, "ended before it began on its stage");
    return ask_for_another(cause);
  }
  // starting, working -> lost: this incarnation is over. The director starts the next one, which gets an actor of its
  // own; requests without an answer are dropped, as the director repeats them there.
  phase_ = phase::lost;
  opening_.clear();
  tell(self_, options_.director,
       stage_lost{options_.at, options_.incarnation, cause, working_on(), worker_->rank(), name_in_log()});
}

std::string remote_stage_state::name_in_log() const {
  const std::string layers = options_.setup->assignment(options_.at).layers;
  return fmt::format("{} ({}{})", name_, layers.empty() ? "" : layers + ", ", worker_->place());
}

/// The worker wrote the id into its page, and may have written anything: an id that was never sent is not passed on.
std::optional<micro_batch_id> remote_stage_state::working_on() const {
  const auto id = worker_->telemetry().working_on;
  return id && options_.sent->find(*id).now == handed_out::standing::never ? std::nullopt : id;
}

/// The worker ended before it began to become the stage, so the stage cannot have caused its death. Telemetry of
/// another node may be late and say so of a stage that was ready. That one counts as lost: it had edges, and only the
/// director makes new ones.
bool remote_stage_state::ended_before_it_began() const {
  return phase_ == phase::starting && !driver_failed_ && !worker_->telemetry().has_begun;
}

void remote_stage_state::ask_for_another(const error& cause) {
  // starting -> waiting: the same incarnation gets another worker, and no death of the stage is counted.
  phase_ = phase::waiting;
  if (!first_dead_) first_dead_ = cause;
  if (++dead_when_given_ < limits::workers_dead_when_given_max) {
    return request_worker();
  }
  fail_stage({error_code::process_failed, first_dead_->where,
              fmt::format("{} workers in a row ended before they began to become it; the first: {}", dead_when_given_,
                          first_dead_->cause),
              "find out who ends them: the kernel's log names processes that took too much memory"});
}

void remote_stage_state::fail_stage(const error& cause) {
  if (phase_ != phase::waiting) return;
  tell(self_, options_.director, failure{options_.at, options_.incarnation, name_, std::nullopt, cause, 0});
  // waiting -> stopped: the failure ends the run, which waits for `stopped` of every stage.
  phase_ = phase::stopped;
  tell(self_, options_.director, stopped{.address = options_.at, .incarnation = options_.incarnation});
}

}  // namespace troupe
