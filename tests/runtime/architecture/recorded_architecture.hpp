#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "runtime/architecture/architecture.hpp"
#include "tests/support/formula_tensors.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {

/// A file of recorded/configured.py.
inline nlohmann::json read_recorded_json(const std::string& name) {
  std::ifstream file(source_dir() / "tests/runtime/architecture/recorded" / (name + ".json"));
  return nlohmann::json::parse(file);
}

/// Weights by formula, of the names, types and sizes that were recorded.
inline state_dict formula_weights(const nlohmann::json& names) {
  state_dict weights;
  for (const auto& each : names) {
    const auto sizes = each[2].get<std::vector<std::int64_t>>();
    const auto name = each[0].get<std::string>();
    const auto type = each[1] == "bfloat16" ? at::kBFloat16 : at::kFloat;
    weights.push_back({name, formula_weight(name, sizes).to(type)});
  }
  return weights;
}

inline at::Tensor tensor_of(const nlohmann::json& rows) {
  std::vector<at::Tensor> all;
  for (const auto& row : rows) all.push_back(at::tensor(row.get<std::vector<std::int64_t>>()));
  return at::stack(all);
}

inline at::Tensor output_of(const nlohmann::json& recorded) {
  return at::tensor(recorded["values"].get<std::vector<float>>())
      .view(recorded["sizes"].get<std::vector<std::int64_t>>());
}

inline expected<operator_graph> build(const nlohmann::json& config, const state_dict& weights, bool strict = true,
                                      const std::optional<sentence_embedding>& embedding = std::nullopt) {
  return build_configured(json_part(config, "model/config.json", "config"), "model.safetensors", weights, strict,
                          embedding);
}

}  // namespace troupe::testing
