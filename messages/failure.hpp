#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// loader or stage -> director: something went wrong that the sender cannot repair. No reply. The director cancels the
/// call of the micro-batch, or ends the run where no micro-batch is named; the sender lives on and takes further calls.
struct failure {
  stage_address address;
  incarnation_number incarnation = 0;
  /// As reports and logs name the stage: "stage 1".
  std::string stage_name;
  /// Which micro-batch failed; nothing if the stage as a whole did.
  std::optional<micro_batch_id> micro_batch;
  error cause;
  /// How often it was tried in all, limits::forward_attempts_max at the most; 0 if there was nothing to try again.
  std::uint32_t attempts = 0;
};

}  // namespace troupe
