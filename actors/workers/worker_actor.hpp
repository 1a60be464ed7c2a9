#pragma once

#include <memory>
#include <optional>

#include "actors/caf.hpp"
#include "actors/workers/driver_orders.hpp"
#include "actors/workers/serve_worker.hpp"
#include "actors/workers/worker_process.hpp"
#include "runtime/edge/transport.hpp"
#include "runtime/flow/compute_engine.hpp"
#include "runtime/inject/run_start.hpp"
#include "runtime/link/message_link.hpp"
#include "runtime/wiring/assembly.hpp"
#include "runtime/wiring/make_wiring.hpp"

namespace troupe {

/// Owned outside the actor, for the life of the process.
struct worker_body {
  worker_description description;
  worker_process& process;
  std::shared_ptr<transport> edges;
  std::shared_ptr<message_link> driver;
};

/// A message that has come over the link from the driver.
struct from_driver {
  codec::bytes message;
};
using worker_actor_type = caf::typed_actor<cast<from_driver>>;

/// The actor of a worker process. It says hello to the driver, becomes the stage that the driver assigns to it, and
/// then turns the driver's messages into commands of its engine. The engine's reports go to the driver from the
/// engine's thread.
///
///   greeting --worker_assignment--> assigned, with an engine that runs
///                              \--> assigned, without an engine, if it could not become the stage (the driver is told)
class worker_actor_state {
 public:
  static inline const char* name = "worker";
  explicit worker_actor_state(worker_actor_type::pointer) {}

  worker_actor_type::behavior_type start(std::shared_ptr<worker_body> body);

 private:
  void obey(const from_driver& order);
  template <class Message>
  void tell_driver(const Message& message) const;
  void handle(const worker_assignment& to);
  void handle(const run_begun& begin);
  void handle(const open_call& begin);
  void handle(const release_call& end);
  void handle(const cancel_call& cancel);
  void handle(const step_decision& decision);
  void handle(const wiring_order& order);
  void handle(const stop_request& stop);

  [[nodiscard]] expected<void> become_stage(const worker_assignment& to);
  [[nodiscard]] expected<void> take_loader_page(const worker_assignment& to);
  [[nodiscard]] expected<void> check_fingerprint(const worker_assignment& to) const;
  [[nodiscard]] expected<payload_ptr> warm_up_of(const worker_assignment& to);
  [[nodiscard]] stage_listener report_to_driver(const std::shared_ptr<engine_page>& page) const;
  [[nodiscard]] expected<engine_wiring> open_edges(const wiring_order& order);
  [[nodiscard]] expected<edge_site> site_of(const wiring_order& order, std::size_t channel, std::size_t peer);
  [[nodiscard]] expected<void> take_memory(edge_site& site);
  [[nodiscard]] std::function<void(const error&)> damage_reporter(epoch_number epoch, std::size_t channel) const;
  void order(stage_command_t command);

  std::shared_ptr<worker_body> body_;
  std::optional<driver_orders> orders_;
  /// Nothing while greeting.
  std::optional<worker_assignment> assignment_;
  /// The start of the run, from which the times of its faults count.
  std::shared_ptr<run_start> run_start_ = std::make_shared<run_start>();
  /// The loader's page, which has the bounds of what was sent; null if the loader is on another node.
  std::shared_ptr<const engine_page> loader_page_;
  std::shared_ptr<compute_engine> engine_;
};

worker_actor_type::behavior_type worker_actor(worker_actor_type::stateful_pointer<worker_actor_state> self,
                                              std::shared_ptr<worker_body> body);

/// worker_process::end() of a real process.
[[noreturn]] void end_worker(const error& cause);

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::from_driver)
