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
  /// The number of input ports. A micro-batch has one part per port.
  std::size_t ports = 1;
  /// true: micro-batches are taken in id order. false, for one port only: in the order of arrival.
  bool keeps_order = false;
  /// Where order is kept, this replica gets the ids whose index is `replica` modulo `replicas`.
  std::uint32_t replica = 0;
  std::uint32_t replicas = 1;
};

/// The inbound edges of an engine: for each port one edge per replica that feeds it. A take gives the parts of one
/// micro-batch. Their slots are in use until release().
///
/// Where order is kept, only the parts of the next id are taken. Every edge carries ascending ids (emits_in_order in
/// runtime/topology), so a part of the next id is the first on its edge, or has not arrived yet. A part that has
/// arrived and is not of the next id stays in its slot, as the head of its edge. The next id moves on to the next call
/// when all edges have passed the end of the call, or after skip() or forget(). Threads: one.
class gather {
 public:
  explicit gather(gather_options options);

  void add_edge(std::size_t port, std::unique_ptr<edge_consumer> edge);

  /// Takes the parts of one micro-batch, in the order of the ports. False if they have not all arrived.
  [[nodiscard]] bool take(std::vector<activation>& parts);
  /// The number of the last take that returned true. Takes are numbered from 1.
  [[nodiscard]] std::uint64_t last_take() const noexcept { return takes_; }
  /// Releases the slots of a take, which are credits of the senders. Has no effect if they were released before.
  void release(std::uint64_t take) noexcept;
  /// Releases the slots of all takes.
  void release() noexcept;

  /// Drops arrived micro-batches that will not be taken any more, and releases their slots. The engine calls this
  /// whenever it waits for room downstream: the rest of a cancelled call would otherwise keep slots that are needed for
  /// micro-batches which other stages wait for.
  void drop_what_is_over();

  /// The ids of the call begin with the index `first`. A call that does not begin with 0 needs this; until then none of
  /// its micro-batches is taken, whether they have arrived or not.
  void begin(call_number call, std::uint64_t first);
  /// Micro-batches of this call are dropped from now on, whenever they arrive.
  void skip(call_number call);
  /// This call and all calls before it have ended. Of them only replays can still arrive, and these are dropped.
  void forget(call_number call);

  /// The greatest call such that it and all calls before it have ended on all edges, and all their micro-batches were
  /// taken.
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept;
  [[nodiscard]] bool exhausted() const noexcept;
  void close() noexcept;

  /// Begins a new epoch: all edges are abandoned with everything that they hold, and the next micro-batch is the first
  /// one of this replica from `from` on. No slot may be in use. Afterwards the caller adds the new edges; until then
  /// there is nothing to take, and exhausted() is false.
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
  /// The first call, from the call of the next id on, of which more micro-batches may arrive.
  [[nodiscard]] call_number first_open_call() const;
  /// The first id of this replica from `from` on. Not below the first id of the call.
  [[nodiscard]] micro_batch_id own_from(micro_batch_id from) const;
  [[nodiscard]] input_edge* holder_of_next(std::size_t port);

  /// One slot of `edge`, used by the take of this number.
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
  /// All calls below it were forgotten. start_over() needs it, since a call may end after its `from` was chosen.
  call_number first_open_ = 0;
  std::set<call_number> skipped_;
  /// First ids of calls that do not begin with 0.
  std::map<call_number, std::uint64_t> firsts_;
};

}  // namespace troupe
