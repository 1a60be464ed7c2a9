#include "testing/simulation/simulated_process.hpp"

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <utility>

#include "messages/codec/dispatch.hpp"

namespace troupe::simulation {
namespace {

/// Thrown through what the worker does when it ends itself: nothing behind it happens any more.
struct process_ended {};

/// The production actor; an exception that leaves it is the end of the process, and no news.
worker_actor_type::behavior_type quiet_worker(worker_actor_type::stateful_pointer<worker_actor_state> self,
                                              std::shared_ptr<worker_body> body) {
  self->set_exception_handler(
      [](std::exception_ptr&) { return caf::make_error(caf::exit_reason::unhandled_exception); });
  return worker_actor(self, std::move(body));
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char each : text) hash = mix(hash, static_cast<unsigned char>(each));
  return hash;
}

bool strikes(const fault& each, fault_kind kind, stage_index stage, micro_batch_id id) {
  return each.kind == kind && each.stage == stage && each.call == id.call && each.index == id.index;
}

}  // namespace

simulated_process::simulated_process(std::uint32_t number, worker_surroundings& around,
                                     std::shared_ptr<worker_listener> listener)
    : number_(number), around_(around), listener_(std::move(listener)) {
  state_->number = number;
  blobs_.insert("page");
  note(happening::blob_arrived, {.value = hash_of("page")});
}

simulated_process::~simulated_process() = default;

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
  return {
      .plan = around_.wiring,
      .fingerprint = [] { return std::uint64_t{1}; },
      .codec = std::make_shared<hash_codec>(),
      .make_body = [this](const worker_assignment& to, const payload_ptr&) -> expected<std::shared_ptr<stage_body>> {
        return make_graph_body(*this, around_.what, to.address.stage);
      },
      .make_scorer = [](std::uint32_t, const scoring&) -> expected<std::shared_ptr<scorer>> {
        return std::make_shared<hash_scorer>();
      }};
}

