#include "testing/simulation/judge.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "testing/simulation/judged_training.hpp"
#include "testing/simulation/judged_workers.hpp"
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

constexpr std::size_t failed_starts = 3;
constexpr std::size_t lost_edges = 3;

using micro_batch = std::pair<std::uint64_t, std::uint64_t>;

verdict stage_failed(std::uint32_t stage, micro_batch_id id, const std::string& why, const char* also) {
  return {"stage-failed",
          fmt::format("E{:04}, stage {}, {}: its code threw, {}: {}", forward_failed, stage, to_string(id), also, why)};
}

class run_check {
 public:
  run_check(const plan& what, const history& seen, std::string thrown)
      : plan_(what), thrown_(std::move(thrown)), plain_(with_graph(what).graph, what.calls) {
    for (const event& each : seen) {
      if (each.what == happening::answered && each.value == 0) end_well_.insert({each.driver, each.call});
    }
    if (!what.trains) return;
    training_.emplace(what, seen);
    plain_.use_weights([this](std::uint32_t node, std::uint64_t call) { return training_->weights_in(node, call); });
  }

  void hear(const event& each) {
    workers_.pass(each.at_ns);
    switch (each.what) {
      case happening::stuck:
        broken("ends", "it did not end by {} ms", each.at_ns / 1'000'000);
      case happening::driver_started:
        return begin(each);
      case happening::driver_died:
        return end_driver();
      case happening::driver_ended:
        return check_leftovers(each);
      case happening::left:
        return workers_.check_left(each);
      case happening::submitted:
        ++call_at(each.call).submitted;
        return;
      case happening::given_up:
        given_up_[each.call].insert(each.value);
        return;
      case happening::cut:
        is_cut_ = true;
        return;
      case happening::labelled:
        return check_label(each);
      case happening::answered:
        return answer(each);
      case happening::named:
        named_[each.value] = {each.call, each.index};
        return;
      case happening::blamed:
        return check_cause(each);
      case happening::recovered:
        return recover(each);
      case happening::folded:
        return fold(each);
      case happening::decided:
        return training_->decide(each, call_at(each.call).through());
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
        if (each.what == happening::edge_sent && each.worker == 0) run_ahead(each);
        return workers_.hear(each);
    }
  }

 private:
  struct call_seen {
    std::size_t submitted = 0;
    std::size_t answered = 0;
    std::uint64_t code = 0;
    /// By the loader, the end of them.
    std::uint64_t sent = 0;
    /// By sink.
    std::vector<std::uint64_t> next = {};

    [[nodiscard]] std::uint64_t through() const { return next.empty() ? 0 : *std::ranges::min_element(next); }
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
    workers_.forget();
    ahead_.clear();
    given_up_.clear();
    is_cut_ = false;
    named_.clear();
    cause_.reset();
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
  }

  void fold(const event& each) {
    call_seen& call = call_at(each.call);
    if (call.answered > 0)
      broken("partial-labelled", "micro-batch {} of call {} is folded after the answer", each.index, each.call);
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
    if (!workers_.has_been(each.incarnation)) {
      broken("no-stale-incarnation", "a state came from incarnation {}, which there was not", each.incarnation);
    }
    const bool has_samples = each.other > 0;
    if (has_samples && !workers_.has_computed(plain_.node_of(each.stage), each.incarnation, each.call, each.index)) {
      broken("no-stale-incarnation", "micro-batch {} of call {} came as from incarnation {}, which did not compute it",
             each.index, each.call, each.incarnation);
    }
    ahead_.erase(ahead_.lower_bound({each.call, 0}), ahead_.lower_bound({each.call, call.through()}));
    workers_.progress();
  }

  void answer(const event& each) {
    call_seen& call = call_at(each.call);
    if (++call.answered > 1) broken("answered-once", "call {} was answered twice", each.call);
    call.code = each.value;
    workers_.progress();
    std::erase_if(ahead_, [&](const micro_batch& id) { return id.first == each.call; });
    if (each.value == 0) check_end(each, call);
    const std::uint64_t samples = plain_.samples_before(each.call, call.next.front());
    if (call.through() != each.other || samples != each.index) {
      broken("partial-labelled", "the answer to call {} counts {} micro-batches and {} samples; folded are {} and {}",
             each.call, each.other, each.index, call.through(), samples);
    }
    if (each.value != 0) check_license(each);
  }

  /// Of a call without an error.
  void check_end(const event& each, const call_seen& call) {
    if (cause_) broken("first-cause", "call {} ended well after the run had failed", each.call);
    if (training_) training_->end_well(each.call);
    const std::uint64_t count = plan_.calls.at(each.call);
    const std::uint64_t wanted = is_cut_ ? std::min(call.sent, count) : count;
    if (call.through() >= wanted) return;
    broken("complete", "call {} ended well with {} of {} micro-batches", each.call, call.through(), wanted);
  }

  /// A partial result says so, and a complete one does not.
  void check_label(const event& each) {
    const call_seen& call = call_at(each.call);
    const bool is_complete = call.through() == plan_.calls.at(each.call);
    const bool says_partial = each.value != 0;
    if (is_complete ? says_partial && call.code == 0 : !says_partial) {
      broken("partial-labelled", "call {} has {} of {} micro-batches, and is {}", each.call, call.through(),
             plan_.calls.at(each.call), says_partial ? "called partial" : "not called partial");
    }
    if (each.other != 0)
      broken("partial-labelled", "{} micro-batches of call {} are called lost", each.other, each.call);
  }

