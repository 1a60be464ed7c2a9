// Goal: the cuda_ipc edge keeps the edge contract. Method: the contract suites over both ends in one process, on a
// device whose streams are late: once every tensor is copied to a slot and viewed there, once most are viewed where
// they were made, in memory that is used again as soon as it may be.
#include "../edge_close_contract.hpp"
#include "../edge_contract.hpp"
#include "../edge_random_contract.hpp"
#include "../edge_thread_contract.hpp"
#include "ipc_test_support.hpp"

namespace troupe::testing {
namespace {

template <bool is_lending>
class ipc_factory final : public edge_factory {
 public:
  edge_ends make(const edge_options& options) override {
    const auto offer = side.edges->offer(options, edge_reach::devices);
    auto consumer = side.edges->open_consumer(side.site(*offer, options, options.producer_bell, &news_, &news_));
    auto producer = side.edges->open_producer(side.site(*offer, options, options.consumer_bell, &news_, &news_));
    if (!consumer) ADD_FAILURE() << to_string(consumer.error());
    if (!producer) ADD_FAILURE() << to_string(producer.error());
    return {std::move(*producer), std::move(*consumer)};
  }
  void settle() {
    side.settle();
    if (news_.count() > 0) ADD_FAILURE() << to_string(*news_.take());
  }

  const ipc_side side{{.is_lending = is_lending}};

 private:
  error_box news_;
};

template <bool is_lending>
class ipc_backend_as {
 public:
  static constexpr bool copies = true;
  static constexpr bool views = true;
  static constexpr bool lags = true;
  static constexpr std::uint64_t share_of_stress = 100;
  static std::uint64_t value_of(const payload& arrived) { return dynamic_cast<const viewed_payload&>(arrived).value(); }

  edge_factory& factory() { return factory_; }
  void settle() { factory_.settle(); }
  // Something always is on its way by itself.
  void some_arrive(std::mt19937_64& random) {
    if (random() % 4 == 0) settle();
  }

 private:
  ipc_factory<is_lending> factory_;
};
using ipc_backend = ipc_backend_as<false>;
using lending_ipc_backend = ipc_backend_as<true>;

INSTANTIATE_TYPED_TEST_SUITE_P(cuda_ipc, edge_contract, ipc_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_ipc, edge_close_contract, ipc_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_ipc, edge_random_contract, ipc_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_ipc, edge_thread_contract, ipc_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(lending_cuda_ipc, edge_contract, lending_ipc_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(lending_cuda_ipc, edge_close_contract, lending_ipc_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(lending_cuda_ipc, edge_random_contract, lending_ipc_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(lending_cuda_ipc, edge_thread_contract, lending_ipc_backend);

}  // namespace
}  // namespace troupe::testing
