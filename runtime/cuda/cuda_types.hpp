#pragma once

namespace troupe {

/// A stream of the CUDA driver, opaque. A pointer of the runtime's type cudaStream_t is the same.
using cuda_stream = struct cuda_stream_state*;
/// An event of the CUDA driver, opaque.
using cuda_event = struct cuda_event_state*;
/// The driver's context of a device in this process, opaque.
using cuda_context = struct cuda_context_state*;

}  // namespace troupe
