#include <chrono>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "loops.hpp"
#include "messages/try.hpp"
#include "runtime/data/data_set_source.hpp"
#include "runtime/metric/metric_fold.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/model/optimize.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe::bench {
namespace {

using steady = std::chrono::steady_clock;

expected<std::vector<metric_value>> pass(const workload& work, const std::vector<torch::jit::Method>& forwards,
                                         std::uint64_t micro_batches) {
  data_set_source source(work.data, work.micro_batch, micro_batches * work.micro_batch);
  metric_scorer scorer(work.metrics);
  metric_fold fold(work.metrics);
  for (std::uint64_t index = 0;; ++index) {
    auto loaded = TROUPE_TRY(source.next());
    if (!loaded) return get(fold.compute());
    const activation input{{0, index}, loaded->samples, loaded->tensors, loaded->labels};
    at::Tensor value = as_tensors(input.tensors).single();
    for (const torch::jit::Method& forward : forwards) {
      std::vector<c10::IValue> arguments;
      arguments.emplace_back(std::move(value));
      value = forward(std::move(arguments)).toTensor();
    }
    score counted;
    counted.id = input.id;
    if (auto done = scorer.evaluate(make_tensors(std::move(value)), input, counted); !done) {
      return tl::make_unexpected(done.error());
    }
    TROUPE_TRY(fold.fold(counted));
  }
}

}  // namespace

plain_loop plain_loop::by_layer(const workload& work, std::uint32_t threads) {
  plain_loop made;
  made.threads_ = threads;
  for (const layer& one : work.code.layers) {
    if (!one.passes_through) made.forwards_.push_back(one.module.get_method("forward"));
  }
  return made;
}

expected<plain_loop> plain_loop::whole(const workload& work, std::uint32_t threads) {
  const auto fused = TROUPE_TRY(fuse_layers(work.chain.layers, work.model));
  plain_loop made;
  made.threads_ = threads;
  made.forwards_.push_back(fused.get_method("forward"));
  return made;
}

expected<measurement> plain_loop::run(const workload& work, std::uint64_t micro_batches) const {
  return in_new_thread([&]() -> expected<measurement> {
    at::get_num_threads();  // a thread's first call sets it to the process's count
    at::set_num_threads(static_cast<int>(threads_));
    const c10::InferenceMode inference;
    TROUPE_TRY(pass(work, forwards_, warm_up_of(micro_batches)));
    const auto start = steady::now();
    auto values = pass(work, forwards_, micro_batches);
    const std::chrono::duration<double, std::micro> taken = steady::now() - start;
    if (!values) return tl::make_unexpected(values.error());
    return measurement{taken.count() / static_cast<double>(micro_batches), std::move(*values), {}};
  });
}

}  // namespace troupe::bench
