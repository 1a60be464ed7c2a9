#pragma once

#include <filesystem>
#include <vector>

#include "runtime/graph/operator_graph.hpp"
#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// Whether this is a folder of a model of Hugging Face's transformers: it has a config.json.
bool is_model_folder(const std::filesystem::path& path, const file_locator& locate = {});

/// Reads the weights, and makes the graph of the architecture for them. Errors: load_weights(), build_named(),
/// build_configured(); E0201 for a folder without config.json where no architecture is given.
expected<operator_graph> read_built_in(const model_with_weights& what, const file_locator& locate = {});

/// What read_built_in() reads.
std::vector<std::filesystem::path> files_of(const model_with_weights& what, const file_locator& locate = {});

}  // namespace troupe
