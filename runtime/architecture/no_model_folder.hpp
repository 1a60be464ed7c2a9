#pragma once

#include <filesystem>

#include <troupe/error.hpp>

namespace troupe {

/// E0202 about a folder without config.json that was given as a model. Its fix goes by what the folder has: a model's
/// file, weights, a checkpoint, or a folder with config.json in it.
tl::unexpected<error> no_model_in(const std::filesystem::path& folder);

}  // namespace troupe
