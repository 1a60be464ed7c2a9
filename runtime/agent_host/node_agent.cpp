#include "runtime/agent_host/node_agent.hpp"

#include <utility>

#include "messages/codec/dispatch.hpp"
#include "messages/error_text.hpp"
#include "messages/try.hpp"
#include "runtime/agent/agent_reports.hpp"
#include "runtime/agent_host/agent_worker.hpp"
#include "runtime/os/clock.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

}  // namespace

node_agent::node_agent(host_place home, std::shared_ptr<message_link> link, log_function log)
    : home_(std::move(home)),
      link_(std::move(link)),
      log_(std::move(log)),
      files_(home_.node, {.check = [this](const check_file& asked) { tell(asked); },
                          .send = [this](const file_part& part) { tell(part); }}) {}

template <class Message>
expected<void> node_agent::send(const Message& message) {
  return codec::encode(message).map([this](codec::bytes&& bytes) { link_->send(std::move(bytes)); });
}
template expected<void> node_agent::send(const worker_message&);

template <class Message>
void node_agent::tell(const Message& message) {
  if (auto sent = send(message); !sent) lose(sent.error());
}
template void node_agent::tell(const kill_worker&);
template void node_agent::tell(const signal_worker&);
template void node_agent::tell(const apply_fault&);

void node_agent::set_up(const agent_setup& setup) {
  link_->start({.on_message = [self = shared_from_this()](const codec::bytes& message) { self->take(message); },
                .on_lost =
                    [self = shared_from_this()](const error& why) {
                      static_cast<void>(self->note_loss(why));
                      self->tell_loss();
                    }});
  tell(setup);
}

expected<void> node_agent::wait_until_ready(steady_clock::time_point deadline) {
  std::unique_lock lock{mutex_};
  changed_.wait_until(lock, deadline, [&] { return phase_ != phase::joined; });
  if (loss_) return tl::make_unexpected(*loss_);
  if (phase_ == phase::ready) return {};
  return fail(error_code::node_lost, "node " + home_.node, "it joined, and was not ready in time",
              "look whether the node is overloaded, or raise --join-timeout");
}

std::optional<error> node_agent::loss() const {
  const std::lock_guard lock{mutex_};
  return loss_;
}

void node_agent::on_lost(std::function<void(const error&)> told) {
  std::optional<error> known;
  {
    const std::lock_guard lock{mutex_};
    known = loss_;
    if (!known) return on_lost_.push_back(std::move(told));
  }
  told(*known);
}

error node_agent::loss_of(const error& why) const {
  const bool is_complete = why.code == error_code::node_lost && !why.fix.empty();
  if (is_complete || why.code == error_code::worker_mismatch || why.code == error_code::output_unwritable) return why;
  return {error_code::node_lost, "node " + home_.node, why.cause,
          "look at the node and at the network between it and the driver"};
}

/// The link tells it, after what it is telling now, and then its other end that it is closed.
void node_agent::lose(const error& why) {
  if (note_loss(why)) link_->peer_has_ended([self = shared_from_this()] { self->tell_loss(); });
}

/// The same on the thread of the link.
void node_agent::lose_now(const error& why) {
  if (!note_loss(why)) return;
  link_->peer_has_ended([] {});
  tell_loss();
}

/// False if it was lost before.
bool node_agent::note_loss(const error& why) {
  const std::lock_guard lock{mutex_};
  if (phase_ == phase::lost) return false;
  phase_ = phase::lost;
  loss_ = loss_of(why);
  changed_.notify_all();
  return true;
}

/// First the placement of stages hears of the loss, and then the stages do: none is placed there again.
void node_agent::tell_loss() {
  std::map<std::uint32_t, std::shared_ptr<agent_worker>> ended;
  std::vector<std::function<void(const error&)>> told;
  error cause;
  {
    const std::lock_guard lock{mutex_};
    cause = *loss_;
    ended.swap(workers_);
    told.swap(on_lost_);
  }
  files_.lose(cause);
  for (const auto& each : told) each(cause);
  exit_report report;
  report.kind = exit_kind::lost;
  report.note = "its node was lost: " + cause.cause;
  for (const auto& [rank, worker] : ended) worker->ended(report);
}

// --- what the driver asks --------------------------------------------------------------------------------------------

