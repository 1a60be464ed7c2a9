#include <chrono>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/script.h>

#include "loops.hpp"
#include "messages/try.hpp"
#include "runtime/data/data_set_source.hpp"
#include "runtime/metric/metric_fold.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe::bench {
namespace {

using steady = std::chrono::steady_clock;

expected<std::vector<metric_value>> pass(const workload& work, const plain_loop::forward_function& forward,
                                         std::uint64_t micro_batches) {
  data_set_source source(work.data, work.micro_batch, micro_batches * work.micro_batch);
  metric_scorer scorer(work.metrics);
  metric_fold fold(work.metrics);
  for (std::uint64_t index = 0;; ++index) {
    auto loaded = TROUPE_TRY(source.next());
    if (!loaded) return get(fold.compute());
    const activation input{{0, index}, loaded->samples, loaded->tensors, loaded->labels};
    auto output = TROUPE_TRY(forward(input));
    score counted;
    counted.id = input.id;
    if (auto done = scorer.evaluate(output, input, counted); !done) {
      return tl::make_unexpected(done.error());
    }
    TROUPE_TRY(fold.fold(counted));
  }
}

}  // namespace

expected<payload_ptr> output_of(stage_body& body, const activation& input) {
  activation output = input;
  output.tensors = nullptr;
  TROUPE_TRY(body.run({&input, 1}, {&output, 1}));
  return output.tensors;
}

expected<plain_loop> plain_loop::rewritten(const workload& work, std::uint32_t threads) {
  plain_loop made;
  made.threads_ = threads;
  const auto body = TROUPE_TRY(work.code->make_body(0, work.code->layers().size(), {.threads = threads}));
  made.forward_ = [body](const activation& input) { return output_of(*body, input); };
  return made;
}

plain_loop plain_loop::by_libtorch(const workload& work, std::uint32_t threads) {
  plain_loop made;
  made.threads_ = threads;
  auto module = work.module.clone();
  module.eval();
  module = torch::jit::optimize_for_inference(module);
  made.forward_ = [module](const activation& input) mutable -> expected<payload_ptr> {
    return make_tensors(module.forward({as_tensors(input.tensors).single()}).toTensor());
  };
  return made;
}

expected<measurement> plain_loop::run(const workload& work, std::uint64_t micro_batches) const {
  return in_new_thread([&]() -> expected<measurement> {
    at::get_num_threads();  // a thread's first call sets it to the process's count
    at::set_num_threads(static_cast<int>(threads_));
    const c10::InferenceMode inference;
    TROUPE_TRY(pass(work, forward_, warm_up_of(micro_batches)));
    const auto start = steady::now();
    auto values = pass(work, forward_, micro_batches);
    const std::chrono::duration<double, std::micro> taken = steady::now() - start;
    if (!values) return tl::make_unexpected(values.error());
    return measurement{taken.count() / static_cast<double>(micro_batches), std::move(*values), {}};
  });
}

}  // namespace troupe::bench
