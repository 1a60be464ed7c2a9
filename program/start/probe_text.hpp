#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/start/probe_report.hpp"

namespace troupe {

/// The place of a tensor, from the first one's first byte; 0 bytes: there is none.
struct tensor_place {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// A report, or the error in its place, as JSON but for its tensors: these have one entry in `places` for each part of
/// each cut, in order.
[[nodiscard]] std::string to_text(const expected<probe_report>& report, const std::vector<tensor_place>& places);

/// The report without its tensors, of which `places` says where they lie; or the error that was reported. E0702 for
/// whatever to_text() does not write.
[[nodiscard]] expected<probe_report> from_text(const std::string& text, std::vector<tensor_place>& places);

}  // namespace troupe
