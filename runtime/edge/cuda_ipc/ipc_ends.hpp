#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/edge/cuda_ipc/event_poller.hpp"
#include "runtime/edge/cuda_ipc/ipc_tools.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/edge/payload_codec.hpp"

/// The two ends of an edge over cuda_ipc, each over its end of the announcing edge. Not for users: ipc_transport.hpp is
/// the interface.
namespace troupe::ipc {

/// Tells the first loss or damage of an end, once, on the thread of the end.
class end_news {
 public:
  using told = std::function<void(const error&)>;
  end_news(std::string named, told on_lost, told on_damaged)
      : name_(std::move(named)), on_lost_(std::move(on_lost)), on_damaged_(std::move(on_damaged)) {}

  [[nodiscard]] bool is_bad() const noexcept { return is_bad_; }
  void lose(const error& why) { tell(on_lost_, why); }
  void damage(const error& why) { tell(on_damaged_, why); }

 private:
  void tell(const told& whom, const error& why) {
    if (std::exchange(is_bad_, true) || !whom) return;
    whom({why.code, name_, why.cause, why.fix});
  }

  /// "cuda_ipc edge 3, epoch 2".
  const std::string name_;
  const told on_lost_;
  const told on_damaged_;
  bool is_bad_ = false;
};

struct end_parts {
  std::shared_ptr<const ipc_tools> tools;
  std::shared_ptr<event_poller> poller;
  std::shared_ptr<end_news> news;
};

/// Told in try_send of the announcing edge which slot a message goes to; made before that edge is.
struct slot_choice {
  std::function<void(std::uint32_t slot)> told;
};

[[nodiscard]] expected<std::unique_ptr<edge_producer>> make_producer_end(std::unique_ptr<edge_producer> announcing,
                                                                         const std::shared_ptr<slot_choice>& choice,
                                                                         end_parts parts);
/// `bell` is that of the engine, not owned, and may be null.
[[nodiscard]] std::unique_ptr<edge_consumer> make_consumer_end(std::unique_ptr<edge_consumer> announcing,
                                                               std::uint32_t slots, doorbell* bell, end_parts parts);

}  // namespace troupe::ipc
