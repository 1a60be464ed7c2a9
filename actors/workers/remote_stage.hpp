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

/// Finds the pool of the place where the next worker of a stage is to live. Errors: E0618.
using pool_finder = std::function<expected<worker_pool_actor>(stage_address at)>;

/// What the actor of a stage in a worker process is made of. Shared objects are owned outside the actors.
struct remote_stage_options {
  stage_address at;
  incarnation_number incarnation = 0;
  std::shared_ptr<const worker_setup> setup;
  std::shared_ptr<worker_registry> registry;
  std::shared_ptr<stage_accounts> accounts;
  edge_depths depths;
  /// The stage's place in the run's plan (place_in).
  worker_place place;
  /// The micro-batches that the loader has sent.
  std::shared_ptr<const handed_out> sent;
  /// The loader's page, in which workers find the bounds of what was sent.
  std::optional<shared_page> loader_page = std::nullopt;
  /// Asked for each worker anew, as the node of the one before may be lost. Errors end the run.
  std::function<expected<worker_pool_actor>()> pool;
  director_actor director;
  aggregator_actor aggregator;
};

/// The actor of one incarnation of a stage in a worker process. It passes the director's messages on to the worker, and
/// the worker's messages to the director and the aggregator, after worker_claims found that they can be true. When the
/// process ends it tells the director how. A worker whose message cannot be true is killed, its later messages are
/// dropped, and its end is handled like any other end.
///
///   waiting --worker_granted--> starting --stage_ready--> working
///   waiting --worker_denied--> waiting for a worker of another node, or stopped, with a failure, where there is none
///   waiting --stop_request--> stopped;   starting, working --stopped--> stopped
///   starting --the process ends before it has begun to become the stage--> waiting for another worker
///   starting, working --the process ends in any other way--> lost
class remote_stage_state {
 public:
  static inline const char* name = "remote_stage";
  explicit remote_stage_state(remote_stage_actor::pointer self) : self_(self) {}

  remote_stage_actor::behavior_type start(remote_stage_options options);

 private:
  enum class phase : std::uint8_t { waiting, starting, working, stopped, lost };

  void request_worker();
  void refused(const worker_denied& what);
  void take_worker(const worker_granted& given);
  [[nodiscard]] std::optional<error> lost_state() const;
  [[nodiscard]] expected<void> assign(const worker_granted& given);
  [[nodiscard]] expected<std::uint64_t> send_warm_up(const payload_ptr& warm_up);
  void from_worker(const worker_said& what);
  template <class Message>
  void accept(Message&& said);
  void fold(score_batch said);
  void report_damage(const edge_damaged& what);
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
  [[nodiscard]] bool has_worker() const noexcept { return phase_ == phase::starting || phase_ == phase::working; }
  [[nodiscard]] bool ended_before_it_began() const;
  /// stage_lost::name.
  [[nodiscard]] std::string name_in_log() const;
  void ask_for_another(const error& cause);
  void fail_stage(const error& cause);

  remote_stage_actor::pointer self_;
  remote_stage_options options_;
  std::string name_;
  phase phase_ = phase::waiting;
  /// The pool that was asked last for a worker.
  worker_pool_actor asked_;
  /// The run is stopping, and may end the worker at any time: no other one is asked for.
  bool told_to_stop_ = false;
  /// What the worker's messages are compared with. Nothing before there is a worker, and from the moment on when it is
  /// killed for a message: later messages are dropped.
  std::optional<worker_claims> claims_;
  /// This process could not make what the worker must be told. Another worker would not help.
  bool driver_failed_ = false;
  /// Workers in a row that ended before they began, and how the first of them ended.
  std::uint32_t dead_when_given_ = 0;
  std::optional<error> first_dead_;
  /// The present worker, or else the last one.
  hosted_worker_ptr worker_;
  /// By call, the director's request to open it that has no answer yet.
  std::map<call_number, caf::typed_response_promise<call_opened>> opening_;
  /// By call, call_ticket::unpack, where the scores of the call travel in another form.
  std::map<call_number, std::function<std::optional<std::string>(score&)>> unpack_;
  /// The newest epoch, and by channel a function that kills the worker at the other end of its edge.
  epoch_number epoch_ = 0;
  std::map<std::size_t, std::function<void(const error&)>> peers_;
};

remote_stage_actor::behavior_type remote_stage(remote_stage_actor::stateful_pointer<remote_stage_state> self,
                                               remote_stage_options options);

}  // namespace troupe
