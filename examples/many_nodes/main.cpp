// One program, alone or on many nodes: what `troupe launch` starts as the driver on the first node and as workers on
// all. No line is for that but the first of main(), which every program with workers has.
//
//   ./many_nodes DATA
//   troupe launch --hostfile hosts -- ./many_nodes DATA
#include <cstdlib>
#include <iostream>

#include "topology.hpp"

namespace {

/// All that must not depend on where the stages live. Reals are written in hexadecimal: to the last bit.
void show(const troupe::run_result& result) {
  std::cout << std::hexfloat;
  for (const troupe::sink_report& sink : result.sinks) {
    std::cout << sink.name << " samples " << sink.samples << '\n';
    for (const troupe::metric_value& metric : sink.metrics) {
      for (const auto& field : metric.fields) {
        std::cout << sink.name << ' ' << metric.name << ' ' << field.name;
        for (const std::uint64_t count : field.counts) std::cout << ' ' << count;
        for (const double real : field.reals) std::cout << ' ' << real;
        std::cout << '\n';
      }
    }
  }
  std::cout << result.delivery.folded << " of " << result.delivery.expected << " micro-batches, "
            << result.delivery.lost << " lost\n";
}

}  // namespace

int main(int argc, char** argv) {
  const troupe::program program{argc, argv};
  const std::string data = argc > 1 ? argv[1] : "data";
  troupe::evaluation_hooks hooks;
  hooks.on_progress = [](const troupe::progress_update& now) {
    std::cerr << '\r' << now.samples_done << " of " << now.samples_total << " samples" << std::flush;
  };
  const auto result = program.run(examples::many_nodes(data), {.micro_batch = 16, .threads = 1}, hooks);
  std::cerr << '\n';
  if (!result) {
    std::cerr << to_string(result.error()) << '\n';
    return static_cast<int>(troupe::status_of(result.error().code));
  }
  show(*result);
  return 0;
}
