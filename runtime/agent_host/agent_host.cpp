#include "runtime/agent_host/agent_host.hpp"

#include "messages/try.hpp"
#include "runtime/agent_host/agent_worker.hpp"

namespace troupe {

expected<hosted_worker_ptr> agent_host::start(std::shared_ptr<worker_listener> listener) {
  if (*closed_) return fail(error_code::engine_stopped, "workers", "the run is stopping");
  auto page = TROUPE_TRY(shared_page::create());
  auto made = std::make_shared<agent_worker>(options_.next_rank(), options_.log, options_.agent, page.memory(),
                                             std::move(listener), closed_);
  return options_.agent->start(made, options_.silence, options_.has_control_faults).map([&] {
    return hosted_worker_ptr(std::move(made));
  });
}

bool agent_host::stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) {
  close();
  return options_.agent->stop(deadline, grace);
}

}  // namespace troupe
