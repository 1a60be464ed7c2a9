#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "actors/protocol.hpp"
#include "messages/limits.hpp"
#include "runtime/edge/transport.hpp"
#include "runtime/process/start_budget.hpp"
#include "runtime/process/worker_host.hpp"

namespace troupe {

/// pool -> stage: the worker that the stage has requested.
struct worker_granted {
  hosted_worker_ptr worker;
  /// worker_hello::edge_contact.
  std::uint64_t edge_contact = 0;
};
/// pool -> stage: the request for a worker is refused, and there will be none.
struct worker_denied {
  error cause;
};
/// host -> pool -> stage that has the worker: worker_listener::said(). The pool keeps a worker_hello for itself.
struct worker_said {
  hosted_worker_ptr worker;
  codec::bytes message;
};
/// host -> pool -> stage that has the worker: worker_listener::link_lost().
struct worker_unlinked {
  hosted_worker_ptr worker;
};
/// host -> pool -> stage that has the worker: worker_listener::exited().
struct worker_exited {
  hosted_worker_ptr worker;
  exit_report report;
};
/// stage -> itself, delayed: the link to this worker broke a moment ago.
struct worker_silent {
  hosted_worker_ptr worker;
};
/// stage -> itself, delayed: one more slice of worker_options::start_deadline is over.
struct start_timeout {
  hosted_worker_ptr worker;
  std::uint32_t slices_left = 0;
};
/// worker_stages -> stage: an order of edges. The stage passes it on to the worker, in order with the director's
/// messages.
struct forward_to_worker {
  codec::bytes message;
  /// The epoch of the edges that the order names.
  epoch_number epoch = 0;
  /// By channel, for edges that end in another worker: kills that worker.
  std::map<std::size_t, std::function<void(const error&)>> peers = {};
};

/// A stage whose engine is in a worker process.
using remote_stage_actor =
    stage_actor::extend<cast<worker_said>, cast<worker_granted>, cast<worker_denied>, cast<worker_unlinked>,
                        cast<worker_exited>, cast<worker_silent>, cast<start_timeout>, cast<forward_to_worker>>;

/// stage -> pool.
struct worker_request {
  remote_stage_actor stage;
};
/// pool -> itself, delayed: one more slice of its patience with this worker is over.
struct hello_retry_timeout {
  hosted_worker_ptr worker;
  std::uint32_t slices_left = 0;
};
/// pool -> itself, delayed: one more slice of limits::worker_hello_timeout is over for this worker.
struct hello_timeout {
  hosted_worker_ptr worker;
  std::uint32_t slices_left = 0;
};

/// The actor that has a host start workers, takes their hellos, hands them to stages and keeps spares. It is the only
/// listener of the host, and passes on to each stage the reports about that stage's worker.
///
///   worker: starting --no hello within `patience`--> late
///           starting, late --hello--> spare --a stage requests one--> given
///           starting, late --no hello within limits::worker_hello_timeout--> killed
///           any of them --the process ends--> (gone; the stage is told that had it)
///
/// A worker may start on a frozen machine, or freeze itself, and never say hello. After `patience` another one is
/// started for a stage that waits, and the stage gets whichever says hello first; after limits::worker_hello_timeout
/// the late one is killed. Each of the two waits is made of limits::wait_slices timers, one after the other: if this
/// process is frozen for a long time, only one of them runs out meanwhile.
///
/// Workers that end before their hello are replaced until the start_budget is spent. Then all stages that wait get
/// worker_denied with the first cause. A stage that is given a worker that has died already requests another one.
/// Spares that die are replaced, up to limits::spares_lost_in_window_max; after that a worker is started when a stage
/// requests one.
using worker_pool_actor = caf::typed_actor<cast<worker_said>, cast<worker_request>, cast<worker_unlinked>,
                                           cast<worker_exited>, cast<hello_retry_timeout>, cast<hello_timeout>>;

struct worker_pool_state {
  static inline const char* name = "worker_pool";
  explicit worker_pool_state(worker_pool_actor::pointer owner) : self(owner) {}

  worker_pool_actor::behavior_type behavior();
  void said(worker_said& what);
  void hello(const worker_said& what);
  void want(const worker_request& wanted);
  void unlinked(const worker_unlinked& what);
  void exited(const worker_exited& what);
  void late(const hello_retry_timeout& what);
  void overdue(const hello_timeout& what);
  void give();
  void launch_missing();
  bool launch();
  void refuse_all(const error& cause);

  worker_pool_actor::pointer self;
  std::shared_ptr<worker_host> host;
  std::shared_ptr<worker_listener> listener;
  std::chrono::milliseconds patience{0};
  std::shared_ptr<const transport> edges;

  struct worker {
    enum class phase : std::uint8_t { starting, late, spare, given };
    [[nodiscard]] bool has_said_hello() const noexcept { return now >= phase::spare; }
    phase now = phase::starting;
    bool is_unlinked = false;
    std::uint64_t edge_contact = 0;
    remote_stage_actor stage = {};
  };
  /// Ranks count up: the oldest worker comes first.
  struct by_rank {
    bool operator()(const hosted_worker_ptr& a, const hosted_worker_ptr& b) const { return a->rank() < b->rank(); }
  };
  std::map<hosted_worker_ptr, worker, by_rank> workers;
  std::deque<remote_stage_actor> waiting;
  start_budget budget;
};

worker_pool_actor::behavior_type worker_pool(worker_pool_actor::stateful_pointer<worker_pool_state> self,
                                             std::shared_ptr<worker_host> host, std::chrono::milliseconds patience,
                                             std::shared_ptr<const transport> edges);

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_granted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_denied)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_unlinked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_exited)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_silent)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::start_timeout)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::forward_to_worker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_said)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::hello_retry_timeout)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::hello_timeout)
