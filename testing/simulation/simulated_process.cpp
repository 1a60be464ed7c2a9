#include "testing/simulation/simulated_process.hpp"

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <utility>

#include "actors/workers/worker_stages.hpp"
#include "messages/codec/dispatch.hpp"
#include "messages/try.hpp"
#include "runtime/link/numbered_link.hpp"

namespace troupe::simulation {
namespace {

/// Thrown through what the worker does when it ends itself: nothing behind it happens any more.
struct process_ended {};

/// Longer than most messages take.
constexpr nanoseconds blob_time = 1ms;

/// The production actor; an exception that leaves it is the end of the process, and no news.
worker_actor_type::behavior_type quiet_worker(worker_actor_type::stateful_pointer<worker_actor_state> self,
                                              std::shared_ptr<worker_body> body) {
  self->set_exception_handler(
      [](std::exception_ptr&) { return caf::make_error(caf::exit_reason::unhandled_exception); });
  return worker_actor(self, std::move(body));
}

/// Mutant: messages travel as they are.
std::shared_ptr<message_link> above(const std::shared_ptr<message_link>& below, const plan& what) {
  return what.broken == mutant::messages_said_again ? below : number_messages(below);
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char each : text) hash = mix(hash, static_cast<unsigned char>(each));
  return hash;
}

tl::unexpected<error> has_not_come(const std::string& tag) {
  return fail(error_code::wire_malformed, "channel", "no descriptors came for \"" + tag + "\"");
}

bool strikes(const fault& each, fault_kind kind, stage_index stage, micro_batch_id id) {
  return each.kind == kind && each.stage == stage && each.call == id.call && each.index == id.index;
}

}  // namespace

simulated_process::simulated_process(std::uint32_t number, worker_surroundings& around,
                                     std::shared_ptr<worker_listener> listener)
    : number_(number),
      around_(around),
      listener_(std::move(listener)),
      below_worker_(
          std::make_shared<simulated_link_end>([this](codec::bytes message) { go_down(std::move(message)); })),
      below_driver_(std::make_shared<simulated_link_end>([this](codec::bytes message) { go_up(std::move(message)); })),
      to_worker_(above(below_worker_, around_.what)) {
  state_->number = number;
  to_worker_->start({.on_message = [this](codec::bytes message) { hear(std::move(message)); },
                     .on_lost = [this](const error&) { be_unlinked(); }});
  around_.left.watch(leftover::page, page_);
  around_.left.watch(leftover::link, to_worker_);
  blobs_.insert("page");
  note(happening::blob_arrived, {.value = hash_of("page")});
}

/// What the lower end tells holds the link above it, which holds the lower end.
simulated_process::~simulated_process() {
  below_worker_->close();
  below_driver_->close();
}

void simulated_process::note(happening what, event more) {
  more.at_ns = around_.now.count();
  more.what = what;
  more.worker = number_;
  if (assignment_) {
    more.stage = assignment_->address.stage;
    more.replica = assignment_->address.replica;
    more.incarnation = assignment_->incarnation;
  }
  around_.seen.note(more);
}

worker_description simulated_process::describe_run() {
  return {.plan = around_.wiring,
          .fingerprint = [] { return std::uint64_t{1}; },
          .codec = std::make_shared<hash_codec>(),
          .trace = around_.what.faults.empty() ? &around_.trace.clock : nullptr,
          .make_body = [this](const worker_assignment& to, const assigned_memory&) -> expected<engine_body> {
            if (!around_.what.trains) return make_hash_body(*this, around_.what, to.address.stage);
            return make_hash_training_body(*this, around_.weights.at(to.address), to.address, around_.what);
          },
          .make_scorer = [](std::uint32_t, const scoring&) -> expected<std::shared_ptr<scorer>> {
            return std::make_shared<hash_scorer>();
          }};
}

