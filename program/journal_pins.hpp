#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "runtime/config/eval_options.hpp"
#include "runtime/data/data_set.hpp"
#include "runtime/journal/journal_format.hpp"

namespace troupe {

/// All that the bits of an evaluation depend on, for the header of its journal: the content of model and data, what is
/// asked for, LibTorch, the processor and the kernels that it makes LibTorch choose; where `optimize` is `stage` also
/// the cut, `layers` by stage. `options.threads` is resolved. Reads the files once. Errors: E0210 and E0307; E0104 for
/// data that does not say which files it comes from.
[[nodiscard]] expected<journal_pins> pins_of(const eval_options& options, const data_set& data,
                                             const std::vector<std::vector<std::string>>& layers);

/// Threads per stage: those that the user asked for; else, of a run that is resumed, those of its journal, whatever
/// stages, replicas and cores are now; else as resolve_threads().
[[nodiscard]] std::uint32_t threads_of(const eval_options& options, std::uint32_t cores);

}  // namespace troupe
