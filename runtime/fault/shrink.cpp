#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <troupe/fault_plan.hpp>
#include <troupe/limits.hpp>

namespace troupe {
namespace {

using fault_list = std::vector<fault>;

fault_plan plan_of(const fault_list& faults) {
  fault_plan made;
  for (const fault& each : faults) made.add(each);
  return made;
}

class shrinker {
 public:
  shrinker(fault_list faults, const std::function<bool(const fault_plan&)>& fails)
      : faults_(std::move(faults)), fails_(fails) {}

  fault_plan run() {
    leave_out();
    simplify();
    return plan_of(faults_);
  }

 private:
  bool take_if_it_fails(const fault_list& smaller) {
    const fault_plan plan = plan_of(smaller);
    if (runs_ >= limits::shrink_runs_max || !plan.check()) return false;
    ++runs_;
    if (!fails_(plan)) return false;
    faults_ = smaller;
    return true;
  }

  /// Delta debugging (Zeller, Hildebrandt 2002): ever smaller parts are left out, until no single one can be.
  void leave_out() {
    for (std::size_t size = (faults_.size() + 1) / 2; size > 0 && faults_.size() > 1;) {
      bool is_smaller = false;
      for (std::size_t at = 0; at < faults_.size() && faults_.size() > size;) {
        fault_list rest = faults_;
        const auto first = rest.begin() + static_cast<std::ptrdiff_t>(at);
        rest.erase(first, first + static_cast<std::ptrdiff_t>(std::min(size, rest.size() - at)));
        if (take_if_it_fails(rest)) {
          is_smaller = true;
        } else {
          at += size;
        }
      }
      if (size == 1 && !is_smaller) return;
      size = size == 1 ? 1 : size / 2;
    }
  }

  bool replace(std::size_t at, fault simpler) {
    if (simpler == faults_[at]) return false;
    fault_list changed = faults_;
    changed[at] = std::move(simpler);
    return take_if_it_fails(changed);
  }

  void simplify() {
    for (std::size_t at = 0; at < faults_.size(); ++at) {
      for (const auto& part : {&fault::lasts, &fault::delay, &fault::jitter}) {
        fault without = faults_[at];
        without.*part = std::nullopt;
        replace(at, without);
      }
      fault any = faults_[at];
      any.who.replica = std::nullopt;
      replace(at, any);
      make_earlier(at);
    }
  }

  /// The least number of its trigger at which it still fails, if all below fail not; else some lesser one.
  void make_earlier(std::size_t at) {
    std::uint64_t passes = faults_[at].when.kind == fault_trigger_kind::message ? 1 : 0;
    fault first = faults_[at];
    first.when.number = passes;
    if (replace(at, first)) return;
    while (faults_[at].when.number > passes + 1) {
      const std::uint64_t middle = passes + (faults_[at].when.number - passes) / 2;
      fault earlier = faults_[at];
      earlier.when.number = middle;
      if (!replace(at, earlier)) passes = middle;
    }
  }

  fault_list faults_;
  const std::function<bool(const fault_plan&)>& fails_;
  std::size_t runs_ = 0;
};

}  // namespace

fault_plan shrink(const fault_plan& plan, const std::function<bool(const fault_plan&)>& fails) {
  return shrinker(plan.faults(), fails).run();
}

}  // namespace troupe