void simulated_process::boot() {
  if (!lives()) return;
  has_booted_ = true;
  const std::shared_ptr<message_link> driver(std::shared_ptr<void>(), this);
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

void simulated_process::take_blob(const std::string& tag) {
  const auto arrive = [this, tag] {
    blobs_.insert(tag);
    note(happening::blob_arrived, {.value = hash_of(tag)});
  };
  if (around_.what.broken != mutant::blobs_before_orders) return arrive();
  around_.later.at(around_.now + nanoseconds{around_.random.between(100'000, 10'000'000)}, arrive);
}

void simulated_process::take_from_driver(codec::bytes message) {
  if (!lives() || is_unlinked_) return;
  down_.push_back(std::move(message));
  last_down_ = std::max(last_down_, around_.now + nanoseconds{around_.random.between(5'000, 400'000)});
  around_.later.at(last_down_, [this] { arrive_from_driver(); });
}

void simulated_process::arrive_from_driver() {
  ++waiting_down_;
  while (waiting_down_ > 0 && lives() && !is_frozen() && has_booted_) {
    --waiting_down_;
    codec::bytes message = std::move(down_.front());
    down_.pop_front();
    obey(std::move(message));
  }
}

void simulated_process::obey(codec::bytes message) {
  const auto kind = codec::kind_of(message);
  if (kind && *kind == message_kind::worker_assignment) {
    static_cast<void>(dispatch<worker_assignment>(message, [&](const worker_assignment& to) {
      assignment_ = to;
      note(happening::became_stage);
      note(happening::order_taken, {.value = hash_of("page")});
      if (to.loader_pages != 0) note(happening::order_taken, {.value = hash_of("loader")});
    }));
  }
  if (kind && *kind == message_kind::wiring_order) {
    static_cast<void>(dispatch<wiring_order>(message, [&](const wiring_order& order) {
      note(happening::wired, {.epoch = order.epoch, .value = order.from.index});
    }));
  }
  is_inside_ = true;
  post(actor_, from_driver{std::move(message)});
  run_actor();
  is_inside_ = false;
  tidy_up();
  const bool has_begun = kind && *kind == message_kind::worker_assignment;
  if (!has_begun || !crashes_now()) return;
  around_.later.at(around_.now + nanoseconds{around_.random.between(10'000, 5'000'000)},
                   [this] { die(exit_cause::killed, exit_kind::signalled, SIGSEGV, "it crashes each time"); });
}

stage_telemetry simulated_process::telemetry() const {
  stage_telemetry now = last_telemetry_ ? *last_telemetry_ : page_->telemetry();
  if (around_.what.broken == mutant::poison_counter) now.working_on = std::nullopt;
  return now;
}

void simulated_process::kill_soon() {
  around_.later.at(around_.now + nanoseconds{around_.random.between(10'000, 1'000'000)}, [this] {
    if (lives()) die(exit_cause::shot_by_driver, exit_kind::signalled, SIGKILL);
  });
}

// --- to the driver ---------------------------------------------------------------------------------------------------

void simulated_process::send(codec::bytes message) {
  if (!lives() || is_unlinked_) return;
  up_.push_back(std::move(message));
  last_up_ = std::max(last_up_, around_.now + nanoseconds{around_.random.between(5'000, 400'000)});
  around_.later.at(last_up_, [this] { arrive_at_driver(); });
}

/// What a dead process has said last may be lost with it.
void simulated_process::arrive_at_driver() {
  if (up_.empty()) return;
  codec::bytes message = std::move(up_.front());
  up_.pop_front();
  if (is_unlinked_ || is_end_told_) return;
  if (const auto kind = codec::kind_of(message); kind && *kind == message_kind::score_batch) {
    note(happening::said, {.value = message.size()});
  }
  listener_->said(as_seen.lock(), std::move(message));
}

// --- what its code has -----------------------------------------------------------------------------------------------

expected<std::vector<unique_fd>> simulated_process::take(const std::string& tag, std::size_t) {
  return fail(error_code::wire_malformed, "channel", "no descriptors came for \"" + tag + "\"");
}

expected<std::shared_ptr<engine_page>> simulated_process::take_page(const std::string& tag) {
  if (blobs_.erase(tag) == 0) {
    return fail(error_code::wire_malformed, "channel", "no descriptors came for \"" + tag + "\"");
  }
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
  note(happening::worker_ended, {.value = static_cast<std::uint64_t>(why)});
  around_.network.died(*state_);
  // Of what it said, the first part arrives.
  if (!up_.empty() && around_.random.below(2) == 0) up_.resize(around_.random.below(up_.size() + 1));
  exit_report report;
  report.kind = kind;
  report.value = value;
  report.pid = static_cast<pid_t>(pid());
  if (!last_words.empty()) report.last_lines.push_back(last_words);
  const nanoseconds told = std::max(last_up_, around_.now) + nanoseconds{around_.random.between(50'000, 2'000'000)};
  around_.later.at(told, [this, report] {
    is_end_told_ = true;
    note(happening::end_told);
    listener_->exited(as_seen.lock(), report);
  });
  if (!is_inside_) tidy_up();
}

void simulated_process::tidy_up() {
  if (lives() || is_inside_) return;
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

void simulated_process::lose_link() {
  if (!lives() || is_unlinked_) return;
  is_unlinked_ = true;
  listener_->link_lost(as_seen.lock());
  around_.later.at(around_.now + nanoseconds{around_.random.between(10'000, 50'000'000)}, [this] {
    if (!is_frozen()) die(exit_cause::by_itself, exit_kind::exited, 1, "its driver is gone");
  });
}

void simulated_process::freeze(nanoseconds time) {
  if (!lives()) return;
  ++frozen_times_;
  const std::uint64_t which = ++freezes_;
  note(happening::frozen);
  around_.later.at(around_.now + time, [this] { thaw(); });
  if (around_.what.broken == mutant::silence_noticed) return;
  around_.later.at(around_.now + around_.silence, [this, which] {
    if (lives() && is_frozen() && freezes_ == which && !is_unlinked_) {
      is_unlinked_ = true;
      listener_->link_lost(as_seen.lock());
    }
  });
}

void simulated_process::thaw() {
  if (!lives() || !is_frozen() || --frozen_times_ > 0) return;
  note(happening::thawed);
  if (is_unlinked_) return die(exit_cause::by_itself, exit_kind::exited, 1, "its driver is gone");
  if (waiting_down_ == 0) return;
  --waiting_down_;
  arrive_from_driver();
}

}  // namespace troupe::simulation
