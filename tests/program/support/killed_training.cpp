#include "tests/program/support/killed_training.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>

#include <torch/torch.h>

#include "messages/seeded_draw.hpp"
#include "messages/try.hpp"
#include "runtime/os/file_hash.hpp"
#include <troupe/trainer.hpp>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

pipeline_module network(std::uint32_t stages) {
  return {.layers = {layer_spec("Linear", [] { return torch::nn::Linear(16, 64); }),
                     layer_spec("BatchNorm1d", [] { return torch::nn::BatchNorm1d(64); }),
                     layer_spec::function("ReLU", [](const at::Tensor& x) { return torch::relu(x); }),
                     layer_spec("Dropout", [] { return torch::nn::Dropout(0.2); }),
                     layer_spec("Linear", [] { return torch::nn::Linear(64, 64); }),
                     layer_spec::function("ReLU", [](const at::Tensor& x) { return torch::relu(x); }),
                     layer_spec("Linear", [] { return torch::nn::Linear(64, 5); })},
          .num_stages = stages};
}

data_iterator batches_from(std::uint64_t first) {
  return [next = first]() mutable -> std::optional<batch> {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(4000 + next);
    const std::int64_t rows = 5 + static_cast<std::int64_t>(next++ % 4);
    return batch{at::randn({rows, 16}, generator), at::randint(5, {rows}, generator, at::kLong)};
  };
}

}  // namespace

std::string training_setup::text() const {
  std::ostringstream made;
  made << stages << ' ' << replicas << ' ' << static_cast<int>(optimizer) << ' ' << in_workers;
  return made.str();
}

training_setup training_setup::of(const std::string& text) {
  std::istringstream words(text);
  training_setup made;
  int optimizer = 0;
  words >> made.stages >> made.replicas >> optimizer >> made.in_workers;
  made.optimizer = static_cast<optimizer_kind>(optimizer);
  return made;
}

expected<std::unique_ptr<training_engine>> make_killed_engine(const training_setup& how, fault_plan faults,
                                                              const std::string& log,
                                                              const training_journal_options& journal) {
  training_engine_options options;
  options.training.num_micro_batches = killed_micro_batches;
  options.training.optimizer = {.kind = how.optimizer};
  if (how.optimizer == optimizer_kind::sgd) options.training.optimizer.momentum = 0.9;
  options.training.learning_rate = [](std::uint64_t step) { return 0.01 / (1 + 0.1 * static_cast<double>(step)); };
  options.training.clip_norm = 0.5;
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.journal = journal;
  options.pipeline.replicas = how.replicas;
  options.pipeline.run.threads = 1;
  options.pipeline.run.workers.enabled = how.in_workers;
  if (how.in_workers) options.pipeline.run.workers.timeout = 1s;
  options.pipeline.run.faults = std::move(faults);
  options.pipeline.run.log.file = log;
  return training_engine::create(network(how.stages), options);
}

expected<training_digests> finish_training(training_engine& engine, const std::filesystem::path& scratch,
                                           const training_run& how) {
  std::vector<double> losses;
  for (const train_output& each : engine.journaled_steps()) losses.push_back(each.loss);
  const std::uint64_t before = engine.global_steps();
  engine.set_dataiterator(batches_from(before * killed_micro_batches));
  for (std::uint64_t step = before; step < killed_steps; ++step) {
    losses.push_back(TROUPE_TRY(engine.train_batch()).loss);
    if (how.save_every != 0 && (step + 1) % how.save_every == 0) {
      TROUPE_TRY(engine.save_checkpoint(how.dir, "step" + std::to_string(step + 1)));
    }
  }
  training_digests made;
  sha256 hash;
  hash.add(losses.data(), losses.size() * sizeof(double));
  made.losses = hash.digest();
  made.weights = weights_sha256(TROUPE_TRY(engine.module_state_dict()));
  TROUPE_TRY(engine.save_checkpoint(scratch, "end"));
  made.moments = weights_sha256(TROUPE_TRY(load_weights(scratch / "end" / "optimizer.safetensors")));
  return made;
}

fault_plan draw_kills(std::uint64_t seed, const training_setup& how) {
  constexpr std::array moments = {fault_trigger_kind::micro_batch, fault_trigger_kind::backward,
                                  fault_trigger_kind::vote, fault_trigger_kind::decision, fault_trigger_kind::apply};
  seeded_draw draw(seed);
  fault_plan plan;
  const auto target = [&](bool any_replica) {
    fault_target made = fault_target::stage("stage." + std::to_string(draw.below(how.stages)));
    if (!any_replica) made.replica = static_cast<replica_index>(draw.below(how.replicas));
    return made;
  };
  const auto act = [&](fault one) {
    const std::uint64_t share = draw.below(8);
    if (share == 5 && one.when.kind != fault_trigger_kind::apply) one.kind = fault_kind::exit;
    if (share >= 6) one.kind = fault_kind::stop;
    if (share == 6) one.lasts = 300ms;
    plan.add(std::move(one));
  };
  const std::uint64_t kills = 2 + draw.below(2);
  for (std::uint64_t number = 0; number < kills; ++number) {
    // Phases in turn, so that all have their share.
    const auto moment = moments.at((seed + number) % moments.size());
    const bool has_index = moment == fault_trigger_kind::micro_batch || moment == fault_trigger_kind::backward;
    // In steps apart, so that each one is an event of its own.
    const std::uint64_t step = number * 3 + draw.below(2);
    const std::uint64_t index = has_index ? draw.below(killed_micro_batches) : 0;
    act({fault_kind::kill, target(has_index), fault_trigger::in_step(moment, step, index)});
    if (draw.below(3) == 0) {
      act({fault_kind::kill, target(false), fault_trigger::in_step(fault_trigger_kind::recovery, step)});
    }
  }
  return plan;
}

}  // namespace troupe::testing
