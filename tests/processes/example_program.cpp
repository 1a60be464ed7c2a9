// The topologies of examples/, and one with many classes, in worker processes: NAME none|all|stages MICRO_BATCH SAMPLES
// REPLICAS DATA_DIRECTORY. With "stages" only those that are no model's layers are in workers.
#include <iostream>
#include <string>

#include "examples/cascade/topology.hpp"
#include "examples/chain/topology.hpp"
#include "examples/crops/topology.hpp"
#include "examples/ensemble/topology.hpp"
#include "examples/own_parts/topology.hpp"
#include "examples/replicas/topology.hpp"
#include "many_classes.hpp"

namespace {

troupe::topology named(const std::string& name, const std::string& dir, const troupe::stage_options& each) {
  if (name == "classes_300") return troupe::testing::many_classes(300, each);
  if (name == "classes_1023") return troupe::testing::many_classes(1023, each);
  if (name == "classes_21841") return troupe::testing::thousands_of_classes(each);
  if (name == "cascade") return examples::cascade(dir, examples::cascade_sure_from, each);
  if (name == "crops") return examples::crops(dir, each);
  if (name == "ensemble") return examples::ensemble(dir, each);
  if (name == "own_parts") return examples::own_parts(dir, each);
  if (name == "replicas") return examples::replicas(dir, each.replicas + 1, {.process = each.process});
  return examples::chain(dir, {.stages = 3, .replicas = each.replicas, .process = each.process});
}

}  // namespace

int main(int argc, char** argv) {
  const troupe::program program{argc, argv};
  if (argc != 7) return 2;
  const std::string where = argv[2];
  const troupe::stage_options each{.replicas = static_cast<std::uint32_t>(std::stoul(argv[5])),
                                   .process = where == "stages"};
  const auto result = program.run(named(argv[1], argv[6], each), {.micro_batch = std::stoull(argv[3]),
                                                                  .threads = 1,
                                                                  .limit = std::stoull(argv[4]),
                                                                  .workers = {.enabled = where == "all"}});
  if (!result) {
    std::cerr << to_string(result.error()) << '\n';
    return static_cast<int>(troupe::status_of(result.error().code));
  }
  std::cout << troupe::result_json(*result).text;
  return 0;
}
