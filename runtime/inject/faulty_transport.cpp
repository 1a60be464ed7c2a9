#include "runtime/inject/faulty_transport.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

bool is_partition(const fault& one) {
  return one.kind == fault_kind::partition;
}

class faulty_transport final : public transport {
 public:
  faulty_transport(std::shared_ptr<transport> edges, std::function<message_triggers(std::size_t)> of_channel)
      : edges_(std::move(edges)), of_channel_(std::move(of_channel)) {}

  std::uint64_t contact() const noexcept override { return edges_->contact(); }
  bool may_be_contact(std::uint64_t said) const noexcept override { return edges_->may_be_contact(said); }
  bool loses_ends() const noexcept override { return true; }
  bool has_thread() const noexcept override { return edges_->has_thread(); }

  expected<edge_offer> offer(const edge_options& shape, edge_reach reach) override {
    return edges_->offer(shape, reach);
  }
  expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override {
    return edges_->open_producer(std::move(site));
  }
  expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override {
    const message_triggers all = of_channel_(site.channel);
    if (all.empty()) return edges_->open_consumer(std::move(site));
    // Faults of bytes and of the connection are injected inside the transport (edge_site::faults), faults of whole
    // messages in front of the consumer (disturb_arrivals).
    message_triggers of_bytes;
    message_triggers of_messages;
    bool has_connection_faults = false;
    for (const auto& each : all) {
      const fault& what = each->what();
      const bool is_of_bytes = damages_bytes(what) || is_of_connection(what);
      // A partition acts in both places: it holds up the bytes of a connection, with its heartbeats, and the messages
      // of shared memory.
      if (is_of_bytes || is_partition(what)) of_bytes.push_back(each);
      if (!is_of_bytes) of_messages.push_back(each);
      has_connection_faults = has_connection_faults || is_of_connection(what);
    }
    site.faults = of_bytes.empty() ? nullptr : std::make_shared<connection_faults>(std::move(of_bytes), flow::in);
    // Shared memory has no connection that could be silent or closed: the consumer in front acts as if it had one.
    const auto connection = has_connection_faults && site.offer.memory ? site.faults : nullptr;
    auto lost = site.on_lost;
    return edges_->open_consumer(std::move(site)).map([&](std::unique_ptr<edge_consumer>&& end) {
      if (of_messages.empty() && !connection) return std::move(end);
      return disturb_arrivals(std::move(end), std::move(of_messages), std::move(lost), connection);
    });
  }

 private:
  const std::shared_ptr<transport> edges_;
  const std::function<message_triggers(std::size_t)> of_channel_;
};

}  // namespace

std::shared_ptr<transport> make_faulty_transport(std::shared_ptr<transport> edges,
                                                 std::function<message_triggers(std::size_t)> of_channel) {
  return std::make_shared<faulty_transport>(std::move(edges), std::move(of_channel));
}

}  // namespace troupe
