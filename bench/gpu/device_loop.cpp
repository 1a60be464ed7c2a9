#include "device_loop.hpp"

#include <chrono>
#include <deque>
#include <thread>

#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <torch/csrc/jit/codegen/fuser/interface.h>
#include <torch/script.h>

#include "messages/try.hpp"
#include "runtime/data/data_set_source.hpp"
#include "runtime/metric/metric_fold.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_stream.hpp"

namespace troupe::bench {
namespace {

using steady = std::chrono::steady_clock;
constexpr std::size_t in_flight_max = 4;

struct in_flight {
  activation input;
  at::Tensor outputs;
  std::shared_ptr<context_event> ready;
};

/// The scores of what has come, in order.
class sum {
 public:
  explicit sum(const std::vector<metric_ptr>& metrics) : scorer_(metrics), fold_(metrics) {}

  expected<void> take(const in_flight& oldest) {
    for (;;) {
      const auto passed = TROUPE_TRY(oldest.ready->has_passed());
      if (passed) break;
      std::this_thread::yield();
    }
    score counted;
    counted.id = oldest.input.id;
    TROUPE_TRY(scorer_.evaluate(make_tensors(oldest.outputs), oldest.input, counted));
    return fold_.fold(counted);
  }
  [[nodiscard]] std::vector<metric_value> values() const { return get(fold_.compute()); }

 private:
  metric_scorer scorer_;
  metric_fold fold_;
};

}  // namespace

device_loop device_loop::load(const std::string& model, c10::Device device) {
  torch::jit::Module module = torch::jit::load(model, device);
  module.eval();
  return {torch::jit::freeze(module).get_method("forward"), device};
}

expected<std::vector<metric_value>> device_loop::pass(const data_set_ptr& data, std::uint64_t micro_batch,
                                                      std::uint64_t micro_batches) const {
  const auto stream = TROUPE_TRY(torch_stream::make(device_));
  const c10::StreamGuard here(stream.get());
  data_set_source source(data, micro_batch, micro_batches * micro_batch);
  sum all(metrics);
  std::deque<in_flight> given;
  for (std::uint64_t index = 0;; ++index) {
    auto loaded = TROUPE_TRY(source.next());
    if (!loaded) break;
    activation input{{0, index}, loaded->samples, loaded->tensors, loaded->labels};
    at::Tensor value = stream.bring(as_tensors(input.tensors).single());
    value = forward_({std::move(value)}).toTensor();
    given.push_back({std::move(input), torch_stream::fetch(value), stream.record()});
    if (given.size() < in_flight_max) continue;
    TROUPE_TRY(all.take(given.front()));
    given.pop_front();
  }
  for (const in_flight& each : given) {
    TROUPE_TRY(all.take(each));
  }
  return all.values();
}

expected<measurement> device_loop::run(const data_set_ptr& data, std::uint64_t micro_batch, std::uint64_t micro_batches,
                                       bool fuses) const {
  return in_new_thread([&]() -> expected<measurement> {
    const c10::InferenceMode inference;
    torch::jit::overrideCanFuseOnGPU(fuses);
    auto warm = pass(data, micro_batch, warm_up_of(micro_batches));
    torch::jit::overrideCanFuseOnGPU(false);
    if (!warm) return tl::make_unexpected(warm.error());
    const auto start = steady::now();
    auto values = pass(data, micro_batch, micro_batches);
    const std::chrono::duration<double, std::micro> taken = steady::now() - start;
    if (!values) return tl::make_unexpected(values.error());
    return measurement{taken.count() / static_cast<double>(micro_batches), std::move(*values), {}};
  });
}

}  // namespace troupe::bench