void simulated_process::boot() {
  if (!lives()) return;
  has_booted_ = true;
  const auto driver = above(below_driver_, around_.what);
  around_.left.watch(leftover::link, driver);
  driver->start(
      {.on_message = [this](codec::bytes message) { obey(std::move(message)); },
       .on_lost = [this](const error&) { die(exit_cause::by_itself, exit_kind::exited, 1, "its driver is gone"); }});
  is_inside_ = true;
  actor_ = around_.system.spawn(quiet_worker, std::make_shared<worker_body>(worker_body{
                                                  describe_run(), *this, around_.network.of(state_), driver}));
  run_actor();
  is_inside_ = false;
  tidy_up();
}

/// Its actor alone, at once: what it is told is done when it is told.
void simulated_process::run_actor() {
  while (around_.scheduler().prioritize(actor_)) around_.scheduler().run_once();
}

// --- from the driver -------------------------------------------------------------------------------------------------

void simulated_process::is_meant_for(stage_address at) {
  meant_for_ = at;
  around_.seen.note({.at_ns = around_.now.count(),
                     .what = happening::given,
                     .worker = number_,
                     .stage = at.stage,
                     .replica = at.replica});
}

void simulated_process::take_blob(const std::string& tag) {
  coming_.push_back({tag, sent_down_, around_.now + blob_time});
}

/// As hosted_worker promises: a blob is there before any message that is sent later. Before one that was sent earlier
/// it is there by chance.
void simulated_process::find_blobs(std::uint64_t number) {
  std::erase_if(coming_, [&](const coming_blob& each) {
    const bool is_there = each.behind < number || each.due <= around_.now;
    if (!is_there) return false;
    blobs_.insert(each.tag);
    note(happening::blob_arrived, {.value = hash_of(each.tag)});
    return true;
  });
}

void simulated_process::go_down(codec::bytes message) {
  if (!lives() || is_unlinked_) return;
  put_on_way(std::move(message), last_down_, [this, number = ++sent_down_](codec::bytes arrived) {
    waiting_.push_back({number, std::move(arrived)});
    arrive_from_driver();
  });
}

void simulated_process::arrive_from_driver() {
  while (!waiting_.empty() && lives() && !is_frozen() && has_booted_) {
    numbered_bytes next = std::move(waiting_.front());
    waiting_.pop_front();
    find_blobs(next.number);
    below_driver_->events.on_message(std::move(next.message));
  }
}

