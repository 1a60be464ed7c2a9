#pragma once

#include <memory>

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

/// What has come over the link.
struct from_driver {
  codec::bytes message;
};
using worker_actor_type = caf::typed_actor<cast<from_driver>>;

/// The actor of the one engine of a worker process, towards the driver.
///
///   greeting --worker_assignment--> assigned (its engine runs)
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
  [[nodiscard]] std::function<void(const error&)> accusation(epoch_number epoch, std::size_t channel) const;
  void order(stage_command_t command);

  std::shared_ptr<worker_body> body_;
  std::optional<driver_orders> orders_;
  worker_assignment assignment_;
  bool is_assigned_ = false;
  /// For faults at times of the run.
  std::shared_ptr<run_start> run_start_ = std::make_shared<run_start>();
  /// Where the bounds stand of what was sent; null on another node.
  std::shared_ptr<const engine_page> loader_page_;
  std::shared_ptr<compute_engine> engine_;
};

worker_actor_type::behavior_type worker_actor(worker_actor_type::stateful_pointer<worker_actor_state> self,
                                              std::shared_ptr<worker_body> body);

/// worker_process::end() of a real process.
[[noreturn]] void end_worker(const error& cause);

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::from_driver)