  void check_license(const event& each) {
    if (each.value == forward_failed && !workers_.threw(each.call)) check_own_failure(each.call);
    const bool is_fine =
        was_given_up(each) || (each.value == interrupted && is_cut_ && call_at(each.call).sent == 0) ||
        (each.value == forward_failed && workers_.threw(each.call)) ||
        (each.value == process_failed && workers_.starts_failed() >= failed_starts) ||
        (each.value == restarts_spent && workers_.died_often()) ||
        (each.value >= wire_codes_begin && each.value < wire_codes_end && workers_.edges_lost() >= lost_edges) ||
        (each.value == journal_unwritable && is_disk_full_);
    if (!is_fine)
      broken("licensed-error", "call {} ended with E{:04}, for which nothing happened", each.call, each.value);
  }

  [[nodiscard]] bool was_given_up(const event& answer) const {
    const auto found = given_up_.find(answer.call);
    return found != given_up_.end() && found->second.contains(answer.value);
  }

  /// The plain loop throws as well where the code fails without faults.
  void check_own_failure(std::uint64_t call) {
    const auto own = workers_.failed_by_itself(call);
    if (!own) return;
    static_cast<void>(plain_.at_node(own->stage, call, own->index));
    throw broken_promise{stage_failed(own->stage, {call, own->index}, thrown_, "not in a plain loop")};
  }

  /// What came behind the first cause is its consequence.
  void check_cause(const event& each) {
    const std::uint64_t code = call_at(each.call).code;
    if (code == restarts_spent) check_death(each);
    const bool ends_the_run = code == process_failed || (code >= wire_codes_begin && code < wire_codes_end) ||
                              (code == restarts_spent && !named_.contains(each.call));
    if (!ends_the_run) return;
    workers_.fail_run();
    if (!cause_) cause_ = each.value;
    if (*cause_ != each.value) {
      broken("first-cause", "call {} ended with another cause than the one for which the run failed", each.call);
    }
  }

  void check_death(const event& each) {
    workers_.check_first_death(each);
    const auto found = named_.find(each.call);
    if (found == named_.end()) return workers_.check_naming(each, std::nullopt);
    const micro_batch& named = found->second;
    workers_.check_naming(each, named);
    // Of another call only where that one is cancelled already.
    if (named.first != each.call && end_well_.contains({each.driver, named.first})) {
      broken("poison-named", "call {} ends for micro-batch {} of call {}, which ends well", each.call, named.second,
             named.first);
    }
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

  void run_ahead(const event& each) {
    call_seen& call = call_at(each.call);
    call.sent = std::max(call.sent, each.index + 1);
    if (each.index >= call.through() && call.answered == 0) ahead_.insert({each.call, each.index});
    if (ahead_.size() <= window_) return;
    // What sends more of a call has not heard that it is cancelled.
    const auto kept = std::ranges::count_if(ahead_, [&](const micro_batch& id) {
      return id.first == each.call || !may_be_cancelled(id.first, each.driver);
    });
    if (static_cast<std::uint64_t>(kept) > window_) broken("window", "the loader is {} ahead of what is folded", kept);
  }

  /// Then the loader keeps none of its micro-batches, long before the answer: that comes behind the calls before it.
  [[nodiscard]] bool may_be_cancelled(std::uint64_t call, std::uint32_t driver) const {
    const bool has_reason = given_up_.contains(call) || workers_.threw(call) || workers_.died_often() || is_disk_full_;
    return has_reason && !end_well_.contains({driver, call});
  }

  const plan& plan_;
  const std::string thrown_;
  plain_evaluation plain_;
  /// Where the plan trains.
  std::optional<judged_training> training_;
  judged_workers workers_{plain_, plan_.most};
  std::map<std::uint64_t, call_seen> calls_;
  std::map<std::uint64_t, micro_batch> named_;
  /// For which the run of this driver failed.
  std::optional<std::uint64_t> cause_;
  std::set<std::uint64_t> acknowledged_;
  /// By sink.
  std::vector<std::uint64_t> recovered_;
  bool is_hurt_ = false;
  bool is_disk_full_ = false;
  std::uint64_t window_ = 0;
  std::set<micro_batch> ahead_;
  /// By call, for which reasons.
  std::map<std::uint64_t, std::set<std::uint64_t>> given_up_;
  bool is_cut_ = false;
  /// By driver: calls that it answers without an error, so that none was cancelled.
  std::set<std::pair<std::uint32_t, std::uint64_t>> end_well_;
};

}  // namespace

std::optional<verdict> judge(const plan& what, const history& seen, const std::string& thrown) try {
  run_check all(what, seen, thrown);
  for (const event& each : seen) all.hear(each);
  return std::nullopt;
} catch (const broken_promise& found) {
  return found.what;
} catch (const plain_evaluation::code_failure& own) {
  return stage_failed(own.node, own.id, own.why, "in a plain loop, too");
} catch (const std::exception& failed) {
  return verdict{"stage-failed", std::string("a node cannot be made in a plain loop: ") + failed.what()};
}

std::string ending_of(const history& seen) {
  std::set<std::uint64_t> codes;
  std::uint32_t last = 0;
  for (const event& each : seen) {
    if (each.what == happening::labelled) last = std::max(last, each.driver);
  }
  for (const event& each : seen) {
    if (each.what == happening::answered && each.value != 0) codes.insert(each.value);
  }
  const bool is_partial = std::ranges::any_of(
      seen, [&](const event& e) { return e.what == happening::labelled && e.driver == last && e.value != 0; });
  if (codes.empty()) return is_partial ? "partial" : "same bits";
  std::string text;
  for (const std::uint64_t code : codes) text += fmt::format("{}E{:04}", text.empty() ? "" : " ", code);
  return text;
}

}  // namespace troupe::simulation
