#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "messages/activation.hpp"
#include "runtime/edge/edge.hpp"

namespace troupe {

struct gather_options {
  /// One part per input port.
  std::size_t ports = 1;
  /// Micro-batches in id order, one part of the same id from every port; otherwise (one port only) as they come.
  bool keeps_order = false;
  /// With order: the ids to expect are those whose index is `replica` modulo `replicas`.
  std::uint32_t replica = 0;
  std::uint32_t replicas = 1;
};

/// The inbound edges of an engine: by port, an edge per replica that feeds it. A take has the parts of one micro-batch;
/// their slots are in use until release().
///
/// With order it looks only for the next id, and leaves everything else where it is: every edge carries ascending ids
/// (topology's emits_in_order), so the wanted one is the first of its edge, or not there yet. What was received and is
/// not wanted yet is kept as that edge's head, in its slot. A call is left behind when all its edges have passed its
/// end, or when skip() or forget() says so.
/// Threads: one.
class gather {
 public:
  explicit gather(gather_options options);

  void add_edge(std::size_t port, std::unique_ptr<edge_consumer> edge);

  /// One part per port, of one id, in the order of the ports; false if they are not all there.
  [[nodiscard]] bool take(std::vector<activation>& parts);
  /// The number of the last take that had parts: 1, 2, ...
  [[nodiscard]] std::uint64_t last_take() const noexcept { return takes_; }
  /// Gives the slots of that take back, if it is in use: the credits.
  void release(std::uint64_t take) noexcept;
  /// Those of all takes.
  void release() noexcept;

  /// Gives the slots back of what has arrived and is over, also while takes are in use. To be called whenever
  /// the engine waits for room: the rest of a cancelled call would else keep out what others wait for.
  void drop_what_is_over();

  /// The call's ids begin with this index, and not with 0. Before the first of them arrives, or after: nothing of the
  /// call is taken until then.
  void begin(call_number call, std::uint64_t first);
  /// Nothing of the call is taken any more: what arrives is dropped.
  void skip(call_number call);
  /// The call and all before it are over, and nothing of them will arrive but replays, which are dropped.
  void forget(call_number call);

  /// All calls up to this one have ended on all edges, and everything of them was taken.
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept;
  [[nodiscard]] bool exhausted() const noexcept;
  void close() noexcept;

  /// A new epoch: all edges end without a word, with whatever they hold, and the next micro-batch is the first of this
  /// replica from `from` on. Nothing may be in use. add_edge() follows. Until then there is nothing to take, and
  /// nothing is exhausted.
  void start_over(micro_batch_id from);

 private:
  struct input_edge {
    std::unique_ptr<edge_consumer> consumer;
    std::size_t port = 0;
    std::optional<activation> head;
  };

  [[nodiscard]] bool take_any(std::vector<activation>& parts);
  [[nodiscard]] bool take_next(std::vector<activation>& parts);
  void fill_heads();
  [[nodiscard]] bool is_over(micro_batch_id id) const { return id < next_ || skipped_.contains(id.call); }
  /// From the next id's on: the first call of which more may come.
  [[nodiscard]] call_number first_open_call() const;
  /// The first id from there on that is this replica's; from the call's beginning at the least.
  [[nodiscard]] micro_batch_id own_from(micro_batch_id from) const;
  [[nodiscard]] input_edge* holder_of_next(std::size_t port);

  /// A slot of that edge.
  struct used_slot {
    std::uint64_t take = 0;
    input_edge* edge = nullptr;
  };

  gather_options options_;
  std::vector<input_edge> edges_;
  std::vector<used_slot> in_use_;
  std::uint64_t takes_ = 0;
  std::size_t turn_ = 0;
  micro_batch_id next_;
  /// All calls before it were forgotten: a call may end between the order to start over and its being carried out.
  call_number first_open_ = 0;
  std::set<call_number> skipped_;
  /// First ids of calls that do not begin with 0.
  std::map<call_number, std::uint64_t> firsts_;
};

}  // namespace troupe
