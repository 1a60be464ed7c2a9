#include "tests/runtime/optimizer/recorded_updates.hpp"

#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

std::vector<float> read_row(std::istream& from, std::size_t elements) {
  std::vector<float> row(elements);
  from.read(reinterpret_cast<char*>(row.data()), static_cast<std::streamsize>(elements * sizeof(float)));
  if (!from) throw std::runtime_error("updates.bin is cut short");
  return row;
}

optimizer_options options_of(const std::string& optimizer, const nlohmann::json& given) {
  optimizer_options made;
  made.kind = optimizer == "SGD"    ? optimizer_kind::sgd
              : optimizer == "Adam" ? optimizer_kind::adam
                                    : optimizer_kind::adamw;
  made.weight_decay = given.value("weight_decay", 0.0);
  made.momentum = given.value("momentum", 0.0);
  made.dampening = given.value("dampening", 0.0);
  made.nesterov = given.value("nesterov", false);
  made.amsgrad = given.value("amsgrad", false);
  made.eps = given.value("eps", made.eps);
  if (given.contains("betas")) {
    made.beta_1 = given["betas"][0];
    made.beta_2 = given["betas"][1];
  }
  return made;
}

}  // namespace

recorded_updates read_recorded_updates() {
  const auto folder = source_dir() / "tests/runtime/optimizer/recorded";
  std::ifstream table(folder / "updates.json");
  const nlohmann::json described = nlohmann::json::parse(table);
  std::ifstream numbers(folder / "updates.bin", std::ios::binary);
  const std::size_t elements = described["elements"];
  const std::size_t steps = described["steps"];
  recorded_updates made;
  const std::vector<float> weights = read_row(numbers, elements);
  for (std::size_t step = 0; step < steps; ++step) made.gradients.push_back(read_row(numbers, elements));
  for (const nlohmann::json& each : described["cases"]) {
    const std::string optimizer = each["optimizer"];
    recorded_update one{.name = optimizer + " " + each["options"].dump(),
                        .options = options_of(optimizer, each["options"]),
                        .learning_rate = each["options"]["lr"]};
    const std::size_t moments = each["moments"].size();
    one.states.push_back({weights, std::vector(moments, std::vector<float>(elements))});
    for (std::size_t step = 0; step < steps; ++step) {
      recorded_update::state after{.weights = read_row(numbers, elements)};
      for (std::size_t moment = 0; moment < moments; ++moment) after.moments.push_back(read_row(numbers, elements));
      one.states.push_back(std::move(after));
    }
    made.cases.push_back(std::move(one));
  }
  return made;
}

}  // namespace troupe::testing
