#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// Whether a training has saved a checkpoint in the folder.
[[nodiscard]] bool has_checkpoint(const std::string& folder);

/// Errors about a training's folder, with what its user can do about them: no option names a tag or a journal's file.
/// Each leaves errors as they are that are about something else.

/// About the newest checkpoint, which could not be loaded.
[[nodiscard]] error advised_to_load(error found, const std::string& folder);
/// About the journal, or a step that is compared with it.
[[nodiscard]] error advised_of_journal(error found, const std::string& folder);
/// About a checkpoint that could not be written.
[[nodiscard]] error advised_to_save(error found, const std::string& folder);

/// The micro-batch of a step that an error names; nothing where it names none.
[[nodiscard]] std::optional<std::uint64_t> micro_batch_of(const error& found);
/// An error about a micro-batch of a step, with the samples that it has in the data set, in place of their places in
/// the step.
[[nodiscard]] error with_samples(error found, const std::vector<std::uint64_t>& samples, bool in_order);

}  // namespace troupe
