#include "runtime/edge/nccl/nccl_ends.hpp"

#include <optional>
#include <utility>

namespace troupe::nccl {
namespace {

template <class Queue>
using end_of = queue_end<Queue, link, core>;

class producer_end final : public edge_producer {
 public:
  producer_end(std::unique_ptr<edge_producer> queue, std::shared_ptr<link> shared, std::shared_ptr<core> io,
               std::shared_ptr<const payload_codec> labels)
      : labels_(std::move(labels)), end_(std::move(queue), std::move(shared), std::move(io)) {}

  [[nodiscard]] std::uint32_t slots() const noexcept override { return end_.queue->slots(); }
  [[nodiscard]] std::uint32_t credits() const noexcept override { return end_.is_silent() ? 0 : end_.queue->credits(); }
  // Here, where the caller can be told: the device's thread sends it later, and has no caller.
  [[nodiscard]] send_status try_send(activation& message) override {
    if (end_.is_silent()) return send_status::no_credit;
    if (message.tensors) end_.mover->tools()->codec->check(*message.tensors);
    if (message.labels) static_cast<void>(labels_->size_of(*message.labels));
    return end_.queue->try_send(message);
  }
  void send_flush(call_number call) noexcept override { end_.queue->send_flush(call); }
  void close() noexcept override { end_.close(); }
  void abandon() noexcept override { end_.abandon(); }

 private:
  const std::shared_ptr<const payload_codec> labels_;
  end_of<edge_producer> end_;
};

class consumer_end final : public edge_consumer {
 public:
  consumer_end(std::unique_ptr<edge_consumer> queue, std::shared_ptr<link> shared, std::shared_ptr<core> io)
      : end_(std::move(queue), std::move(shared), std::move(io)) {}

  [[nodiscard]] std::optional<activation> try_receive() override { return end_.queue->try_receive(); }
  // The slot of the queue is free before the other side can know.
  void release() noexcept override {
    end_.queue->release();
    end_.link->released.store(++released_, std::memory_order_release);
    end_.wake();
  }
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    return end_.queue->flushed_through();
  }
  [[nodiscard]] bool exhausted() const noexcept override { return end_.queue->exhausted(); }
  void close() noexcept override { end_.close(); }
  void abandon() noexcept override { end_.abandon(); }

 private:
  end_of<edge_consumer> end_;
  std::uint64_t released_ = 0;
};

}  // namespace

std::unique_ptr<edge_producer> make_producer_end(std::unique_ptr<edge_producer> queue, std::shared_ptr<link> shared,
                                                 std::shared_ptr<core> io,
                                                 std::shared_ptr<const payload_codec> labels) {
  return std::make_unique<producer_end>(std::move(queue), std::move(shared), std::move(io), std::move(labels));
}

std::unique_ptr<edge_consumer> make_consumer_end(std::unique_ptr<edge_consumer> queue, std::shared_ptr<link> shared,
                                                 std::shared_ptr<core> io) {
  return std::make_unique<consumer_end>(std::move(queue), std::move(shared), std::move(io));
}

}  // namespace troupe::nccl
