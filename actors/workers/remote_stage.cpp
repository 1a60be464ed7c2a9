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

/// Long enough for the news of a process's end, which comes another way than that of its connection's: after all of its
/// threads have ended, which takes a while on a busy machine, and its output was read.
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

/// The node may have been lost meanwhile: the stage is placed on another one then.
void remote_stage_state::refused(const worker_denied& what) {
  if (phase_ != phase::waiting) return;
  const auto pool = options_.pool();
  if (pool && *pool != asked_) return request_worker();
  fail_stage(pool ? what.cause : pool.error());
}

void remote_stage_state::take_worker(const worker_granted& given) {
  worker_ = given.worker;
  if (phase_ != phase::waiting) return worker_->kill();  // the run has ended meanwhile
  phase_ = phase::assigned;
  claims_.emplace(options_.place, options_.sent);
  believed_ = true;
  takes_blobs_ = true;
  worker_->rename(name_);
  // A worker that takes nothing is as good as dead; its end is told as any other's.
  const auto assigned = assign(given);
  driver_failed_ = !assigned && takes_blobs_;
  if (!assigned) worker_->kill(brief(assigned.error()));
  wait_for_start(limits::wait_slices - 1);
}

expected<void> remote_stage_state::assign(const worker_granted& given) {
  options_.accounts->add(options_.at, [worker = worker_] { return worker->telemetry(); });
  options_.registry->put(options_.at, {worker_, given.edge_contact});
  const bool shares_memory = options_.loader_page && worker_->home().node == options_.setup->home.node;
  const auto lend_page = [&] {
    return shares_memory ? hand_over("loader", options_.loader_page->memory()) : expected<void>{};
  };
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
                              .plain_layers = assignment.plain_layers,
                              .loader_pages = shares_memory ? 1u : 0u,
                              .warm_up_bytes = warm_up_bytes,
                              .faults = faults ? faults->assign(options_.at, worker_) : std::vector<assigned_fault>{}});
  return memory_first ? expected<void>{} : lend_page();
}

expected<void> remote_stage_state::hand_over(const std::string& tag, const blob& what) {
  auto sent = worker_->hand_over(tag, {&what, 1});
  takes_blobs_ = sent.has_value();
  return sent;
}

expected<std::uint64_t> remote_stage_state::send_warm_up(const payload_ptr& warm_up) try {
  if (warm_up == nullptr) return 0;
  const payload_codec& codec = *options_.setup->codec;
  const std::uint64_t bytes = codec.size_of(*warm_up);
  const auto made =
      TROUPE_TRY(blob::make("troupe-warm-up", bytes, [&](std::span<std::byte> to) { codec.write(*warm_up, to); }));
  return hand_over("warm-up", made).map([bytes] { return bytes; });
} catch (const std::exception& e) {
  return fail(error_code::forward_failed, name_, "its inputs cannot be sent: " + exception_text(e));
}

// --- messages --------------------------------------------------------------------------------------------------------

template <class Message>
void remote_stage_state::to_worker(const Message& message) {
  if (phase_ != phase::assigned) return;
  auto bytes = codec::encode(message);
  if (!bytes) return kill_for("it cannot be told what it must know: " + brief(bytes.error()));
  worker_->send(std::move(*bytes));
}

void remote_stage_state::pass(const forward_to_worker& what) {
  if (phase_ != phase::assigned) return;
  std::set<std::size_t> channels;
  for (const auto& [channel, kill] : what.peers) channels.insert(channel);
  claims_->told_epoch(what.epoch, std::move(channels));
  epoch_ = what.epoch;
  peers_ = what.peers;
  worker_->send(what.message);
}

/// A call that has ended or was cancelled.
template <class Message>
void remote_stage_state::over(const Message& end) {
  if (claims_) claims_->told_end(end.call);
  unpack_.erase(end.call);
  to_worker(end);
}

void remote_stage_state::from_worker(const worker_said& what) {
  if (!claims_ || phase_ == phase::lost || !believed_ || what.worker != worker_) return;
  const stage_accounts::taking_in decoding(*options_.accounts);
  const auto taken = dispatch<score_batch, call_opened, stage_ready, failure, stopped, edge_lost, edge_damaged>(
      what.message, [this](auto&& said) {
        if (const objection wrong = claims_->to(said)) return kill_for(lie(*wrong));
        believe(std::forward<decltype(said)>(said));
      });
  if (!taken) kill_for("it sent nonsense: " + brief(taken.error()));
}

template <class Message>
void remote_stage_state::believe(Message&& said) {
  using type = std::decay_t<Message>;
  if constexpr (std::is_same_v<type, call_opened>) {
    opened(said);
  } else if constexpr (std::is_same_v<type, score_batch>) {
    fold(std::forward<Message>(said));
  } else if constexpr (std::is_same_v<type, edge_damaged>) {
    accuse(said);
  } else {
    if constexpr (std::is_same_v<type, stopped>) phase_ = phase::stopped;
    if constexpr (std::is_same_v<type, edge_lost>) {
      said.cause.where = fmt::format("{} (worker {}), {}", name_, worker_->rank(), said.cause.where);
    }
    ready_ = ready_ || std::is_same_v<type, stage_ready>;
    tell(self_, options_.director, said);
  }
}

