#include "testing/simulation/judged_workers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

namespace troupe::simulation {
namespace {

constexpr std::int64_t death_window_ns = 60'000'000'000;
/// A death is told a moment after the product has counted it.
constexpr std::int64_t told_after_ns_max = 1'000'000'000;
constexpr std::size_t attempts = 2;
/// Two for its hello, one for its start, one for its silence; and one for what either end of a lost edge says. They end
/// by themselves. There are none that calls or micro-batches have left.
constexpr std::uint64_t timers_per_worker = 4;
/// What the end of a worker takes that is silent or late.
constexpr std::chrono::nanoseconds end_takes_max = std::chrono::seconds{5};

}  // namespace

judged_workers::judged_workers(plain_evaluation& plain, const plan_limits& most)
    : plain_(plain),
      most_(most),
      silence_ns_max_((most.silence + end_takes_max).count()),
      start_ns_max_((most.start_deadline + end_takes_max).count()) {}

void judged_workers::forget() {
  workers_.clear();
  given_.clear();
  replicas_.clear();
  computed_.clear();
  edges_.clear();
  starts_failed_ = edges_lost_ = 0;
  has_failed_ = false;
  threw_.clear();
  threw_once_.clear();
  failed_by_itself_.clear();
  ended_rows_.clear();
}

std::optional<event> judged_workers::failed_by_itself(std::uint64_t call) const {
  const auto found = failed_by_itself_.find(call);
  return found == failed_by_itself_.end() ? std::nullopt : std::optional(found->second);
}

void judged_workers::progress() {
  for (auto& [where, one] : replicas_) one.without_progress = 0;
}

bool judged_workers::died_often() const {
  return std::ranges::any_of(replicas_,
                             [&](const auto& one) { return one.second.deaths >= most_.deaths_without_progress; });
}

void judged_workers::check_first_death(const event& each) {
  const auto found = workers_.find(each.worker);
  if (found == workers_.end() || !found->second.is_stage) {
    broken("first-cause", "call {} ended with E{:04}, which names no stage's worker", each.call, 616);
  }
  const std::vector<std::uint32_t>& dead = replicas_[found->second.where].dead;
  const auto behind = static_cast<std::size_t>(dead.end() - std::ranges::find(dead, each.worker));
  if (behind >= most_.deaths_without_progress) return;
  broken("first-cause", "call {} names worker {}, the end of which was number {} from the last of its stage", each.call,
         each.worker, behind);
}

/// Its deaths within a minute end the run, whatever they fell on.
bool judged_workers::spent_in_window(const seen_replica& where) const {
  const auto counts = [&](std::int64_t at_ns) {
    return where.recent.back() - at_ns <= death_window_ns + told_after_ns_max;
  };
  return std::ranges::count_if(where.recent, counts) >= static_cast<std::ptrdiff_t>(most_.deaths_in_window);
}

/// Three ends in a row in the forward of one micro-batch name it, whatever ended the workers, and nothing else does.
/// Its call is given up, and the next end begins a row.
void judged_workers::check_naming(const event& each, const std::optional<micro_batch>& named) {
  seen_replica& where = replicas_.at(workers_.at(each.worker).where);
  if (named) where.without_progress = 0;
  const std::vector<std::uint32_t>& dead = where.dead;
  const auto first = std::ranges::find(dead, each.worker);
  const bool is_row = dead.end() - first >= static_cast<std::ptrdiff_t>(most_.deaths_without_progress);
  const auto of_first = workers_.at(each.worker).died_of;
  const bool is_one = is_row && of_first &&
                      std::all_of(first, first + most_.deaths_without_progress,
                                  [&](std::uint32_t one) { return workers_.at(one).died_of == of_first; });
  if (named && (!is_one || named != of_first)) {
    broken("poison-named", "micro-batch {} of call {} is named, and {} workers in a row did not end in its forward",
           named->second, named->first, most_.deaths_without_progress);
  }
  if (!named && is_one && !spent_in_window(where)) {
    broken("poison-named", "micro-batch {} of call {} ended {} workers in a row, and is not named", of_first->second,
           of_first->first, most_.deaths_without_progress);
  }
}

void judged_workers::check_left(const event& each) const {
  constexpr std::array<const char*, leftovers> names = {"engines",       "workers", "pages",   "ends of links",
                                                        "ends of edges", "timers",  "journals"};
  const bool is_timer = each.index == static_cast<std::uint64_t>(leftover::timer);
  const std::uint64_t most = is_timer ? timers_per_worker * workers_.size() + 2 * edges_lost_ : 0;
  if (each.value > most) broken("nothing-left", "{} {} are left, {} at most", each.value, names.at(each.index), most);
}

void judged_workers::pass(std::int64_t at_ns) {
  while (!given_.empty() && at_ns - given_.front().first > start_ns_max_) {
    const auto [given_ns, number] = given_.front();
    const seen_worker& late = workers_.at(number);
    if (!late.is_ready && !late.is_end_told) {
      broken("late-replaced", "worker {} has its place for {} s, and has not become its stage", number,
             (at_ns - given_ns) / 1'000'000'000);
    }
    given_.pop_front();
  }
}

void judged_workers::hear(const event& each) {
  seen_worker& worker = workers_[each.worker];
  switch (each.what) {
    case happening::worker_ended:
      worker.has_ended = true;
      if (each.other != 0) worker.died_of = {each.call, each.index};
      return;
    case happening::frozen:
      worker.frozen_at_ns = each.at_ns;
      return;
    case happening::thawed:
      if (has_failed_ || each.at_ns - worker.frozen_at_ns <= silence_ns_max_) return;
      broken("silent-replaced", "worker {} was silent for {} s and had its place still", each.worker,
             (each.at_ns - worker.frozen_at_ns) / 1'000'000'000);
    case happening::end_told:
      return tell_end(each, worker);
    case happening::given:
      given_.emplace_back(each.at_ns, each.worker);
      return;
    case happening::said_ready:
      worker.is_ready = true;
      return;
    case happening::blob_arrived:
      worker.blobs.insert(each.value);
      return;
    case happening::order_taken:
      if (!worker.blobs.contains(each.value)) {
        broken("blobs-first", "worker {} was told of what had not come", each.worker);
      }
      return;
    case happening::became_stage:
      return become_stage(each, worker);
    case happening::wired:
      worker.epoch = each.epoch;
      return;
    case happening::said:
      if (worker.is_end_told) broken("no-stale-incarnation", "worker {} was heard after its end", each.worker);
      return;
    case happening::forwarded:
    case happening::forward_threw:
    case happening::code_threw:
      if (each.what != happening::forwarded) hear_throw(each);
      if (worker.has_ended) broken("no-stale-incarnation", "worker {} computed after its end", each.worker);
      return check_forward(each);
    default:
      return hear_edge(each, worker);
  }
}

/// All attempts at a forward may have thrown once each.
void judged_workers::hear_throw(const event& each) {
  const std::size_t times = ++threw_once_[{each.stage, each.call, each.index}];
  const bool is_own = each.what == happening::code_threw;
  if (is_own && times >= attempts) failed_by_itself_.try_emplace(each.call, each);
  if (!is_own && (each.value == 0 || times >= attempts)) threw_.insert(each.call);
}

void judged_workers::check_forward(const event& each) {
  if (each.what != happening::forwarded) return;
  computed_.insert({each.stage, each.incarnation, each.call, each.index});
  if (plain_.at_node(each.stage, each.call, each.index) == plain_evaluation::part{each.other, each.value}) return;
  broken("right-parts", "stage {}.{} computed micro-batch {} of call {} from other parts than a plain loop", each.stage,
         each.replica, each.index, each.call);
}

void judged_workers::tell_end(const event& each, seen_worker& worker) {
  worker.is_end_told = true;
  if (!worker.is_stage) {
    ++starts_failed_;
    return;
  }
  seen_replica& where = replicas_[worker.where];
  if (where.holder != each.worker) return;
  where.was_held = false;
  ++where.deaths;
  ++where.without_progress;
  where.dead.push_back(each.worker);
  where.recent.push_back(each.at_ns);
  note_row(where);
}

/// Deaths in a row in the forward of one micro-batch give up its call, once. The answer that says so may come much
/// later, as calls are answered in order; the deaths that follow are counted from here.
void judged_workers::note_row(seen_replica& where) {
  if (where.without_progress < most_.deaths_without_progress) return;
  const std::span row = std::span{where.dead}.last(most_.deaths_without_progress);
  const auto suspect = workers_.at(row.front()).died_of;
  const bool is_one = std::ranges::all_of(row, [&](std::uint32_t one) { return workers_.at(one).died_of == suspect; });
  if (suspect && is_one && ended_rows_.insert(suspect->first).second) where.without_progress = 0;
}

void judged_workers::become_stage(const event& each, seen_worker& worker) {
  worker.is_stage = true;
  worker.where = {each.stage, each.replica};
  worker.incarnation = each.incarnation;
  seen_replica& where = replicas_[worker.where];
  if (where.was_held) {
    broken("no-stale-incarnation", "stage {}.{} has two workers: {} and {}", each.stage, each.replica, where.holder,
           each.worker);
  }
  if (where.without_progress > most_.deaths_without_progress + 1) {
    broken("restart-budget", "stage {}.{} is started after {} deaths without progress", each.stage, each.replica,
           where.without_progress);
  }
  while (!where.recent.empty() && each.at_ns - where.recent.front() > death_window_ns) where.recent.pop_front();
  if (where.recent.size() > most_.deaths_in_window + 1) {
    broken("restart-budget", "stage {}.{} is started after {} deaths within a minute", each.stage, each.replica,
           where.recent.size());
  }
  if (where.deaths > 0 && each.incarnation <= where.incarnation) {
    broken("no-stale-incarnation", "incarnation {} of stage {}.{} comes again", each.incarnation, each.stage,
           each.replica);
  }
  where.holder = each.worker;
  where.was_held = true;
  where.incarnation = each.incarnation;
  incarnations_.insert(each.incarnation);
}

void judged_workers::hear_edge(const event& each, const seen_worker& worker) {
  seen_edge& edge = edges_[each.value];
  switch (each.what) {
    case happening::edge_lost:
      ++edges_lost_;
      return;
    case happening::edge_sent:
      if (++edge.sent > edge.freed + each.other) {
        broken("credits", "edge {} of {} slots has {} on it", each.value, each.other, edge.sent - edge.freed);
      }
      return;
    case happening::edge_taken:
      ++edge.taken;
      if (each.epoch < worker.epoch) {
        broken("no-stale-epoch", "worker {} took of epoch {} in epoch {}", each.worker, each.epoch, worker.epoch);
      }
      return;
    case happening::edge_freed:
      ++edge.freed;
      return;
    default:
      return;
  }
}

}  // namespace troupe::simulation
