#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// How deep lists and dicts may lie within each other, when they are written or read.
inline constexpr int client_state_deep_max = 64;

/// What save_checkpoint() writes beside the layers: the members that DeepSpeed's loader reads, and those of the client.
/// E0103 for a member of the client that has the name of one of DeepSpeed's.
expected<client_state> with_engine_states(const client_state& of_client);

/// The members of the client in the file that DeepSpeed, or with_engine_states(), wrote. `file` has a dict in the zip
/// format of torch.save; nothing in it is called. Errors: those of load_weights(); E0214 for values that are nested
/// more than 64 deep. Fills all members of the result but the tag.
expected<loaded_checkpoint> read_client_state(const std::filesystem::path& file);

}  // namespace troupe
