#pragma once

#include <deque>
#include <map>
#include <memory>

#include <troupe/actors/link/wire_message.hpp>
#include <troupe/actors/protocol.hpp>
#include <troupe/actors/workers/worker_launcher.hpp>

namespace troupe {

/// pool -> face: this worker is yours.
struct worker_given {
  std::shared_ptr<worker_process> process;
  wire_actor actor;
  /// worker_hello::edge_port.
  std::uint16_t edge_port = 0;
};
/// pool -> face: there will be none.
struct no_worker {
  error cause;
};
/// the process host's thread -> pool -> face that has the worker.
struct worker_exited {
  std::shared_ptr<worker_process> process;
  exit_report report;
};
/// A face, to itself: the link to its worker broke a moment ago.
struct worker_silent {};
/// worker_setup::start_deadline is over.
struct start_overdue {};
/// worker_crew -> face: passed on to the worker, in order with what the director says.
struct pass_on {
  wire_message message;
  /// Of the edges that it speaks of.
  epoch_number epoch = 0;
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
/// face -> pool.
struct want_worker {
  remote_stage_actor face;
};
/// The pool, to itself: its hello is late, and nobody counts on it any more.
struct hello_late {
  std::shared_ptr<worker_process> process;
};
/// The pool, to itself: time to have said hello is over.
struct hello_overdue {
  std::shared_ptr<worker_process> process;
};

/// Starts workers, takes their hellos, hands them to faces, keeps spares. Each worker is offered an entrance of its
/// own, an actor that lives as long as its process, so that the link tells which one says hello.
///
///   worker: starting --patience--> late
///           starting | late --hello--> spare --wanted--> given --exit--> (gone; its face hears of it)
///           starting | late | spare --exit, overdue--> (gone)
///
/// A frozen machine or process may let a worker start that never says hello. After `patience` a face that waits gets
/// another one, whoever comes first; after limits::worker_hello_timeout the late one is killed.
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
  std::shared_ptr<worker_launcher> launcher;
  std::chrono::milliseconds patience{0};
  bool has_tcp_edges = false;

  struct worker {
    enum class phase : std::uint8_t { starting, late, spare, given };
    [[nodiscard]] bool has_said_hello() const noexcept { return now >= phase::spare; }
    wire_actor entrance;
    phase now = phase::starting;
    wire_actor actor = {};
    std::uint16_t edge_port = 0;
    remote_stage_actor face = {};
  };
  std::map<std::shared_ptr<worker_process>, worker> workers;
  std::deque<remote_stage_actor> waiting;
  std::uint32_t failed_starts = 0;
};

/// `launcher` outlives it.
worker_pool_actor::behavior_type worker_pool(worker_pool_actor::stateful_pointer<worker_pool_state> self,
                                             std::shared_ptr<worker_launcher> launcher,
                                             std::chrono::milliseconds patience, bool has_tcp_edges);

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