/// Late scores stay packed: the aggregator drops them.
void remote_stage_state::fold(score_batch said) {
  for (score& each : said.scores) {
    const auto found = unpack_.find(each.id.call);
    if (found == unpack_.end()) continue;
    if (const objection wrong = found->second(each)) return kill_for(lie(*wrong));
  }
  tell(self_, options_.aggregator, std::move(said));
}

/// One of the two is wrong, and an edge that both can use again takes the death of one: of the one that wrote.
void remote_stage_state::accuse(const edge_damaged& what) {
  if (what.epoch != epoch_) return;
  error cause = what.cause;
  cause.where = name_ + " was sent what cannot be: " + cause.where;
  peers_.at(what.channel)(cause);
}

/// Its end is told as any other's.
void remote_stage_state::kill_for(std::string why) {
  believed_ = false;
  worker_->kill(std::move(why));
}

/// Its successor is looked for when its end is told.
void remote_stage_state::replace_for(std::string why) {
  worker_->kill(std::move(why));
  if (!options_.setup->awaits_ends) exited({worker_, {}});
}

/// A request that comes again before the answer gets the answer to the first order: the link has lost nothing, and the
/// worker would answer each order.
caf::result<call_opened> remote_stage_state::open(const open_ticket& open) {
  const call_ticket& call = *open.ticket;
  auto promise = self_->make_response_promise<call_opened>();
  const bool is_new = opening_.insert_or_assign(call.number, promise).second;
  if (claims_) claims_->told_call(call.number, call.score_words);
  if (call.unpack) unpack_.insert_or_assign(call.number, call.unpack);
  if (is_new) to_worker(open_call{call.number, call.start.first(), call.in_workers});
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
  if (phase_ == phase::assigned) return to_worker(request);
  if (phase_ != phase::waiting) return;
  phase_ = phase::stopped;
  tell(self_, options_.director, stopped{.address = options_.at, .incarnation = options_.incarnation});
}

// --- the end of the worker -------------------------------------------------------------------------------------------

void remote_stage_state::link_broke(const worker_unlinked& what) {
  tell_after(self_, patience_with_a_broken_link, remote_stage_actor{self_}, worker_silent{what.worker});
}

/// A process whose link is gone and that still lives is frozen, or as good as that: it must not wake up again.
void remote_stage_state::still_silent(const worker_silent& what) {
  if (phase_ != phase::assigned || what.worker != worker_) return;
  replace_for("it was silent for " + std::to_string(options_.setup->asked.timeout.count()) + " ms");
}

/// In slices: of a freeze of this process no more than one counts.
void remote_stage_state::wait_for_start(std::uint32_t slices_left) {
  tell_after(self_, options_.setup->asked.start_deadline / limits::wait_slices, remote_stage_actor{self_},
             start_timeout{worker_, slices_left});
}

/// Its heartbeats say that the process lives, not that its stage will ever be there.
void remote_stage_state::check_start(const start_timeout& what) {
  if (phase_ != phase::assigned || ready_ || what.worker != worker_) return;
  if (what.slices_left > 0) return wait_for_start(what.slices_left - 1);
  const double seconds = std::chrono::duration<double>(options_.setup->asked.start_deadline).count();
  replace_for(fmt::format("it did not become its stage within {} s", seconds));
}

void remote_stage_state::exited(const worker_exited& what) {
  if (phase_ != phase::assigned || what.worker != worker_) return;
  options_.accounts->end(options_.at);
  if (options_.setup->faults) options_.setup->faults->look();
  const exit_report& report = what.report;
  const error cause{error_code::stage_lost, name_ + " (" + worker_->place() + ")", worker_->end_of(report),
                    "see its last lines, if any"};
  if (was_dead_before() && !told_to_stop_) {
    worker_->log_end(report, "ended before it began on its stage");
    return ask_for_another(cause);
  }
  phase_ = phase::lost;
  opening_.clear();
  tell(self_, options_.director,
       stage_lost{options_.at, options_.incarnation, cause, working_on(), worker_->rank(), name_in_log()});
}

std::string remote_stage_state::name_in_log() const {
  const std::string layers = options_.setup->assignment(options_.at).layers;
  return fmt::format("{} ({}{})", name_, layers.empty() ? "" : layers + ", ", worker_->place());
}

/// The worker wrote it: what was never sent accuses nothing.
std::optional<micro_batch_id> remote_stage_state::working_on() const {
  const auto id = worker_->telemetry().working_on;
  return id && options_.sent->find(*id).now == handed_out::standing::never ? std::nullopt : id;
}

/// It never began to become the stage, so that the stage has no part in its death. Telemetry of another node may be
/// late: a stage that was ready has its edges, and only the director makes new ones.
bool remote_stage_state::was_dead_before() const {
  return !driver_failed_ && !ready_ && !worker_->telemetry().has_begun;
}

void remote_stage_state::ask_for_another(const error& cause) {
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
  phase_ = phase::stopped;
  tell(self_, options_.director, stopped{.address = options_.at, .incarnation = options_.incarnation});
}

}  // namespace troupe
