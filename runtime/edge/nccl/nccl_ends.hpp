#pragma once

#include <memory>

#include "runtime/edge/edge.hpp"
#include "runtime/edge/nccl/nccl_core.hpp"
#include "runtime/edge/payload_codec.hpp"

namespace troupe::nccl {

/// The engine's ends, each over its end of the queue to the device's thread.
[[nodiscard]] std::unique_ptr<edge_producer> make_producer_end(std::unique_ptr<edge_producer> queue,
                                                               std::shared_ptr<link> shared, std::shared_ptr<core> io,
                                                               std::shared_ptr<const payload_codec> labels);
[[nodiscard]] std::unique_ptr<edge_consumer> make_consumer_end(std::unique_ptr<edge_consumer> queue,
                                                               std::shared_ptr<link> shared, std::shared_ptr<core> io);

}  // namespace troupe::nccl
