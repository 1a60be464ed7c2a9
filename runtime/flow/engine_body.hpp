#pragma once

#include <memory>
#include <variant>

#include "runtime/flow/stage_body.hpp"
#include "runtime/flow/training_body.hpp"

namespace troupe {

/// What an engine computes: of a stage that evaluates, or of one that trains. Not null.
using engine_body = std::variant<std::shared_ptr<stage_body>, std::shared_ptr<training_body>>;

}  // namespace troupe
