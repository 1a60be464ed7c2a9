#pragma once

#include <map>
#include <mutex>
#include <string>

#include "actors/aggregator.hpp"
#include "actors/caf.hpp"
#include "actors/loader.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe {

/// The actors of a run that a fault can end, and whose work goes on with the next ones (docs/recovery.md). Threads:
/// any.
class fault_victims {
 public:
  void put(const caf::actor& child) {
    const auto* const made = static_cast<caf::local_actor*>(caf::actor_cast<caf::abstract_actor*>(child));
    const std::lock_guard lock{mutex_};
    by_name_[made->name()] = child.address();
  }
  void end(fault_target_kind which) {
    const std::lock_guard lock{mutex_};
    const char* const name = which == fault_target_kind::loader ? loader_state::name : aggregator_state::name;
    caf::anon_send_exit(by_name_[name], caf::exit_reason::kill);
  }

 private:
  std::mutex mutex_;
  /// Addresses: they keep no actor alive.
  std::map<std::string, caf::actor_addr> by_name_;
};

}  // namespace troupe
