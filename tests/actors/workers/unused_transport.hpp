#pragma once

#include <memory>

#include "runtime/edge/transport.hpp"

namespace troupe::testing {

/// Its edges are never made. A contact is 1 to 9 where it has contacts, else 0.
class unused_transport final : public transport {
 public:
  struct traits {
    bool loses = false;
    bool has_contacts = false;
  };
  unused_transport() = default;
  explicit unused_transport(traits which) : which_(which) {}

  std::uint64_t contact() const noexcept override { return which_.has_contacts ? 1 : 0; }
  bool may_be_contact(std::uint64_t said) const noexcept override {
    return which_.has_contacts ? said >= 1 && said <= 9 : said == 0;
  }
  bool loses_ends() const noexcept override { return which_.loses; }
  expected<edge_offer> offer(const edge_options&, edge_reach) override { return edge_offer{}; }
  expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site) override { return refused(); }
  expected<std::unique_ptr<edge_producer>> open_producer(edge_site) override { return refused(); }

 private:
  static tl::unexpected<error> refused() { return fail(error_code::process_failed, "edge", "no edge is made here"); }
  traits which_;
};

}  // namespace troupe::testing
