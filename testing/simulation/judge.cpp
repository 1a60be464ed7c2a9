#include "testing/simulation/judge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "testing/simulation/broken_promise.hpp"
#include "testing/simulation/edges_heard.hpp"
#include "testing/simulation/plain_evaluation.hpp"

namespace troupe::simulation {
namespace {

// Codes as docs/errors.md has them.
constexpr std::uint64_t forward_failed = 602;
constexpr std::uint64_t interrupted = 606;
constexpr std::uint64_t process_failed = 614;
constexpr std::uint64_t restarts_spent = 616;
constexpr std::uint64_t wire_codes_begin = 701;
constexpr std::uint64_t wire_codes_end = 709;
constexpr std::uint64_t journal_unwritable = 803;

/// Deaths of one replica without progress after which it is not started again; one more, as progress is told a moment
/// after it happened.
constexpr std::size_t deaths_without_progress = 3;
constexpr std::size_t deaths_at_most = deaths_without_progress + 1;
/// The time-out of a silent worker, and what its end takes.
constexpr std::int64_t silence_ns_max = 15'000'000'000;
constexpr std::size_t failed_starts = 3;
constexpr std::size_t lost_edges = 3;
constexpr std::size_t attempts = 2;

using replica = std::pair<std::uint32_t, std::uint32_t>;
using micro_batch = std::pair<std::uint64_t, std::uint64_t>;

class hearing {
 public:
  explicit hearing(const plan& what) : plan_(what), plain_(with_graph(what).graph) {}

  void hear(const event& each) {
    switch (each.what) {
      case happening::stuck:
        broken("ends", "it did not end by {} ms", each.at_ns / 1'000'000);
      case happening::driver_started:
        return begin(each);
      case happening::driver_died:
        return end_driver();
      case happening::driver_ended:
        return check_leftovers(each);
      case happening::submitted:
        ++call_at(each.call).submitted;
        return;
      case happening::given_up:
        given_up_.insert(each.call);
        return;
      case happening::answered:
        return answer(each);
      case happening::named:
        named_[each.value] = {each.call, each.index};
        return;
      case happening::recovered:
        return recover(each);
      case happening::folded:
        return fold(each);
      case happening::acknowledged:
        acknowledged_.insert(each.call);
        return;
      case happening::journal_hurt:
        is_hurt_ = true;
        return;
      case happening::disk_filled:
        is_disk_full_ = true;
        return;
      case happening::journal_refused:
        if (!is_hurt_) broken("journal-kept", "the journal was refused, and nothing had happened to it");
        acknowledged_.clear();
        recovered_.clear();
        is_hurt_ = false;
        return;
      default:
        return hear_worker(each);
    }
  }

 private:
  struct call_seen {
    std::size_t submitted = 0;
    std::size_t answered = 0;
    std::uint64_t code = 0;
    /// By sink.
    std::vector<std::uint64_t> next = {};

    [[nodiscard]] std::uint64_t through() const { return next.empty() ? 0 : *std::ranges::min_element(next); }
  };
  struct worker_seen {
    bool has_ended = false;
    bool is_end_told = false;
    bool is_stage = false;
    replica where;
    std::uint32_t incarnation = 0;
    std::uint64_t epoch = 0;
    std::int64_t frozen_at_ns = 0;
    std::set<std::uint64_t> blobs;
  };
  struct replica_seen {
    std::uint32_t holder = 0;
    bool was_held = false;
    std::uint32_t incarnation = 0;
    std::size_t deaths = 0;
    std::size_t without_progress = 0;
  };

  // --- the driver ---

  void begin(const event& each) {
    end_driver();
    window_ = each.other;
    for (const std::uint64_t call : acknowledged_) {
      if (each.value < plan_.calls.at(call)) {
        broken("journal-kept", "call {} was acknowledged, and {} of its {} states are in the journal", call, each.value,
               plan_.calls.at(call));
      }
    }
    recovered_.resize(plain_.sinks());
    const std::uint64_t recovered = *std::ranges::min_element(recovered_);
    const bool is_journal = plan_.has_journal;
    if (is_journal && recovered != each.value) {
      broken("journal-kept", "{} states were read, and {} counted", recovered, each.value);
    }
    if (is_journal) call_at(0).next = recovered_;
    recovered_.clear();
  }

  call_seen& call_at(std::uint64_t number) {
    const auto [place, is_new] = calls_.try_emplace(number);
    if (!is_new) return place->second;
    if (number < plan_.folded_before.size()) place->second.next = plan_.folded_before[number];
    place->second.next.resize(plain_.sinks());
    return place->second;
  }

