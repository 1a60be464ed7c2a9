#pragma once

#include <deque>
#include <map>
#include <memory>

#include "actors/link/wire_message.hpp"
#include "actors/protocol.hpp"
#include "actors/workers/worker_launcher.hpp"
#include "messages/limits.hpp"
#include "runtime/process/start_budget.hpp"

namespace troupe {

/// pool -> stage: this worker is yours.
struct worker_given {
  std::shared_ptr<worker_process> process;
  wire_actor actor;
  /// worker_hello::edge_port.
  std::uint16_t edge_port = 0;
};
/// pool -> stage: there will be none.
struct no_worker {
  error cause;
};
/// the process host's thread -> pool -> stage that has the worker.
struct worker_exited {
  std::shared_ptr<worker_process> process;
  exit_report report;
};
/// A stage, to itself: the link to this worker broke a moment ago.
struct worker_silent {
  std::shared_ptr<worker_process> process;
};
/// One more slice of worker_setup::start_deadline is over.
struct start_overdue {
  std::shared_ptr<worker_process> process;
  std::uint32_t slices_left = 0;
};
/// worker_stages -> stage: passed on to the worker, in order with what the director says.
struct pass_on {
  wire_message message;
  /// Of the edges that it speaks of.
  epoch_number epoch = 0;
  /// Of those that end in another worker: kills that worker, by channel.
  std::map<std::size_t, std::function<void(const error&)>> peers = {};
};

/// A stage whose engine is in a worker process.
using remote_stage_actor =
    stage_actor::extend<cast<wire_message>, cast<worker_given>, cast<no_worker>, cast<worker_exited>,
                        cast<worker_silent>, cast<start_overdue>, cast<pass_on>>;

/// A worker's entrance -> pool: it has said this, its first words.
struct worker_said {
  std::shared_ptr<worker_process> process;
  wire_actor actor;
  wire_message message;
};
/// stage -> pool.
struct want_worker {
  remote_stage_actor stage;
};
/// The pool, to itself: one more slice of its patience is over. After the last one the pool counts on it no more.
struct hello_late {
  std::shared_ptr<worker_process> process;
  std::uint32_t slices_left = 0;
};
/// The pool, to itself: one more slice of the time to have said hello is over.
struct hello_overdue {
  std::shared_ptr<worker_process> process;
  std::uint32_t slices_left = 0;
};

/// Starts a worker, as worker_launcher::launch() does; one without a link is offered none.
using worker_source = std::function<expected<launched_worker>(
    std::function<void(const std::shared_ptr<worker_process>&, const exit_report&)> on_exit)>;

/// Starts workers, takes their hellos, hands them to stages, keeps spares. Each worker is offered an entrance of its
/// own, an actor that lives as long as its process, so that the link tells which one says hello.
///
///   worker: starting --patience--> late
///           starting | late --hello--> spare --wanted--> given --exit--> (gone; its stage hears of it)
///           starting | late | spare --exit, overdue--> (gone)
///
/// A frozen machine or process may let a worker start that never says hello. After `patience` a stage that waits gets
/// another one, and takes the first to come; after limits::worker_hello_timeout the late one is killed. Both waits are
/// made of limits::wait_slices timers, of which a freeze of this process takes one at the most.
///
/// Workers that end before their hello are replaced until the start_budget is spent: then all stages that wait get
/// no_worker with the first cause. A stage whose worker was dead already asks again. Spares that die are replaced up to
/// limits::spares_lost_in_window_max; after that a worker is started when a stage wants one.
using worker_pool_actor =
    caf::typed_actor<cast<worker_said>, cast<want_worker>, cast<worker_exited>, cast<hello_late>, cast<hello_overdue>>;

struct worker_pool_state {
  static inline const char* name = "worker_pool";
  explicit worker_pool_state(worker_pool_actor::pointer owner) : self(owner) {}

  worker_pool_actor::behavior_type behavior();
  void hello(const worker_said& what);
  void want(const want_worker& wanted);
  void exited(const worker_exited& what);
  void late(const hello_late& what);
  void overdue(const hello_overdue& what);
  void give();
  void launch_missing();
  bool launch();
  void refuse_all(const error& cause);

  worker_pool_actor::pointer self;
  worker_source source;
  std::chrono::milliseconds patience{0};
  bool has_tcp_edges = false;

  struct worker {
    enum class phase : std::uint8_t { starting, late, spare, given };
    [[nodiscard]] bool has_said_hello() const noexcept { return now >= phase::spare; }
    wire_actor entrance;
    phase now = phase::starting;
    wire_actor actor = {};
    std::uint16_t edge_port = 0;
    remote_stage_actor stage = {};
  };
  std::map<std::shared_ptr<worker_process>, worker> workers;
  std::deque<remote_stage_actor> waiting;
  start_budget budget;
};

worker_pool_actor::behavior_type worker_pool(worker_pool_actor::stateful_pointer<worker_pool_state> self,
                                             worker_source source, std::chrono::milliseconds patience,
                                             bool has_tcp_edges);

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_given)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::no_worker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_exited)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_silent)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::start_overdue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::pass_on)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::want_worker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::hello_late)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::hello_overdue)