expected<void> node_agent::start(const std::shared_ptr<agent_worker>& worker, std::chrono::milliseconds silence,
                                 bool has_control_faults) {
  {
    const std::lock_guard lock{mutex_};
    if (loss_) return tl::make_unexpected(*loss_);
    workers_.insert_or_assign(worker->rank(), worker);
  }
  tell(start_worker{.rank = worker->rank(),
                    .silence_ms = static_cast<std::uint64_t>(silence.count()),
                    .has_control_faults = has_control_faults ? 1u : 0u});
  return {};
}

expected<void> node_agent::hand_over(std::uint32_t rank, const std::string& name, std::span<const blob> blobs) {
  hand_over_blobs order{.rank = rank, .name = name, .blobs = {}};
  for (const std::uint64_t unused : blobs_.take_unused()) tell(drop_blob{unused});
  for (const blob& each : blobs) {
    auto reference = TROUPE_TRY(
        blobs_.reference_to(each, [this](const blob_part& part) { return take_room(part).map([&] { tell(part); }); }));
    order.blobs.push_back(reference);
  }
  tell(order);
  return {};
}

/// As long as the agent takes something, it is waited for.
expected<void> node_agent::take_room(const blob_part& part) {
  std::unique_lock lock{mutex_};
  while (!loss_ && blob_bytes_on_way_ + part.content.size() > limits::blob_bytes_on_way_max) {
    const auto taken = [&, before = blob_bytes_on_way_] { return loss_ || blob_bytes_on_way_ < before; };
    if (!changed_.wait_for(lock, limits::blob_stall_max, taken))
      return fail(error_code::process_failed, "node " + home_.node, "it takes no memory",
                  "look at the node, and at the network between it and the driver");
  }
  if (loss_) return tl::make_unexpected(*loss_);
  blob_bytes_on_way_ += part.content.size();
  return {};
}

/// Several questions are on their way at a time, so that the round trip does not count.
expected<std::size_t> node_agent::read_back(const blob& what, std::uint64_t offset, std::span<std::byte> into) {
  const std::lock_guard in_turn{reading_};
  const auto reference = blobs_.find(what);
  if (!reference) return std::size_t{0};
  std::size_t asked = 0;
  std::size_t got = 0;
  std::uint64_t next = reads_asked_ + 1;
  const auto forget = [this](void*) {
    const std::lock_guard lock{mutex_};
    reads_.clear();
  };
  const std::unique_ptr<void, decltype(forget)> at_end(this, forget);
  while (got < into.size()) {
    while (asked < into.size() && asked - got < limits::blob_bytes_on_way_max) {
      const std::size_t bytes = std::min(into.size() - asked, limits::blob_part_bytes);
      std::unique_lock lock{mutex_};
      reads_.emplace(++reads_asked_, std::nullopt);
      lock.unlock();
      tell(read_blob{.question = reads_asked_, .blob = reference->blob, .offset = offset + asked, .bytes = bytes});
      asked += bytes;
    }
    const std::vector<std::byte> part = TROUPE_TRY(await_read(next++));
    const std::size_t wanted = std::min(into.size() - got, limits::blob_part_bytes);
    if (part.size() > wanted)
      return fail(error_code::wire_malformed, "node " + home_.node, "it read more than it was asked for",
                  "run the same version of Troupe everywhere");
    std::ranges::copy(part, into.begin() + static_cast<std::ptrdiff_t>(got));
    got += part.size();
    if (part.size() < wanted) break;
  }
  return got;
}

expected<std::vector<std::byte>> node_agent::await_read(std::uint64_t question) {
  std::unique_lock lock{mutex_};
  std::optional<std::vector<std::byte>>& answer = reads_.at(question);
  if (!changed_.wait_for(lock, limits::blob_stall_max, [&] { return answer || loss_; }))
    return fail(error_code::process_failed, "node " + home_.node, "it gives no memory back",
                "look at the node, and at the network between it and the driver");
  if (!answer) return tl::make_unexpected(*loss_);
  std::vector<std::byte> content = std::move(*answer);
  reads_.erase(question);
  return content;
}

bool node_agent::stop(steady_clock::time_point deadline, std::chrono::milliseconds grace) {
  std::unique_lock lock{mutex_};
  const std::uint64_t mine = ++stops_asked_;
  tell(stop_workers{static_cast<std::uint64_t>(grace.count())});  // in the order of the numbers
  const auto answered = [&] { return stops_answered_ >= mine; };
  changed_.wait_until(lock, deadline, [&] { return answered() || phase_ == phase::lost; });
  const bool all_ended = answered() ? all_ended_ : phase_ == phase::lost;
  lock.unlock();
  blobs_.clear();
  return all_ended;
}

