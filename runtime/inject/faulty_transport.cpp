#include "runtime/inject/faulty_transport.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

bool damages_bytes(const std::shared_ptr<message_trigger>& one) {
  const fault_kind kind = one->what().kind;
  return kind == fault_kind::corrupt || kind == fault_kind::truncate;
}

bool is_partition(const std::shared_ptr<message_trigger>& one) {
  return one->what().kind == fault_kind::partition;
}

class planned_arrival_faults final : public arrival_faults {
 public:
  explicit planned_arrival_faults(message_triggers triggers) : triggers_(std::move(triggers)) {}

  [[nodiscard]] damage next_message() noexcept override {
    damage found = damage::none;
    for (const auto& each : triggers_) {
      if (is_partition(each) || !each->hits() || found != damage::none) continue;
      found = each->what().kind == fault_kind::truncate ? damage::cut : damage::flipped;
    }
    return found;
  }
  [[nodiscard]] bool is_silenced() const noexcept override {
    return std::ranges::any_of(triggers_, [](const auto& each) { return each->is_active(); });
  }

 private:
  const message_triggers triggers_;
};

class faulty_transport final : public transport {
 public:
  faulty_transport(std::shared_ptr<transport> edges, std::function<message_triggers(std::size_t)> of_channel)
      : edges_(std::move(edges)), of_channel_(std::move(of_channel)) {}

  std::uint64_t contact() const noexcept override { return edges_->contact(); }
  bool may_be_contact(std::uint64_t said) const noexcept override { return edges_->may_be_contact(said); }
  bool loses_ends() const noexcept override { return true; }

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
    for (const auto& each : all) {
      if (damages_bytes(each) || is_partition(each)) below.push_back(each);
      if (!damages_bytes(each)) above.push_back(each);
    }
    if (!below.empty()) site.faults = std::make_shared<planned_arrival_faults>(std::move(below));
    auto lost = site.on_lost;
    return edges_->open_consumer(std::move(site)).map([&](std::unique_ptr<edge_consumer>&& end) {
      return above.empty() ? std::move(end) : disturb_arrivals(std::move(end), std::move(above), std::move(lost));
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
