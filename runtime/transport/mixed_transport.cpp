#include "runtime/transport/mixed_transport.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "messages/check.hpp"

namespace troupe {
namespace {

class mixed_transport final : public transport {
 public:
  mixed_transport(std::shared_ptr<transport> near, std::shared_ptr<transport> far, std::shared_ptr<transport> devices)
      : members_{std::move(near), std::move(far), std::move(devices)} {
    TROUPE_CHECK(members_[near_member]->contact() == 0, "processes of one host need not find each other");
    TROUPE_CHECK(!members_[device_member] || members_[device_member]->contact() == contact(),
                 "a process has one contact");
  }

  std::uint64_t contact() const noexcept override { return members_[far_member]->contact(); }
  bool may_be_contact(std::uint64_t said) const noexcept override { return members_[far_member]->may_be_contact(said); }
  bool loses_ends() const noexcept override {
    return std::ranges::any_of(members_, [](const auto& each) { return each && each->loses_ends(); });
  }
  /// A stage on a device waits for the device, too, which no thread moves on.
  bool has_thread() const noexcept override { return !members_[device_member] && members_[far_member]->has_thread(); }

  expected<edge_offer> offer(const edge_options& shape, edge_reach reach) override {
    const std::size_t member = member_for(reach);
    return members_[member]->offer(shape, reach).map([member](edge_offer made) {
      made.words.insert(made.words.begin(), member);
      return made;
    });
  }
  expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override {
    return member_of(site).and_then([&](transport* one) { return one->open_consumer(std::move(site)); });
  }
  expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override {
    return member_of(site).and_then([&](transport* one) { return one->open_producer(std::move(site)); });
  }

 private:
  static constexpr std::size_t near_member = 0;
  static constexpr std::size_t far_member = 1;
  static constexpr std::size_t device_member = 2;

  [[nodiscard]] std::size_t member_for(edge_reach reach) const noexcept {
    if (reach == edge_reach::devices && members_[device_member]) return device_member;
    return reach == edge_reach::host ? near_member : far_member;
  }

  /// Takes the word away.
  expected<transport*> member_of(edge_site& site) const {
    auto& words = site.offer.words;
    if (words.empty() || words.front() >= members_.size() || !members_[words.front()])
      return fail(error_code::wire_malformed, "edge", "its offer names no kind of edge");
    transport* const found = members_[words.front()].get();
    words.erase(words.begin());
    return found;
  }

  const std::array<std::shared_ptr<transport>, 3> members_;
};

}  // namespace

std::shared_ptr<transport> make_mixed_transport(std::shared_ptr<transport> near, std::shared_ptr<transport> far,
                                                std::shared_ptr<transport> devices) {
  return std::make_shared<mixed_transport>(std::move(near), std::move(far), std::move(devices));
}

}  // namespace troupe
