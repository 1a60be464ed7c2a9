#pragma once

#include <memory>

#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/transport.hpp"

namespace troupe {

/// Edges in shared memory (shm_edge.hpp): the memory is the offer, and a process has no contact. With `checksums`,
/// which all processes of a run have or none, an end can be lost.
[[nodiscard]] std::shared_ptr<transport> make_shm_transport(std::shared_ptr<const payload_codec> codec,
                                                            bool checksums = false);

}  // namespace troupe
