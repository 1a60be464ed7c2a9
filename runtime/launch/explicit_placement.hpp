#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/launch/node_filter.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A stage replica that is to live on a node; its rank is its position in a list of them.
struct ranked_stage {
  std::string name;
  std::uint32_t replica = 0;
  /// The name of the node that its program asks for; empty: any.
  std::string wanted = {};
};

/// Where the user wants stages (--placement): entries WHICH=NODE with ',' between them. WHICH is a rank ("3"), ranks
/// ("0-2"), a stage with all of its replicas ("resnet.1"), or one replica ("resnet.1/0"). Stages that are not named go
/// where their program wants them, and all others take the slots that are left, in order of ranks.
///
/// The node of each rank, as a position in `nodes`. E0102 for an unknown stage or node, E0103 for all else: a rank
/// placed twice, more stages on a node than it has slots, more stages than slots. Errors about the text have the place
/// "--placement, character N", in bytes from 1; those about a program's wishes name the stage.
[[nodiscard]] expected<std::vector<std::size_t>> place_explicitly(std::optional<std::string_view> text,
                                                                  std::span<const ranked_stage> ranks,
                                                                  std::span<const node_slots> nodes);

}  // namespace troupe
