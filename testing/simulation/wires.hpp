#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/edge/tcp/frame_decoder.hpp"
#include "runtime/edge/transport.hpp"
#include "testing/simulation/timeline.hpp"

namespace troupe::simulation {

/// One process of a simulated run, as its edges know it.
struct process_state {
  std::uint32_t number = 0;
  bool lives = true;
};

struct wire;

/// All edges of one driver's life. As with tcp a producer has an inproc edge to the network, whose slots are the
/// credits; activations travel as frames of the tcp transport, with the production checksums and decoder, each
/// direction in order and with a delay of its own. A process that dies leaves silence, or, where edges can be lost, the
/// news of the loss.
class wire_network {
 public:
  struct options {
    bool loses_ends = false;
    credit_check credits = credit_check::by_slots;
    payload_check payloads = payload_check::of_checksums;
  };
  wire_network(const options& how, const nanoseconds& now, timeline& later, recorder& seen, chance& random)
      : options_(how), now_(now), later_(later), seen_(seen), random_(random) {}
  ~wire_network();
  wire_network(const wire_network&) = delete;
  wire_network& operator=(const wire_network&) = delete;

  /// The edges of one process. The network outlives it.
  [[nodiscard]] std::shared_ptr<transport> of(std::shared_ptr<process_state> process);
  /// After process_state::lives has become false.
  void died(const process_state& process);
  /// Faults: of an edge by chance of those of which both processes live, and that are of these channels; empty: of any.
  /// False: there is none.
  using channels = std::vector<std::size_t>;
  [[nodiscard]] bool lose_one(const channels& of);
  [[nodiscard]] bool damage_one(const channels& of);
  [[nodiscard]] bool lead_one_astray(const channels& of);
  [[nodiscard]] bool delay_one(const channels& of, nanoseconds by);
  [[nodiscard]] bool double_one(const channels& of);
  [[nodiscard]] bool reorder_one(const channels& of);
  /// Of processes that live, and neither closed nor abandoned; what its other end has closed is as good as that.
  [[nodiscard]] std::uint64_t open_ends() const;
  /// From now on each edge that is offered has this.
  void offer_memory(const blob& memory) { memory_ = memory; }
  [[nodiscard]] const options& how() const noexcept { return options_; }

  // --- of the edges ---
  [[nodiscard]] expected<std::shared_ptr<wire>> find(std::uint64_t number) const;
  [[nodiscard]] edge_offer make(const edge_options& shape);
  void send_down(const std::shared_ptr<wire>& on, std::vector<std::byte> frame);
  void send_up(const std::shared_ptr<wire>& on, std::uint64_t released);
  void note(happening what, const wire& on, const process_state* who, micro_batch_id id = {});
  void lose(const std::shared_ptr<wire>& on, const error& why);

 private:
  [[nodiscard]] std::shared_ptr<wire> draw_live(const channels& of);
  void arrive_down(const std::shared_ptr<wire>& on);
  void arrive_up(const std::shared_ptr<wire>& on);
  void take_in(const std::shared_ptr<wire>& on, activation message);

  const options options_;
  const nanoseconds& now_;
  timeline& later_;
  recorder& seen_;
  chance& random_;
  std::vector<std::shared_ptr<wire>> wires_;
  std::optional<blob> memory_;
};

}  // namespace troupe::simulation
