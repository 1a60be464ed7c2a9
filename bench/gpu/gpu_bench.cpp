// A pipeline on a GPU against one stream of one thread (device_loop.hpp), in turns; docs/gpu.md has the figures.
//
//   gpu_bench --model FILE --data KIND:PATH [--micro-batch B] [--micro-batches N] [--stages S] [--processes]
//             [--transport KIND] [--partition METHOD] [--device NAME] [--rounds R] [--fuser] [--by-layer]
//             [--cuda-graphs]
//
// Prints one JSON object. With LD_PRELOAD=libsync_counter.so it has the host's waits per micro-batch, too.
#include <cstdlib>
#include <string>

#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "../same_bits.hpp"
#include "../spread.hpp"
#include "device_loop.hpp"
#include "program/topology/stage_devices.hpp"
#include "repeated_set.hpp"
#include "runtime/config/option_names.hpp"
#include "runtime/tensor/torch_device.hpp"
#include <troupe/pipeline_engine.hpp>
#include <troupe/program.hpp>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct bench_options {
  std::string model;
  std::string data;
  std::string device = "cuda:0";
  std::string transport = "auto";
  std::string partition = "uniform";
  std::uint64_t micro_batch = 64;
  std::uint64_t micro_batches = 1000;
  std::uint32_t stages = 2;
  std::uint32_t rounds = 5;
  bool processes = false;
  bool fuser = false;
  bool cuda_graphs = false;
};

const std::vector<metric_choice> metric_names = {"accuracy", "cross_entropy"};

/// Null without the library.
auto* sync_total() {
  return reinterpret_cast<std::uint64_t (*)()>(::dlsym(RTLD_DEFAULT, "sync_counter_total"));
}

std::unique_ptr<pipeline_engine> start_pipeline(const bench_options& how, const data_set& data) {
  pipeline_engine_options options;
  options.stages = how.stages;
  options.device = how.device;
  options.cuda_graphs = how.cuda_graphs;
  options.partition = how.partition;
  options.run.micro_batch = how.micro_batch;
  options.run.workers.enabled = how.processes;
  options.run.workers.transport = transport_of(how.transport);
  options.sample = get(data.read({0, how.micro_batch})).inputs.begin()->second;
  options.metrics = metric_names;
  return get(pipeline_engine::create(how.model, std::move(options)));
}

run_result evaluate(pipeline_engine& pipeline, const data_set_ptr& data, const bench_options& how,
                    std::uint64_t micro_batches) {
  return get(pipeline.evaluate(repeat(data, micro_batches * how.micro_batch)));
}

nlohmann::ordered_json measure(const bench_options& how) {
  const data_set_ptr data = get(open_data(how.data));
  const auto pipeline = start_pipeline(how, *data);
  const c10::Device device = get(torch_device(get(parse_device(how.device, "--device")), "of the benchmark", 0));
  device_loop loop = device_loop::load(how.model, device);
  for (const char* name : {"accuracy", "cross_entropy"})
    loop.metrics.push_back(get(make_metric(name, data->classes())));
  std::vector<double> plain_us;
  std::vector<double> piped_us;
  std::vector<double> ratios;
  bool is_same = true;
  std::uint64_t waits = 0;
  const auto total = [&] { return sync_total() == nullptr ? 0 : sync_total()(); };
  static_cast<void>(evaluate(*pipeline, data, how, warm_up_of(how.micro_batches)));
  for (std::uint32_t round = 0; round < how.rounds; ++round) {
    const auto plain =
        get(loop.run(repeat(data, how.micro_batches * how.micro_batch), how.micro_batch, how.micro_batches, how.fuser));
    const std::uint64_t before = total();
    const run_result piped = evaluate(*pipeline, data, how, how.micro_batches);
    waits += total() - before;
    plain_us.push_back(plain.us_per_micro_batch);
    piped_us.push_back(std::chrono::duration<double, std::micro>(piped.wall_time).count() /
                       static_cast<double>(how.micro_batches));
    ratios.push_back(100 * plain_us.back() / piped_us.back());
    is_same = is_same && same_bits(plain.values, piped.metrics);
  }
  nlohmann::ordered_json made{{"model", how.model},
                              {"micro_batch", how.micro_batch},
                              {"micro_batches", how.micro_batches},
                              {"stages", how.stages},
                              {"processes", how.processes},
                              {"transport", how.transport},
                              {"fuser", how.fuser},
                              {"cuda_graphs", how.cuda_graphs},
                              {"one_stream_us", spread_json(spread_of(plain_us))},
                              {"pipeline_us", spread_json(spread_of(piped_us))},
                              {"percent_of_one_stream", spread_json(spread_of(ratios))},
                              {"same_bits", is_same}};
  if (sync_total() != nullptr) {
    made["waits"] = waits;
    made["waits_of_process"] = total();
  }
  return made;
}

/// For NCCL, which refuses two ranks of one machine on one GPU.
void be_a_machine_of_its_own() {
  ::setenv("NCCL_HOSTID", std::to_string(::getpid()).c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  const program self(argc, argv);
  be_a_machine_of_its_own();  // in the copies, too, which go on from here
  CLI::App app("A pipeline on a GPU against one stream of one thread.");
  bench_options how;
  app.add_option("--model", how.model, "TorchScript model whose layers are a chain")->required();
  app.add_option("--data", how.data, "As troupe eval --data")->required();
  app.add_option("--device", how.device, "As troupe eval --device")->capture_default_str();
  app.add_option("--transport", how.transport, "As troupe eval --transport")->capture_default_str();
  app.add_option("--partition", how.partition, "As troupe eval --partition")->capture_default_str();
  app.add_option("--micro-batch", how.micro_batch, "Samples per micro-batch")->capture_default_str();
  app.add_option("--micro-batches", how.micro_batches, "Micro-batches of one measurement")->capture_default_str();
  app.add_option("--stages", how.stages, "Stages that the model is cut into")->capture_default_str();
  app.add_option("--rounds", how.rounds, "Rounds of both")->capture_default_str();
  app.add_flag("--processes", how.processes, "Each stage in a process of its own");
  app.add_flag("--fuser", how.fuser, "The one stream has TorchScript's fuser, as LibTorch has by itself");
  app.add_flag("--cuda-graphs", how.cuda_graphs, "As troupe eval --cuda-graphs");
  CLI11_PARSE(app, argc, argv);
  try {
    fmt::print("{}\n", measure(how).dump());
    return 0;
  } catch (const std::exception& caught) {
    fmt::print(stderr, "gpu_bench: {}\n", caught.what());
    return 1;
  }
}
