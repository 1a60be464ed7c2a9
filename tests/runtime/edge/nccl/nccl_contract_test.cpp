// Goal: the nccl edge keeps the edge contract. Method: the contract suites over a transport that connects to itself, on
// stand-ins for NCCL and for the device: every tensor crosses a communicator, on streams that are late.
#include "../edge_close_contract.hpp"
#include "../edge_contract.hpp"
#include "../edge_random_contract.hpp"
#include "../edge_thread_contract.hpp"
#include "nccl_test_support.hpp"

namespace troupe::testing {
namespace {

/// Both ends of every edge at the same transport.
class nccl_factory final : public edge_factory {
 public:
  edge_ends make(const edge_options& options) override {
    const auto offer = ground_.edges->offer(options, edge_reach::host);
    const std::size_t channel = next_++;
    auto consumer = ground_.edges->open_consumer(ground_.site(*offer, options, channel, lost_.put()));
    auto producer = ground_.edges->open_producer(ground_.site(*offer, options, channel, lost_.put()));
    if (!consumer) ADD_FAILURE() << to_string(consumer.error());
    if (!producer) ADD_FAILURE() << to_string(producer.error());
    // An endpoint counts as unsettled while an end waits for a peer, which may be abandoned before it comes.
    EXPECT_TRUE(eventually([&] { return ground_.is_settled(); }));
    return {std::move(*producer), std::move(*consumer)};
  }
  void settle() {
    EXPECT_TRUE(eventually([&] { return ground_.is_settled(); }));
    if (losses_expected_ || lost_.count() == 0) return;
    ADD_FAILURE() << to_string(*lost_.take());
  }
  void expect_losses() { losses_expected_ = true; }

 private:
  error_box lost_;
  nccl_ground ground_;
  std::size_t next_ = 0;
  bool losses_expected_ = false;
};

class nccl_backend {
 public:
  static constexpr bool copies = true;
  static constexpr bool lags = true;
  static constexpr std::uint64_t share_of_stress = 200;

  edge_factory& factory() { return factory_; }
  void settle() { factory_.settle(); }
  void expect_losses() { factory_.expect_losses(); }
  // Something always is on its way by itself.
  void some_arrive(std::mt19937_64& random) {
    if (random() % 4 == 0) settle();
  }
  static std::uint64_t value_of(const payload& arrived) { return dynamic_cast<const viewed_payload&>(arrived).value(); }

 private:
  nccl_factory factory_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(nccl, edge_contract, nccl_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(nccl, edge_close_contract, nccl_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(nccl, edge_random_contract, nccl_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(nccl, edge_thread_contract, nccl_backend);

}  // namespace
}  // namespace troupe::testing
