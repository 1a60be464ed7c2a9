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
    message_triggers below;
    message_triggers above;
    bool may_break = false;
    for (const auto& each : all) {
      const fault& what = each->what();
      const bool is_below = damages_bytes(what) || is_of_connection(what);
      if (is_below || is_partition(what)) below.push_back(each);
      if (!is_below) above.push_back(each);
      may_break = may_break || is_of_connection(what);
    }
    const auto bytes = below.empty() ? nullptr : std::make_shared<connection_faults>(std::move(below), flow::in);
    // shared memory is no connection: what happens to one is played above it
    const auto played = may_break && site.offer.memory ? bytes : nullptr;
    site.faults = bytes;
    auto lost = site.on_lost;
    return edges_->open_consumer(std::move(site)).map([&](std::unique_ptr<edge_consumer>&& end) {
      if (above.empty() && !played) return std::move(end);
      return disturb_arrivals(std::move(end), std::move(above), std::move(lost), played);
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
