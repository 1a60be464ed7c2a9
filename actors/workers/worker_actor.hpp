#pragma once

#include <memory>

#include "actors/engine_threads.hpp"
#include "actors/link/wire_message.hpp"
#include "actors/workers/descriptor_box.hpp"
#include "actors/workers/driver_orders.hpp"
#include "actors/workers/serve_worker.hpp"
#include "runtime/edge/transport.hpp"
#include "runtime/engine/assembly.hpp"
#include "runtime/engine/make_wiring.hpp"
#include "runtime/engine/stage_engine.hpp"

namespace troupe {

/// Owned outside the actor, for the life of the process.
struct worker_body {
  worker_description description;
  descriptor_box& descriptors;
  std::shared_ptr<transport> edges;
};

/// The actor of the one stage engine of a worker process, towards the driver.
///
///   greeting --worker_assignment--> assigned (its engine runs)
/// The driver's actor of this stage is known from the assignment on; when its process is gone, this one ends.
class worker_actor_state {
 public:
  static inline const char* name = "worker";
  explicit worker_actor_state(wire_actor::pointer self) : self_(self) {}

  wire_actor::behavior_type start(std::shared_ptr<worker_body> body, const wire_actor& driver);

 private:
  void obey(const wire_message& message);
  void handle(const worker_assignment& to);
  void handle(const open_call& begin);
  void handle(const release_call& end);
  void handle(const cancel_call& cancel);
  void handle(const wiring_order& order);
  void handle(const stop_request& stop);

  [[nodiscard]] expected<void> become_stage(const worker_assignment& to);
  [[nodiscard]] expected<void> check_fingerprint(const worker_assignment& to) const;
  [[nodiscard]] expected<payload_ptr> warm_up_of(const worker_assignment& to);
  [[nodiscard]] stage_listener report_to_driver() const;
  [[nodiscard]] expected<engine_wiring> open_edges(const wiring_order& order);
  [[nodiscard]] expected<edge_site> site_of(const wiring_order& order, std::size_t channel, std::size_t peer);
  [[nodiscard]] expected<void> take_memory(edge_site& site);
  [[nodiscard]] std::function<void(const error&)> accusation(epoch_number epoch, std::size_t channel) const;
  template <class Message>
  void to_driver(const Message& message);
  void order(stage_command_t command);

  wire_actor::pointer self_;
  std::shared_ptr<worker_body> body_;
  std::optional<driver_orders> orders_;
  wire_actor driver_;
  worker_assignment assignment_;
  /// Where the bounds stand of what was sent.
  std::shared_ptr<const engine_page> loader_page_;
  std::shared_ptr<stage_engine> engine_;
  std::shared_ptr<engine_threads> threads_;
};

wire_actor::behavior_type worker_actor(wire_actor::stateful_pointer<worker_actor_state> self,
                                       std::shared_ptr<worker_body> body, const wire_actor& driver);

/// What cannot be repaired from inside: the last words on stderr, and the end of the process. Its driver replaces it.
[[noreturn]] void end_worker(const error& cause);

}  // namespace troupe
