#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <optional>

#include "loops.hpp"
#include "messages/try.hpp"
#include "runtime/data/data_set_source.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe::bench {

/// Stages that are measured together begin when all of them are warm; who is done goes on, untimed, until all are.
class side_by_side {
 public:
  explicit side_by_side(std::size_t stages) : warm_(static_cast<std::ptrdiff_t>(stages)), unfinished_(stages) {}
  void wait_until_all_are_warm() { warm_.arrive_and_wait(); }
  void finish() { --unfinished_; }
  [[nodiscard]] bool any_unfinished() const { return unfinished_ > 0; }

 private:
  std::latch warm_;
  std::atomic<std::size_t> unfinished_;
};

namespace {

using steady = std::chrono::steady_clock;

constexpr std::uint64_t inputs_max = 16;

expected<std::vector<activation>> first_inputs(const workload& work) {
  data_set_source source(work.data, work.micro_batch,
                         std::min(inputs_max, work.micro_batches_max()) * work.micro_batch);
  std::vector<activation> inputs;
  for (std::uint64_t index = 0;; ++index) {
    auto loaded = TROUPE_TRY(source.next());
    if (!loaded) return inputs;
    inputs.push_back({{0, index}, loaded->samples, loaded->tensors, loaded->labels});
  }
}

expected<std::vector<activation>> outputs_of(stage_body& body, const std::vector<activation>& inputs) {
  std::vector<activation> outputs;
  for (const activation& input : inputs) {
    auto tensors = TROUPE_TRY(output_of(body, input));
    activation& next = outputs.emplace_back(input);
    next.tensors = std::move(tensors);
  }
  return outputs;
}

expected<void> pass(stage_body& body, scorer* scoring, const std::vector<activation>& inputs, std::uint64_t count) {
  for (std::uint64_t index = 0; index < count; ++index) {
    const activation& input = inputs[index % inputs.size()];
    auto output = TROUPE_TRY(output_of(body, input));
    if (scoring == nullptr) continue;
    score counted;
    counted.id = input.id;
    TROUPE_TRY(scoring->evaluate(output, input, counted));
  }
  return {};
}

}  // namespace

expected<lone_stages> lone_stages::prepare(const workload& work, std::vector<std::size_t> boundaries) {
  lone_stages made;
  made.boundaries_ = std::move(boundaries);
  auto inputs = first_inputs(work);
  for (std::size_t stage = 0; stage < made.count(); ++stage) {
    if (!inputs) return tl::make_unexpected(inputs.error());
    auto body = TROUPE_TRY(work.code->make_body(made.boundaries_[stage], made.boundaries_[stage + 1],
                                                {.stage = static_cast<stage_index>(stage)}));
    auto outputs = outputs_of(*body, *inputs);
    made.bodies_.push_back(std::move(body));
    made.inputs_.push_back(std::move(*inputs));
    inputs = std::move(outputs);
  }
  return made;
}

/// In the calling thread.
expected<measurement> lone_stages::run_among(side_by_side& others, const workload& work, std::size_t stage,
                                             std::uint64_t micro_batches) const {
  stage_body& body = *bodies_[stage];
  body.on_start();
  metric_scorer scoring(work.metrics);
  scorer* const on_last = stage + 1 == count() ? &scoring : nullptr;
  const auto warm = pass(body, on_last, inputs_[stage], warm_up_of(micro_batches));
  others.wait_until_all_are_warm();
  const auto start = steady::now();
  const auto done = warm ? pass(body, on_last, inputs_[stage], micro_batches) : warm;
  const std::chrono::duration<double, std::micro> taken = steady::now() - start;
  others.finish();
  if (!done) return tl::make_unexpected(done.error());
  while (others.any_unfinished()) {
    TROUPE_TRY(pass(body, on_last, inputs_[stage], 1));
  }
  return measurement{taken.count() / static_cast<double>(micro_batches), {}, {}};
}

expected<measurement> lone_stages::run(const workload& work, std::size_t stage, std::uint64_t micro_batches) const {
  side_by_side nobody(1);
  return in_new_thread([&] { return run_among(nobody, work, stage, micro_batches); });
}

expected<measurement> lone_stages::run_side_by_side(const workload& work, std::uint64_t micro_batches) const {
  side_by_side all(count());
  std::vector<std::future<expected<measurement>>> running;
  for (std::size_t stage = 0; stage < count(); ++stage) {
    running.push_back(
        std::async(std::launch::async, [&, stage] { return run_among(all, work, stage, micro_batches); }));
  }
  measurement slowest;
  std::optional<error> failed;
  for (auto& each : running) {
    const auto taken = each.get();
    if (!taken) {
      failed = taken.error();
    } else if (taken->us_per_micro_batch > slowest.us_per_micro_batch) {
      slowest = *taken;
    }
  }
  if (failed) return tl::make_unexpected(*failed);
  return slowest;
}

}  // namespace troupe::bench