bool node_agent::refresh_telemetry(steady_clock::time_point deadline) {
  std::unique_lock lock{mutex_};
  const std::uint64_t question = ++asked_;
  lock.unlock();
  tell(ask_telemetry{question});
  lock.lock();
  return changed_.wait_until(lock, deadline, [&] { return answered_ >= question || phase_ == phase::lost; });
}

// --- what the agent says: the thread of its link ---------------------------------------------------------------------

void node_agent::take(const codec::bytes& message) {
  if (loss()) return;
  const auto taken =
      dispatch<worker_message, worker_telemetry, worker_started, worker_link_lost, agent_log, worker_ended,
               blob_part_taken, blob_read, workers_stopped, telemetry_told, end_asked, file_answer, agent_ready,
               agent_refusal>(message, [this](const auto& said) { handle(said); });
  if (!taken) lose_now({taken.error().code, {}, "it sent nonsense: " + taken.error().cause, {}});
}

std::shared_ptr<agent_worker> node_agent::find(std::uint32_t rank) const {
  const std::lock_guard lock{mutex_};
  const auto found = workers_.find(rank);
  return found == workers_.end() ? nullptr : found->second;
}

void node_agent::handle(const agent_ready&) {
  const std::lock_guard lock{mutex_};
  if (phase_ == phase::joined) phase_ = phase::ready;
  changed_.notify_all();
}

void node_agent::handle(const agent_refusal& said) {
  const error& why = said.cause;
  const bool is_told_alone = why.code == error_code::worker_mismatch || why.code == error_code::output_unwritable;
  lose_now(is_told_alone ? why : error{error_code::node_lost, "node " + home_.node, brief(why), why.fix});
}

void node_agent::handle(const worker_started& said) {
  if (const auto worker = find(said.rank)) worker->started(said.pid);
}

void node_agent::handle(const worker_message& said) {
  if (const auto worker = find(said.rank)) worker->said(said.message);
}

void node_agent::handle(const worker_link_lost& said) {
  if (const auto worker = find(said.rank)) worker->link_lost();
}

void node_agent::handle(const agent_log& said) {
  const auto level = static_cast<log_level>(std::min(said.level, static_cast<std::uint32_t>(log_level::error)));
  const auto worker = said.rank ? find(*said.rank) : nullptr;
  if (worker) return worker->logged(level, said.text);
  if (log_) log_({.level = level, .text = "node " + home_.node + ": " + said.text, .rank = said.rank});
}

void node_agent::handle(const worker_ended& said) {
  const auto report = report_of(said);
  if (!report) return lose_now(report.error());
  std::shared_ptr<agent_worker> worker;
  {
    const std::lock_guard lock{mutex_};
    const auto found = workers_.find(said.rank);
    if (found == workers_.end()) return;
    worker = std::move(found->second);
    workers_.erase(found);
  }
  worker->ended(*report);
}

void node_agent::handle(const worker_telemetry& said) {
  if (const auto worker = find(said.rank)) worker->measured(telemetry_of(said, steady_now()));
}

void node_agent::handle(const workers_stopped& said) {
  const std::lock_guard lock{mutex_};
  if (stops_answered_ == stops_asked_) return;
  ++stops_answered_;
  all_ended_ = said.all_ended != 0;
  changed_.notify_all();
}

void node_agent::handle(const end_asked&) {
  if (on_end_asked_) on_end_asked_();
}

void node_agent::handle(const telemetry_told& said) {
  const std::lock_guard lock{mutex_};
  answered_ = said.question;
  changed_.notify_all();
}

void node_agent::handle(const file_answer& said) {
  if (const auto fine = files_.answered(said); !fine) lose_now(fine.error());
}

void node_agent::handle(const blob_part_taken& said) {
  {
    const std::lock_guard lock{mutex_};
    if (said.bytes <= blob_bytes_on_way_) {
      blob_bytes_on_way_ -= said.bytes;
      changed_.notify_all();
      return;
    }
  }
  lose_now({error_code::wire_malformed, {}, "it has taken more memory than it was sent", {}});
}

void node_agent::handle(const blob_read& said) {
  {
    const std::lock_guard lock{mutex_};
    if (said.question == reads_answered_ + 1 && said.question <= reads_asked_) {
      ++reads_answered_;
      if (const auto found = reads_.find(said.question); found != reads_.end()) found->second = said.content;
      changed_.notify_all();
      return;
    }
  }
  lose_now({error_code::wire_malformed, {}, "it has read what it was not asked for", {}});
}

}  // namespace troupe