void simulated_process::obey(codec::bytes message) {
  if (is_hung_) return;
  const auto kind = codec::kind_of(message);
  if (kind && *kind == message_kind::worker_assignment) {
    static_cast<void>(dispatch<worker_assignment>(message, [&](const worker_assignment& to) {
      assignment_ = to;
      note(happening::became_stage);
      note(happening::order_taken, {.value = hash_of("page")});
      if (to.loader_pages != 0) note(happening::order_taken, {.value = hash_of("loader")});
    }));
    is_hung_ = hangs_now();
    if (is_hung_) return page_->taken.store(true);  // what it cannot finish it has begun
  }
  if (kind && *kind == message_kind::wiring_order) {
    static_cast<void>(dispatch<wiring_order>(message, [&](const wiring_order& order) {
      note(happening::wired, {.epoch = order.epoch, .value = order.from.index});
      for (const offered_edge& each : order.offers) {
        if (each.blobs != 0) note(happening::order_taken, {.value = hash_of(edge_tag(order.epoch, each.channel))});
      }
    }));
  }
  is_inside_ = true;
  post(actor_, from_driver{std::move(message)});
  run_actor();
  is_inside_ = false;
  tidy_up();
  const bool has_begun = kind && *kind == message_kind::worker_assignment;
  if (has_begun && !engines_.entries.empty()) around_.left.watch(leftover::engine, engines_.entries.back().driven);
  if (!has_begun || !crashes_now()) return;
  around_.later.at(around_.now + nanoseconds{around_.random.between(10'000, 5'000'000)},
                   [this] { die(exit_cause::killed, exit_kind::signalled, SIGSEGV, "it crashes each time"); });
}

stage_telemetry simulated_process::telemetry() const {
  return last_telemetry_ ? *last_telemetry_ : page_->telemetry();
}

void simulated_process::kill_soon() {
  around_.later.at(around_.now + nanoseconds{around_.random.between(10'000, 1'000'000)}, [this] {
    if (lives()) die(exit_cause::shot_by_driver, exit_kind::signalled, SIGKILL);
  });
}

// --- to the driver ---------------------------------------------------------------------------------------------------

void simulated_process::go_up(codec::bytes message) {
  if (!lives() || is_unlinked_) return;
  last_messages_[sent_up_ % last_messages_.size()] = message;
  put_on_way(std::move(message), last_up_, [this, number = ++sent_up_](codec::bytes arrived) {
    arrived_up_ = std::max(arrived_up_, number);
    if (number <= arrives_up_ && !is_unlinked_ && !is_end_told_) below_worker_->events.on_message(std::move(arrived));
  });
}

/// What a dead worker said last comes after its end, and its pool drops it.
void simulated_process::deliver_late_scores() {
  for (const codec::bytes& words : last_messages_) {
    const auto numbered = codec::decode<numbered_message>(words);
    auto scores = numbered ? codec::decode<score_batch>(numbered->message) : tl::make_unexpected(numbered.error());
    const auto dead = as_seen.lock();
    if (scores && dead) listener_->said(dead, *codec::encode(*scores));
  }
}

void simulated_process::hear(codec::bytes message) {
  const auto kind = codec::kind_of(message);
  if (kind && *kind == message_kind::score_batch) note(happening::said, {.value = message.size()});
  if (kind && *kind == message_kind::stage_ready) note(happening::said_ready);
  listener_->said(as_seen.lock(), std::move(message));
}

void simulated_worker::send(codec::bytes message) {
  static_cast<void>(dispatch<worker_assignment>(
      message, [this](const worker_assignment& to) { process_->is_meant_for(to.address); }));
  process_->link()->send(std::move(message));
}

// --- what its code has -----------------------------------------------------------------------------------------------

expected<std::vector<unique_fd>> simulated_process::take(const std::string& tag, std::size_t count) {
  if (blobs_.erase(tag) == 0) return has_not_come(tag);
  std::vector<unique_fd> found;
  while (found.size() < count) {
    auto one = TROUPE_TRY(around_.memory.value().copy());
    found.push_back(std::move(one));
  }
  return found;
}

expected<std::shared_ptr<engine_page>> simulated_process::take_page(const std::string& tag) {
  if (blobs_.erase(tag) == 0) return has_not_come(tag);
  return tag == "page" ? page_ : around_.loader_page;
}

void simulated_process::end(const error& cause) {
  last_words_ = to_string(cause);
  die(exit_cause::by_itself, exit_kind::exited, static_cast<int>(status_of(cause.code)), last_words_);
  throw process_ended{};
}

void simulated_process::begin_forward(stage_index stage, micro_batch_id id) {
  if (!lives()) throw process_ended{};
  forward_took_ = nanoseconds{around_.random.between(1, 2 * around_.what.forward_us * 1000)};
  if (assignment_ && assignment_->address.replica == 0) forward_took_ *= around_.what.graph.nodes.at(stage).slowness;
  for (auto each = around_.armed.begin(); each != around_.armed.end(); ++each) {
    const bool throws_once = strikes(*each, fault_kind::throw_once, stage, id);
    if (throws_once || strikes(*each, fault_kind::throw_in_forward, stage, id)) {
      note(happening::forward_threw, {.call = id.call, .index = id.index, .value = throws_once ? 1u : 0u});
      if (throws_once) around_.armed.erase(each);
      throw std::runtime_error("thrown by the plan");
    }
    const bool is_poison = strikes(*each, fault_kind::poison, stage, id);
    if (!is_poison && !strikes(*each, fault_kind::kill_in_forward, stage, id)) continue;
    if (!is_poison) around_.armed.erase(each);
    last_forward_ = id;
    die(is_poison ? exit_cause::poisoned : exit_cause::killed, exit_kind::signalled, is_poison ? SIGSEGV : SIGKILL);
    throw process_ended{};
  }
}

void simulated_process::end_forward(micro_batch_id id, std::uint64_t word, std::uint64_t samples) {
  note(happening::forwarded, {.call = id.call, .index = id.index, .value = word, .other = samples});
}

void simulated_process::step_engine(stepped_engines::entry& each) {
  is_inside_ = true;
  forward_took_ = nanoseconds{0};
  try {
    const nanoseconds took{around_.random.between(500, 5'000)};
    step(each, around_.now, took);
    each.ready_at += forward_took_;
  } catch (const process_ended&) {
    each.is_finished = true;
  }
  is_inside_ = false;
  tidy_up();
}

// --- its end ---------------------------------------------------------------------------------------------------------

/// May be called from its own code, whose objects stay until that has returned.
void simulated_process::die(exit_cause why, exit_kind kind, int value, const std::string& last_words) {
  if (!lives()) return;
  last_telemetry_ = page_->telemetry();
  state_->lives = false;
  const micro_batch_id in_hand = last_forward_.value_or(micro_batch_id{});
  note(happening::worker_ended, {.call = in_hand.call,
                                 .index = in_hand.index,
                                 .value = static_cast<std::uint64_t>(why),
                                 .other = last_forward_ ? 1u : 0u});
  around_.network.died(*state_);
  // Of what it said, the first part arrives.
  if (around_.random.below(2) == 0) arrives_up_ = arrived_up_ + around_.random.below(sent_up_ - arrived_up_ + 1);
  exit_report report;
  report.kind = kind;
  report.value = value;
  report.pid = static_cast<pid_t>(pid());
  if (!last_words.empty()) report.last_lines.push_back(last_words);
  const nanoseconds told = std::max(last_up_, around_.now) + nanoseconds{around_.random.between(50'000, 2'000'000)};
  around_.later.at(told + nanoseconds{around_.random.between(1, 30'000'000)}, [this] { deliver_late_scores(); });
  around_.later.at(told, [this, report] {
    is_end_told_ = true;
    note(happening::end_told);
    listener_->exited(as_seen.lock(), report);
  });
  if (!is_inside_) tidy_up();
}

void simulated_process::tidy_up() {
  if (lives() || is_inside_) return;
  around_.trace.keep(engines_);
  engines_.entries.clear();
  if (!actor_) return;
  caf::anon_send_exit(actor_, caf::exit_reason::kill);
  run_actor();
  actor_ = nullptr;
}

bool simulated_process::crashes_now() const {
  return assignment_ && std::ranges::any_of(around_.armed, [this](const fault& each) {
           return each.kind == fault_kind::crash_loop &&
                  stage_address{each.stage, each.replica} == assignment_->address;
         });
}

bool simulated_process::hangs_now() {
  const auto found = std::ranges::find_if(around_.armed, [this](const fault& each) {
    return each.kind == fault_kind::hang_start && assignment_ &&
           stage_address{each.stage, each.replica} == assignment_->address &&
           start_of_time + std::chrono::microseconds{each.at_us} <= around_.now;
  });
  if (found == around_.armed.end()) return false;
  if (--found->index == 0) around_.armed.erase(found);
  return true;
}

void simulated_process::lose_link() {
  if (!lives() || is_unlinked_) return;
  be_unlinked();
  around_.later.at(around_.now + nanoseconds{around_.random.between(10'000, 50'000'000)}, [this] {
    if (!is_frozen()) die(exit_cause::by_itself, exit_kind::exited, 1, "its driver is gone");
  });
}

/// Once.
void simulated_process::be_unlinked() {
  if (is_end_told_ || std::exchange(is_unlinked_, true)) return;
  listener_->link_lost(as_seen.lock());
}

void simulated_process::freeze(nanoseconds time) {
  if (!lives()) return;
  ++frozen_times_;
  const std::uint64_t which = ++freezes_;
  note(happening::frozen);
  around_.later.at(around_.now + time, [this] { thaw(); });
  if (around_.what.broken == mutant::silence_noticed) return;
  around_.later.at(around_.now + around_.silence, [this, which] {
    if (lives() && is_frozen() && freezes_ == which) be_unlinked();
  });
}

void simulated_process::thaw() {
  if (!lives() || !is_frozen() || --frozen_times_ > 0) return;
  note(happening::thawed);
  if (is_unlinked_) return die(exit_cause::by_itself, exit_kind::exited, 1, "its driver is gone");
  beat_soon();  // what it had to say again may wait since before
  arrive_from_driver();
}

}  // namespace troupe::simulation
