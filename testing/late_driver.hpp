#pragma once

#include <cstddef>

#include "runtime/cuda/driver_functions.hpp"

namespace troupe::testing {

/// A CUDA driver of the shape of the real one, with one device whose streams are late on purpose: work is done only
/// when run_late_work() is called. A copy takes its bytes then, so memory used, or written again, before its event has
/// passed has wrong bits. New memory of the device holds nonsense. One per process, since the driver's functions have
/// no object; its state is made anew by this call. Threads: one.
driver_functions late_driver(std::size_t memory_bytes);

/// Does what can be done: a stream stands still at an event of another stream that has not passed.
void run_late_work();

/// Of the driver that was made last, handles not given back: contexts, memory, streams, events and opened memory.
std::size_t late_driver_handles();

}  // namespace troupe::testing
