#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/training/trained_part.hpp"
#include <troupe/error.hpp>
#include <troupe/layer_spec.hpp>

namespace troupe {

/// Builds the layers [begin, end) for one stage replica, in training mode. LibTorch's process-wide generator has the
/// seed `seed` + index while a layer is built, and its state of before afterwards, so that initial weights do not
/// depend on the cut; a factory that seeds it itself gets what it asks for. Threads: one at a time in a process.
///
/// A key's module is built here if one of its places is in the part, and has the names of its first place; the part
/// before, if there is one, that has this place saves it (trained_part::is_copy).
///
/// E0602: a factory failed. E0504: a layer with weights has no train(); layers with running statistics that are tied
/// lie in different stages.
expected<std::unique_ptr<trained_part>> make_layer_part(const std::vector<layer_spec>& specs, std::size_t begin,
                                                        std::size_t end, std::uint64_t seed);

}  // namespace troupe
