#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/workers/worker_claims.hpp"
#include "actors/workers/worker_pool.hpp"
#include "actors/workers/worker_setup.hpp"
#include "runtime/telemetry/stage_accounts.hpp"
#include "runtime/wiring/edge_depths.hpp"

namespace troupe {

/// The pool of the place where the next worker of a stage is to live. Errors: E0618.
using pool_finder = std::function<expected<worker_pool_actor>(stage_address at)>;

/// What an actor of a stage in a worker needs. Shared parts are owned outside the actors.
struct remote_stage_options {
  stage_address at;
  incarnation_number incarnation = 0;
  std::shared_ptr<const worker_setup> setup;
  std::shared_ptr<worker_registry> registry;
  std::shared_ptr<stage_accounts> accounts;
  edge_depths depths;
  /// The stage's place in the run's plan (place_in).
  worker_place place;
  /// The loader's.
  std::shared_ptr<const handed_out> sent;
  /// The loader's page, where workers see the bounds of what was sent.
  std::optional<shared_page> loader_page = std::nullopt;
  /// Finds the pool of the node where the stage's next worker is to live, anew each time. Errors end the run.
  std::function<expected<worker_pool_actor>()> pool;
  director_actor director;
  aggregator_actor aggregator;
};

/// The actor of one incarnation of a stage in a worker process: passes the director's messages on, and the worker's as
/// far as they can be true (worker_claims); and tells the director how the process ended. Of a worker that has said
/// what cannot be, nothing more is believed: it is killed, and its end is told as any other's.
///
///   waiting --worker_granted--> assigned --stopped--> stopped
///   assigned --exit before the worker has begun--> waiting (another one is asked for, without a death)
///   waiting --worker_denied--> waiting (at another place, if there is one) or (failure);   assigned --exit--> lost
class remote_stage_state {
 public:
  static inline const char* name = "remote_stage";
  explicit remote_stage_state(remote_stage_actor::pointer self) : self_(self) {}

  remote_stage_actor::behavior_type start(remote_stage_options options);

 private:
  enum class phase : std::uint8_t { waiting, assigned, stopped, lost };

  void request_worker();
  void refused(const worker_denied& what);
  void take_worker(const worker_granted& given);
  [[nodiscard]] expected<void> assign(const worker_granted& given);
  [[nodiscard]] expected<std::uint64_t> send_warm_up(const payload_ptr& warm_up);
  void from_worker(const worker_said& what);
  template <class Message>
  void believe(Message&& said);
  void fold(score_batch said);
  void accuse(const edge_damaged& what);
  void kill_for(std::string why);
  void replace_for(std::string why);
  [[nodiscard]] caf::result<call_opened> open(const open_ticket& open);
  void opened(const call_opened& what);
  template <class Message>
  void to_worker(const Message& message);
  void pass(const forward_to_worker& what);
  template <class Message>
  void over(const Message& end);
  void stop(const stop_request& request);
  [[nodiscard]] expected<void> hand_over(const std::string& tag, const blob& what);
  void link_broke(const worker_unlinked& what);
  void still_silent(const worker_silent& what);
  void wait_for_start(std::uint32_t slices_left);
  void check_start(const start_timeout& what);
  void exited(const worker_exited& what);
  [[nodiscard]] std::optional<micro_batch_id> working_on() const;
  [[nodiscard]] bool was_dead_before() const;
  /// stage_lost::name.
  [[nodiscard]] std::string name_in_log() const;
  void ask_for_another(const error& cause);
  void fail_stage(const error& cause);

  remote_stage_actor::pointer self_;
  remote_stage_options options_;
  std::string name_;
  phase phase_ = phase::waiting;
  /// That was asked last.
  worker_pool_actor asked_;
  bool ready_ = false;
  bool believed_ = true;
  /// Ends of workers are the run's own from then on.
  bool told_to_stop_ = false;
  /// Once it is assigned.
  std::optional<worker_claims> claims_;
  /// The worker could not be told what to become, and not because it took nothing.
  bool driver_failed_ = false;
  bool takes_blobs_ = true;
  /// Workers in a row that were dead before they began, and how the first of them ended.
  std::uint32_t dead_when_given_ = 0;
  std::optional<error> first_dead_;
  /// The one that it has, or had last.
  hosted_worker_ptr worker_;
  std::map<call_number, caf::typed_response_promise<call_opened>> opening_;
  /// call_ticket::unpack of calls whose scores travel in another form.
  std::map<call_number, std::function<std::optional<std::string>(score&)>> unpack_;
  /// The newest epoch, and by channel what kills the worker at the other end of its edge.
  epoch_number epoch_ = 0;
  std::map<std::size_t, std::function<void(const error&)>> peers_;
};

remote_stage_actor::behavior_type remote_stage(remote_stage_actor::stateful_pointer<remote_stage_state> self,
                                               remote_stage_options options);

}  // namespace troupe
