#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "runtime/flow/stage_body.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// The calls that an engine which trains knows and that are not over. They are worked off in the order of their
/// numbers: the *front* is the first one that has not passed. Threads: one.
class training_calls {
 public:
  struct call {
    call_number number = 0;
    bool trains = false;
    /// The engine has worked off an evaluation. It stays known, as a new epoch may bring it again.
    bool has_passed = false;
    std::vector<std::shared_ptr<scorer>> scorers = {};
  };

  /// Has no effect on a call that is over. Of a call that is open, it replaces the scorers. A new call comes behind all
  /// that are open.
  void open(call opened);
  [[nodiscard]] bool knows(call_number number) const { return calls_.contains(number); }
  /// Null if there is none. Valid until the call is over.
  [[nodiscard]] call* front();

  void cancel(call_number number);
  /// This call and all before it are complete. The steps among them were decided.
  void release(call_number number);
  /// Whether a decision about this step is to be carried out: not if that was done before, and not if the call was
  /// cancelled.
  [[nodiscard]] bool takes_decision(call_number number) const;
  /// The step is decided, so that all calls before it are complete, too.
  void decided(call_number number);

  /// In a new epoch, which begins with `first`, evaluations before it have passed, and those from it on have not. A
  /// step before it still waits for its decision.
  void start_over(call_number first);

 private:
  std::map<call_number, call> calls_;
  /// Calls below it are over.
  call_number first_open_ = 0;
  std::optional<call_number> decided_through_;
  /// Until their release: a decision that crosses a cancellation must find it.
  std::set<call_number> cancelled_;
};

}  // namespace troupe
