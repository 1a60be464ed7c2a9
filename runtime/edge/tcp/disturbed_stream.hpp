#pragma once

#include <memory>

#include "runtime/edge/arrival_faults.hpp"
#include "runtime/edge/tcp/wire_stream.hpp"

namespace troupe {

/// What a connection is about, for the faults that it suffers.
enum class disturbed_content : std::uint8_t {
  edge,  ///< frames follow from their first byte on, and the payloads among them suffer damage
  link,  ///< anything
};

/// The stream of a connection under a fault plan: above TLS, below the frame decoder. Only such connections have one. A
/// closed way ends it like a socket that was shut down; a silent way is one on which nothing comes, or nothing leaves.
[[nodiscard]] std::unique_ptr<wire_stream> disturb_stream(std::unique_ptr<wire_stream> stream,
                                                          std::shared_ptr<arrival_faults> faults,
                                                          disturbed_content content);

}  // namespace troupe