  /// All that it knew is gone.
  void end_driver() {
    calls_.clear();
    workers_.clear();
    replicas_.clear();
    edges_ = {};
    ahead_.clear();
    starts_failed_ = 0;
    threw_.clear();
    threw_once_.clear();
    given_up_.clear();
  }

  void recover(const event& each) {
    recovered_.resize(plain_.sinks());
    std::uint64_t& next = recovered_.at(each.stage);
    if (each.index != next) broken("journal-kept", "state {} was read at place {}", each.index, next);
    if (each.value != plain_.at_sink(each.stage, each.call, each.index).word) {
      broken("journal-kept", "the state of micro-batch {} is another than was folded", each.index);
    }
    ++next;
  }

  void check_leftovers(const event& each) {
    if (!calls_.empty()) {
      check_all_answered();
      check_poison();
    }
    if (each.value != 0) broken("nothing-left", "{} actors are left", each.value);
    if (each.other != 0) broken("nothing-left", "{} engines are left", each.other);
  }

  void fold(const event& each) {
    call_seen& call = call_at(each.call);
    std::uint64_t& next = call.next.at(each.stage);
    if (each.index != next) {
      broken("exactly-once", "sink {} folded micro-batch {} of call {} where {} comes", each.stage, each.index,
             each.call, next);
    }
    ++next;
    if (plain_.at_sink(each.stage, each.call, each.index) != plain_evaluation::part{each.other, each.value}) {
      broken("same-bits", "micro-batch {} of call {} has other bits at sink {} than a plain loop", each.index,
             each.call, each.stage);
    }
    if (!incarnations_.contains(each.incarnation)) {
      broken("no-stale-incarnation", "a state came from incarnation {}, which there was not", each.incarnation);
    }
    ahead_.erase(ahead_.lower_bound({each.call, 0}), ahead_.lower_bound({each.call, call.through()}));
    for (auto& [where, one] : replicas_) one.without_progress = 0;
  }

  void answer(const event& each) {
    call_seen& call = call_at(each.call);
    if (++call.answered > 1) broken("answered-once", "call {} was answered twice", each.call);
    call.code = each.value;
    for (auto& [where, one] : replicas_) one.without_progress = 0;
    std::erase_if(ahead_, [&](const micro_batch& id) { return id.first == each.call; });
    if (each.value != 0) return check_license(each);
    const std::uint64_t count = plan_.calls.at(each.call);
    if (call.through() != count || each.other != count) {
      broken("complete", "call {} ended well with {} of {} micro-batches, {} of them folded", each.call, each.other,
             count, call.through());
    }
    if (each.index != plain_.samples_before(each.call, count)) {
      broken("complete", "call {} ended well with {} samples, and has {}", each.call, each.index,
             plain_.samples_before(each.call, count));
    }
  }

  void check_license(const event& each) {
    const auto died = [](const auto& one) { return one.second.deaths >= deaths_without_progress; };
    const bool is_fine =
        (each.value == interrupted && given_up_.contains(each.call)) ||
        (each.value == forward_failed && threw_.contains(each.call)) ||
        (each.value == process_failed && starts_failed_ >= failed_starts) ||
        (each.value == restarts_spent && std::ranges::any_of(replicas_, died)) ||
        (each.value >= wire_codes_begin && each.value < wire_codes_end && edges_.lost() >= lost_edges) ||
        (each.value == journal_unwritable && is_disk_full_);
    if (!is_fine)
      broken("licensed-error", "call {} ended with E{:04}, for which nothing happened", each.call, each.value);
  }

  void check_all_answered() const {
    for (const auto& [number, call] : calls_) {
      if (call.submitted == call.answered) continue;
      broken("answered-once", "call {} was submitted {} times and answered {} times", number, call.submitted,
             call.answered);
    }
  }

  /// Where nothing else happened than one poisoned micro-batch.
  void check_poison() {
    if (plan_.faults.size() != 1 || plan_.faults.front().kind != fault_kind::poison) return;
    const fault& poison = plan_.faults.front();
    if (poison.index >= plan_.calls.at(poison.call) || !strikes(poison)) return;
    for (const auto& [number, call] : calls_) {
      const std::uint64_t wanted = number == poison.call ? restarts_spent : 0;
      if (call.code != wanted)
        broken("poison-named", "call {} ended with E{:04}, not E{:04}", number, call.code, wanted);
    }
    const auto named = named_.find(poison.call);
    if (named == named_.end()) broken("poison-named", "the micro-batch that kills its worker is not named");
    if (named->second != micro_batch{poison.call, poison.index}) {
      broken("poison-named", "micro-batch {} of call {} is named, and it was {}", named->second.second,
             named->second.first, poison.index);
    }
  }

