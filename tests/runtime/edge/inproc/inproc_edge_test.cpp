// Goal: the inproc edge keeps the edge contract. Method: the contract suites, with one thread and with two.
#include "runtime/edge/inproc/inproc_edge.hpp"

#include "../edge_close_contract.hpp"
#include "../edge_contract.hpp"
#include "../edge_random_contract.hpp"
#include "../edge_thread_contract.hpp"

namespace troupe::testing {
namespace {

class inproc_backend {
 public:
  edge_factory& factory() { return factory_; }
  // A sent message has arrived.
  void settle() {}
  void some_arrive(std::mt19937_64&) {}

 private:
  inproc_edge_factory factory_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(inproc, edge_contract, inproc_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(inproc, edge_close_contract, inproc_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(inproc, edge_random_contract, inproc_backend);
INSTANTIATE_TYPED_TEST_SUITE_P(inproc, edge_thread_contract, inproc_backend);

}  // namespace
}  // namespace troupe::testing
