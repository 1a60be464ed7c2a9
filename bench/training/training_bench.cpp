// One contestant of training_table.py: it makes steps of a training as it is told, and says how long they took. Each
// line on stdin is a number of steps; each answer is a line of JSON.
//
//   training_bench --model lenet --micro-batches 8 --as plain          the loop that is compared
//                                                     threads, workers two stages of an engine
//                                                     stage.0          a stage alone
//                                                     both             both stages at once, which exchange nothing
//   training_bench --model lenet --export FILE                         weights and batches, for Python
#include <barrier>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "plain_stage.hpp"
#include "runtime/os/allocator.hpp"
#include <troupe/program.hpp>
#include <troupe/training_engine.hpp>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct request {
  std::string model;
  std::string as = "plain";
  std::string export_to;
  std::string partition;
  std::string protect = "memory";
  std::uint64_t micro_batches = 8;
  std::uint32_t stages = 2;
  std::uint32_t replicas = 1;
  int threads = 1;
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void answer(const nlohmann::json& what) {
  std::cout << what.dump() << std::endl;
}

/// Answers each order with the losses of its steps.
int serve(const std::function<double()>& step) {
  answer({{"ready", true}});
  for (std::uint64_t steps = 0; std::cin >> steps;) {
    std::vector<double> losses;
    const auto began = std::chrono::steady_clock::now();
    for (std::uint64_t index = 0; index < steps; ++index) losses.push_back(step());
    const double seconds = seconds_since(began);
    answer({{"seconds", seconds}, {"losses", losses}});
  }
  return 0;
}

/// Each thread takes a core, as a stage does; the time is the mean of each stage while both are at work.
int serve_both(const bench_model& model, std::uint64_t micro_batches) {
  plain_stage first(model, model.boundaries[0], model.boundaries[1]);
  plain_stage second(model, model.boundaries[1], model.boundaries[2]);
  answer({{"ready", true}});
  for (std::uint64_t steps = 0; std::cin >> steps;) {
    std::vector<double> seconds(2);
    std::barrier<> begin(2);
    const auto work = [&](plain_stage& stage, double& taken) {
      at::set_num_threads(1);
      begin.arrive_and_wait();
      const auto began = std::chrono::steady_clock::now();
      for (std::uint64_t index = 0; index < steps; ++index) static_cast<void>(stage.step(micro_batches));
      taken = seconds_since(began);
    };
    std::thread other(work, std::ref(second), std::ref(seconds[1]));
    work(first, seconds[0]);
    other.join();
    answer({{"seconds", seconds[0]}, {"stages", seconds}});
  }
  return 0;
}

int serve_engine(const bench_model& model, const request& asked) {
  training_engine_options options;
  options.training.num_micro_batches = asked.micro_batches;
  options.training.optimizer = {.kind = optimizer_kind::sgd, .momentum = bench_momentum};
  options.training.learning_rate = [](std::uint64_t) { return bench_learning_rate; };
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.training.seed = bench_seed;
  options.training.protect = get(protection_of(asked.protect));
  options.pipeline.replicas = asked.replicas;
  options.pipeline.run.threads = static_cast<std::uint32_t>(asked.threads);
  options.pipeline.run.workers.enabled = asked.as == "workers";
  pipeline_module module{.layers = model.layers, .num_stages = asked.stages, .partition_method = asked.partition};
  const auto engine = get(training_engine::create(module, options));
  engine->set_dataiterator([&model, next = std::size_t{0}]() mutable -> std::optional<batch> {
    const std::size_t at = std::exchange(next, (next + 1) % model.inputs.size());
    return batch{model.inputs[at], model.labels[at]};
  });
  return serve([&] { return get(engine->train_batch()).loss; });
}

int write_export(const bench_model& model, const std::string& file) {
  c10::Dict<std::string, at::Tensor> all;
  const std::vector<built_layer> layers = built_as_in_engine(model, 0, model.layers.size());
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (const layer_tensor& each : layers[layer].tensors) {
      all.insert(std::to_string(layer) + "." + each.name, each.tensor.detach());
    }
  }
  all.insert("inputs", at::stack(model.inputs));
  all.insert("labels", at::stack(model.labels));
  std::vector<std::int64_t> boundaries(model.boundaries.begin(), model.boundaries.end());
  all.insert("boundaries", at::tensor(boundaries));
  const std::vector<char> bytes = torch::pickle_save(all);
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return 0;
}

std::string text_of(const std::vector<std::size_t>& boundaries) {
  std::string made;
  for (const std::size_t each : boundaries) made += (made.empty() ? "" : ",") + std::to_string(each);
  return made;
}

int run(request asked) {
  const bench_model model = make_bench_model(asked.model);
  if (asked.partition.empty()) asked.partition = text_of(model.boundaries);
  if (!asked.export_to.empty()) return write_export(model, asked.export_to);
  at::set_num_threads(asked.threads);
  if (asked.as == "threads" || asked.as == "workers") return serve_engine(model, asked);
  if (asked.as == "both") return serve_both(model, asked.micro_batches);
  const bool is_first = asked.as == "stage.0";
  const bool is_second = asked.as == "stage.1";
  plain_stage loop(model, is_second ? model.boundaries[1] : 0, is_first ? model.boundaries[1] : model.layers.size());
  return serve([&] { return loop.step(asked.micro_batches); });
}

}  // namespace

int main(int argc, char** argv) try {
  const program self(argc, argv);
  request asked;
  CLI::App app("One contestant of training_table.py. Start it in the source tree, or set TROUPE_SOURCE_DIR.");
  app.add_option("--model", asked.model)->required()->check(CLI::IsMember(bench_model_names()));
  app.add_option("--micro-batches", asked.micro_batches);
  app.add_option("--as", asked.as)->check(CLI::IsMember({"plain", "threads", "workers", "stage.0", "stage.1", "both"}));
  app.add_option("--stages", asked.stages);
  app.add_option("--replicas", asked.replicas);
  app.add_option("--threads", asked.threads);
  app.add_option("--partition", asked.partition);
  app.add_option("--protect", asked.protect);
  app.add_option("--export", asked.export_to);
  CLI11_PARSE(app, argc, argv);
  keep_freed_memory();
  return run(std::move(asked));
} catch (const std::exception& caught) {
  std::cerr << "training_bench: " << caught.what() << '\n';
  return 1;
}
