#pragma once

#include <cstdint>

#include <ATen/Parallel.h>

namespace troupe {

/// Intra-op threads of the calling thread's team: for ATen, MKL and OpenMP.
inline void set_threads_of_this_thread(std::uint32_t threads) {
  at::get_num_threads();  // the first ATen call of a thread sets it to the process's count; it has to come before ours
  at::set_num_threads(static_cast<int>(threads));
}

}  // namespace troupe
