// Goal: the tcp edge keeps the edge contract, with and without TLS, whichever thread writes. Method: the contract
// suites over one endpoint that connects to itself, so that every message crosses a socket of the loopback device.
#include "../edge_close_contract.hpp"
#include "../edge_contract.hpp"
#include "../edge_random_contract.hpp"
#include "../edge_thread_contract.hpp"
#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

/// A producer whose caller has time.
class writing_producer final : public edge_producer {
 public:
  explicit writing_producer(std::unique_ptr<edge_producer> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] std::uint32_t credits() const noexcept override { return inner_->credits(); }
  [[nodiscard]] bool has_credit() noexcept override { return inner_->has_credit(); }
  [[nodiscard]] std::uint32_t slots() const noexcept override { return inner_->slots(); }
  [[nodiscard]] send_status try_send(activation& message) override { return inner_->try_send_now(message); }
  void send_flush(call_number call) noexcept override { inner_->send_flush(call); }
  void close() noexcept override { inner_->close(); }
  void abandon() noexcept override { inner_->abandon(); }

 private:
  const std::unique_ptr<edge_producer> inner_;
};

enum class writer : std::uint8_t { io_thread, caller };

/// Both ends of every edge at the same endpoint.
class loopback_factory final : public edge_factory {
 public:
  loopback_factory(bool with_tls, writer by) : endpoint_(must_open(test_options(with_tls))), by_(by) {}

  edge_ends make(const edge_options& options) override {
    const edge_key key = key_of(next_++);
    auto consumer = endpoint_->accept(key, {options, lost_.put()});
    auto producer = endpoint_->connect("127.0.0.1", endpoint_->port(), key, {options, lost_.put()});
    if (!consumer) ADD_FAILURE() << to_string(consumer.error());
    if (!producer) ADD_FAILURE() << to_string(producer.error());
    if (by_ == writer::caller) *producer = std::make_unique<writing_producer>(std::move(*producer));
    return {std::move(*producer), std::move(*consumer)};
  }
  void settle() const {
    EXPECT_TRUE(eventually([&] { return endpoint_->is_settled(); }));
    EXPECT_TRUE(losses_expected_ || lost_.count() == 0);
  }
  void expect_losses() { losses_expected_ = true; }

 private:
  error_box lost_;
  std::unique_ptr<tcp_endpoint> endpoint_;
  const writer by_;
  std::uint32_t next_ = 0;
  bool losses_expected_ = false;
};

template <bool WithTls, writer By>
class loopback_backend {
 public:
  static constexpr bool copies = true;
  static constexpr bool lags = true;
  static constexpr std::uint64_t share_of_stress = WithTls ? 50 : 20;

  edge_factory& factory() { return factory_; }
  void settle() { factory_.settle(); }
  void expect_losses() { factory_.expect_losses(); }
  // Something always is on its way by itself.
  void some_arrive(std::mt19937_64& random) {
    if (random() % 4 == 0) settle();
  }
  static std::uint64_t value_of(const payload& arrived) { return dynamic_cast<const viewed_payload&>(arrived).value(); }

 private:
  loopback_factory factory_{WithTls, By};
};

using plain = loopback_backend<false, writer::io_thread>;
using tls = loopback_backend<true, writer::io_thread>;
using plain_by_caller = loopback_backend<false, writer::caller>;
using tls_by_caller = loopback_backend<true, writer::caller>;
INSTANTIATE_TYPED_TEST_SUITE_P(tcp, edge_contract, plain);
INSTANTIATE_TYPED_TEST_SUITE_P(tcp, edge_close_contract, plain);
INSTANTIATE_TYPED_TEST_SUITE_P(tcp, edge_random_contract, plain);
INSTANTIATE_TYPED_TEST_SUITE_P(tcp, edge_thread_contract, plain);
INSTANTIATE_TYPED_TEST_SUITE_P(tls, edge_contract, tls);
INSTANTIATE_TYPED_TEST_SUITE_P(tls, edge_close_contract, tls);
INSTANTIATE_TYPED_TEST_SUITE_P(tls, edge_random_contract, tls);
INSTANTIATE_TYPED_TEST_SUITE_P(tls, edge_thread_contract, tls);
INSTANTIATE_TYPED_TEST_SUITE_P(tcp_by_caller, edge_contract, plain_by_caller);
INSTANTIATE_TYPED_TEST_SUITE_P(tcp_by_caller, edge_close_contract, plain_by_caller);
INSTANTIATE_TYPED_TEST_SUITE_P(tcp_by_caller, edge_random_contract, plain_by_caller);
INSTANTIATE_TYPED_TEST_SUITE_P(tcp_by_caller, edge_thread_contract, plain_by_caller);
INSTANTIATE_TYPED_TEST_SUITE_P(tls_by_caller, edge_contract, tls_by_caller);
INSTANTIATE_TYPED_TEST_SUITE_P(tls_by_caller, edge_close_contract, tls_by_caller);
INSTANTIATE_TYPED_TEST_SUITE_P(tls_by_caller, edge_random_contract, tls_by_caller);
INSTANTIATE_TYPED_TEST_SUITE_P(tls_by_caller, edge_thread_contract, tls_by_caller);

}  // namespace
}  // namespace troupe::testing
