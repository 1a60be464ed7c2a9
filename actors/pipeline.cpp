#include <utility>

#include <troupe/actors/director.hpp>
#include <troupe/actors/engine_threads.hpp>
#include <troupe/actors/local_crew.hpp>
#include <troupe/actors/pipeline.hpp>
#include <troupe/messages/limits.hpp>

namespace troupe {
namespace {

/// Control messages are few and short: one worker, that sleeps on a lock instead of polling, takes the least from the
/// engines.
struct actor_config : caf::actor_system_config {
  actor_config() {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{1});
  }
};

}  // namespace

// Members are destroyed from the last to the first: engines go before the actors' system, and that before what both
// use.
struct pipeline::impl {
  std::shared_ptr<assembly> engines;
  std::shared_ptr<report_box> reports = std::make_shared<report_box>();
  std::shared_ptr<engine_threads> threads;
  std::promise<void> stopped_promise;
  std::future<void> stopped = stopped_promise.get_future();
  actor_config config;
  caf::actor_system system{config};
  director_actor director;
};

std::unique_ptr<pipeline> pipeline::start(assembly engines) {
  auto state = std::make_unique<impl>();
  state->engines = std::make_shared<assembly>(std::move(engines));
  state->threads = std::make_shared<engine_threads>(static_cast<std::uint32_t>(state->engines->stages.size()));
  state->director = state->system.spawn(
      director, director_plan{.engines = state->engines,
                              .ledger = std::make_shared<fold_ledger>(state->engines->ledger_options()),
                              .host = state->threads,
                              .crew = std::make_shared<local_crew>(state->engines, state->threads),
                              .reports = state->reports,
                              .on_stopped = [raw = state.get()] { raw->stopped_promise.set_value(); }});
  return std::unique_ptr<pipeline>(new pipeline(std::move(state)));
}

pipeline::pipeline(std::unique_ptr<impl> state)
    : engines_(state->engines), reports_(state->reports), impl_(std::move(state)) {}

pipeline::~pipeline() {
  static_cast<void>(stop(stop_mode::abort, limits::stop_timeout));
}

std::future<call_outcome> pipeline::submit(const call_ticket_ptr& ticket) {
  auto outcome = ticket->done.get_future();
  const std::lock_guard lock{entrance_};
  if (closed_) {
    call_outcome refused;
    refused.tally.cancelled = true;
    refused.cause = error{error_code::engine_stopped, "pipeline", "it was stopped", "start a new one"};
    ticket->done.set_value(std::move(refused));
  } else {
    post(impl_->director, open_call{ticket});
  }
  return outcome;
}

void pipeline::cut_calls() {
  if (impl_) post(impl_->director, troupe::cut_calls{});
}

void pipeline::cancel(const call_ticket_ptr& ticket, const error& cause) {
  if (impl_) post(impl_->director, cancel_ticket{ticket, cause});
}

void pipeline::request_stop(stop_mode mode) {
  const std::lock_guard lock{entrance_};
  closed_ = true;
  if (impl_) post(impl_->director, stop_request{mode});
}

bool pipeline::stop(stop_mode mode, std::chrono::nanoseconds at_most) {
  if (!impl_) return true;
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  request_stop(mode);
  const bool stopped =
      impl_->stopped.wait_until(deadline) == std::future_status::ready && impl_->threads->join(deadline);
  if (!stopped) {
    static_cast<void>(impl_.release());  // a stuck thread may still use any of it
    return false;
  }
  impl_.reset();
  return true;
}

}  // namespace troupe
