// Runs one exported model of make_zoo.py and compares its outputs with those of eager PyTorch. One JSON object per run
// on stdout, for zoo_table.py:
//   zoo_run MODEL DATA                1, 2 and 4 stages as they stand and optimized, in one process
//   zoo_run MODEL DATA --processes    3 stages, each a worker process; the middle one is killed
// A run has micro-batches of 3, 3, 3 and 2 samples, with what PyTorch gave for each of these batches as labels.
#include <iostream>
#include <string_view>

#include <nlohmann/json.hpp>
#include <torch/script.h>

#include "bench/zoo/same_outputs.hpp"
#include "bench/zoo/zoo_data.hpp"
#include <troupe/troupe.hpp>

namespace {

struct variant {
  std::uint32_t stages = 1;
  troupe::optimize_mode optimize = troupe::optimize_mode::none;
  bool is_killed = false;
};

troupe::topology topology_of(const std::string& model, const troupe::bench::zoo_data_ptr& data, const variant& how) {
  troupe::topology built;
  built.source("loader", troupe::data_set_ptr(data));
  built.pipeline("net", model, {.stages = how.stages, .optimize = how.optimize});
  for (std::size_t i = 0; i < data->outputs().size(); ++i) {
    built.sink("output " + std::to_string(i), {std::make_shared<troupe::bench::same_outputs>()},
               {.tensor = data->outputs()[i], .label = data->labels()[i]});
  }
  return built;
}

nlohmann::json json_of(const variant& how) {
  return {{"stages", how.stages},
          {"optimize", how.optimize == troupe::optimize_mode::none ? "none" : "layer"},
          {"processes", how.is_killed}};
}

void add_result(nlohmann::json& line, const troupe::run_result& result) {
  std::uint64_t differing = 0;
  std::uint64_t hash = 0;
  double relative = 0;
  for (const troupe::sink_report& sink : result.sinks) {
    const troupe::metric_value& value = sink["same_outputs"];
    differing += value.count("differing");
    hash = hash * 31 + value.count("hash");
    relative = std::max(relative, value.value("relative"));
  }
  line["differing"] = differing;
  line["relative"] = relative;
  line["hash"] = std::to_string(hash);
  line["ran_stages"] = result.stages.size();
  line["replayed"] = result.delivery.replayed;
  line["lost"] = result.delivery.lost;
  for (const auto& [pipeline, what] : result.bits_depend_on) line["bits_depend_on"] = what;
  for (const troupe::fault_report& fault : result.faults) line["kills"] = fault.times;
}

}  // namespace

int main(int argc, char** argv) {
  const troupe::program program{argc, argv};
  if (argc < 3) {
    std::cerr << "usage: zoo_run MODEL DATA [--processes]\n";
    return 2;
  }
  const std::string model = argv[1];
  const bool are_processes = argc > 3 && std::string_view(argv[3]) == "--processes";
  const auto data = std::make_shared<troupe::bench::zoo_data>(argv[2]);
  using enum troupe::optimize_mode;
  const std::vector<variant> variants =
      are_processes ? std::vector<variant>{{3, none, true}}
                    : std::vector<variant>{{1, none}, {2, none}, {4, none}, {1, layer}, {2, layer}, {4, layer}};
  for (const variant& how : variants) {
    troupe::run_options options{.micro_batch = troupe::bench::largest_batch, .threads = 1};
    options.log.level = troupe::log_level::error;
    if (how.is_killed) {
      options.workers.enabled = true;
      options.faults.add("kill:stage=net.1,at=mb2");
    }
    nlohmann::json line = json_of(how);
    const auto result = program.run(topology_of(model, data, how), options);
    if (result) {
      add_result(line, *result);
    } else {
      line["error"] = to_string(result.error());
    }
    std::cout << line.dump() << std::endl;
  }
  return 0;
}
