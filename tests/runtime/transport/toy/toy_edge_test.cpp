// Goal: the toy keeps the edge contract within one process as well. Method: the contract suites over both of its ends.
#include <memory>

#include "tests/runtime/edge/edge_close_contract.hpp"
#include "tests/runtime/edge/edge_contract.hpp"
#include "tests/runtime/edge/edge_random_contract.hpp"
#include "tests/runtime/edge/edge_thread_contract.hpp"
#include "toy_transport.hpp"

namespace troupe::testing {
namespace {

class copied_value final : public payload {
 public:
  explicit copied_value(std::uint64_t number) : value(number) {}
  const std::uint64_t value;
};

class value_codec final : public payload_codec {
 public:
  std::size_t size_of(const payload&) const override { return sizeof(std::uint64_t); }
  void write(const payload& value, std::span<std::byte> into) const override {
    std::memcpy(into.data(), &dynamic_cast<const counted_payload&>(value).value, into.size());
  }
  expected<payload_ptr> read(std::span<const std::byte> from, std::shared_ptr<const void>) const override {
    std::uint64_t number = 0;
    std::memcpy(&number, from.data(), sizeof(number));
    return std::make_shared<const copied_value>(number);
  }
};

/// Both ends of every edge, each opened by a transport of its own.
class toy_factory final : public edge_factory {
 public:
  edge_ends make(const edge_options& options) override {
    const edge_offer offer = std::move(*one_->offer(options, edge_reach::host));
    return {std::move(*one_->open_producer(site(offer, options.consumer_bell))),
            std::move(*other_->open_consumer(site(offer, options.producer_bell)))};
  }

 private:
  static edge_site site(const edge_offer& offer, doorbell* peer) {
    return {.offer = offer, .peer_bell = std::shared_ptr<doorbell>(std::shared_ptr<void>(), peer)};
  }

  const std::shared_ptr<const payload_codec> codec_ = std::make_shared<const value_codec>();
  const std::shared_ptr<transport> one_ = std::move(*toy_row.between({codec_, std::nullopt}));
  const std::shared_ptr<transport> other_ = std::move(*toy_row.between({codec_, std::nullopt}));
};

class toy_backend {
 public:
  static constexpr bool copies = true;
  static constexpr std::uint64_t share_of_stress = 10;
  static std::uint64_t value_of(const payload& got) { return dynamic_cast<const copied_value&>(got).value; }

  edge_factory& factory() { return factory_; }
  // A sent message has arrived.
  void settle() {}
  void some_arrive(std::mt19937_64&) {}

 private:
  toy_factory factory_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(toy, edge_contract, toy_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(toy, edge_close_contract, toy_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(toy, edge_random_contract, toy_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(toy, edge_thread_contract, toy_backend);

}  // namespace
}  // namespace troupe::testing
