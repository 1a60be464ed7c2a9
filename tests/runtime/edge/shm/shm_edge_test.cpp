// Goal: the shared-memory edge keeps the edge contract. Method: the contract suites over both ends in one process, each
// with mappings of its own, with one thread and with two.
#include "runtime/edge/shm/shm_edge.hpp"

#include <cstring>

#include "../edge_close_contract.hpp"
#include "../edge_contract.hpp"
#include "../edge_random_contract.hpp"
#include "../edge_thread_contract.hpp"

namespace troupe::testing {
namespace {

/// What a counted_payload is at the other end: its value, read when it is asked for.
class viewed_value final : public payload {
 public:
  viewed_value(const std::byte* where, std::shared_ptr<const void> owner) : where_(where), owner_(std::move(owner)) {}
  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t read = 0;
    std::memcpy(&read, where_, sizeof(read));
    return read;
  }

 private:
  const std::byte* where_;
  std::shared_ptr<const void> owner_;
};

class value_codec final : public payload_codec {
 public:
  std::size_t size_of(const payload&) const override { return sizeof(std::uint64_t); }
  void write(const payload& value, std::span<std::byte> into) const override {
    std::memcpy(into.data(), &dynamic_cast<const counted_payload&>(value).value, into.size());
  }
  expected<payload_ptr> read(std::span<const std::byte> from, std::shared_ptr<const void> owner) const override {
    if (from.size() != sizeof(std::uint64_t)) return fail(error_code::wire_malformed, "test", "not a value");
    return std::make_shared<const viewed_value>(from.data(), std::move(owner));
  }
};

class shm_backend {
 public:
  static constexpr bool copies = true;
  static constexpr bool views = true;
  static std::uint64_t value_of(const payload& got) { return dynamic_cast<const viewed_value&>(got).value(); }

  edge_factory& factory() { return factory_; }
  // A sent message has arrived.
  void settle() {}
  void some_arrive(std::mt19937_64&) {}

 private:
  shm_edge_factory factory_{std::make_shared<const value_codec>()};
};

INSTANTIATE_TYPED_TEST_SUITE_P(shm, edge_contract, shm_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(shm, edge_close_contract, shm_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(shm, edge_random_contract, shm_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(shm, edge_thread_contract, shm_backend);

}  // namespace
}  // namespace troupe::testing