  /// A part without samples is not computed, nor is what was folded before.
  bool strikes(const fault& poison) {
    const bool has_before = poison.call < plan_.folded_before.size() && !plan_.folded_before[poison.call].empty();
    return !has_before && plain_.at_node(poison.stage, poison.call, poison.index).samples > 0;
  }

  // --- workers and edges ---

  void hear_worker(const event& each) {
    worker_seen& worker = workers_[each.worker];
    switch (each.what) {
      case happening::worker_ended:
        worker.has_ended = true;
        return;
      case happening::frozen:
        worker.frozen_at_ns = each.at_ns;
        return;
      case happening::thawed:
        if (each.at_ns - worker.frozen_at_ns <= silence_ns_max) return;
        broken("silent-replaced", "worker {} was silent for {} s and had its place still", each.worker,
               (each.at_ns - worker.frozen_at_ns) / 1'000'000'000);
      case happening::end_told:
        return tell_end(each, worker);
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
        if (each.what == happening::forward_threw) hear_throw(each);
        if (worker.has_ended) broken("no-stale-incarnation", "worker {} computed after its end", each.worker);
        return check_forward(each);
      default:
        edges_.hear(each, worker.epoch);
        return run_ahead(each);
    }
  }

  /// All attempts at a forward may have thrown once each.
  void hear_throw(const event& each) {
    const std::size_t times = ++threw_once_[{each.stage, each.call, each.index}];
    if (each.value == 0 || times >= attempts) threw_.insert(each.call);
  }

  void check_forward(const event& each) {
    if (each.what != happening::forwarded) return;
    if (plain_.at_node(each.stage, each.call, each.index) == plain_evaluation::part{each.other, each.value}) return;
    broken("right-parts", "stage {}.{} computed micro-batch {} of call {} from other parts than a plain loop",
           each.stage, each.replica, each.index, each.call);
  }

  void tell_end(const event& each, worker_seen& worker) {
    worker.is_end_told = true;
    if (!worker.is_stage) {
      ++starts_failed_;
      return;
    }
    replica_seen& where = replicas_[worker.where];
    if (where.holder != each.worker) return;
    where.was_held = false;
    ++where.deaths;
    ++where.without_progress;
  }

  void become_stage(const event& each, worker_seen& worker) {
    worker.is_stage = true;
    worker.where = {each.stage, each.replica};
    worker.incarnation = each.incarnation;
    replica_seen& where = replicas_[worker.where];
    if (where.was_held) {
      broken("no-stale-incarnation", "stage {}.{} has two workers: {} and {}", each.stage, each.replica, where.holder,
             each.worker);
    }
    if (where.without_progress > deaths_at_most) {
      broken("restart-budget", "stage {}.{} is started after {} deaths without progress", each.stage, each.replica,
             where.without_progress);
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

  /// What the loader sends, whose worker is 0.
  void run_ahead(const event& each) {
    if (each.what != happening::edge_sent || each.worker != 0) return;
    const call_seen& call = call_at(each.call);
    if (each.index >= call.through() && call.answered == 0) ahead_.insert({each.call, each.index});
    if (ahead_.size() > window_) broken("window", "the loader is {} ahead of what is folded", ahead_.size());
  }

  const plan& plan_;
  plain_evaluation plain_;
  std::map<std::uint64_t, call_seen> calls_;
  std::map<std::uint64_t, micro_batch> named_;
  std::set<std::uint64_t> acknowledged_;
  /// By sink.
  std::vector<std::uint64_t> recovered_;
  bool is_hurt_ = false;
  bool is_disk_full_ = false;
  std::uint64_t window_ = 0;
  std::map<std::uint32_t, worker_seen> workers_;
  std::map<replica, replica_seen> replicas_;
  std::set<std::uint32_t> incarnations_;
  edges_heard edges_;
  std::set<micro_batch> ahead_;
  std::size_t starts_failed_ = 0;
  std::set<std::uint64_t> threw_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>, std::size_t> threw_once_;
  std::set<std::uint64_t> given_up_;
};

}  // namespace

std::optional<verdict> judge(const plan& what, const history& seen) try {
  hearing all(what);
  for (const event& each : seen) all.hear(each);
  return std::nullopt;
} catch (const broken_promise& found) {
  return found.what;
}

}  // namespace troupe::simulation
