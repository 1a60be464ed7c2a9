// Counts the calls by which a program makes its host wait for a GPU. It is independent of Troupe: the loader puts these
// functions before those of the CUDA runtime (LD_PRELOAD=libsync_counter.so), and each calls the one that it hides.
//
// A count that does not grow with the number of micro-batches is zero per micro-batch. gpu_bench reads the counts while
// it runs (sync_counter_total()). A process that returns from main() also appends a line of JSON to the file that
// SYNC_COUNTER_FILE names; `troupe eval` computes in a process that does not. Not counted: what libraries do below the
// CUDA runtime, by the driver or by a runtime that is linked into them.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace {

using stream = void*;
using event = void*;

enum counted : std::size_t {
  stream_wait,
  device_wait,
  event_wait,
  plain_copy,
  pageable_copy,
  allocation,
  release,
  kinds
};
constexpr std::array<const char*, kinds> names = {"cudaStreamSynchronize",
                                                  "cudaDeviceSynchronize",
                                                  "cudaEventSynchronize",
                                                  "cudaMemcpy",
                                                  "cudaMemcpyAsync, host memory not pinned",
                                                  "cudaMalloc, cudaHostAlloc",
                                                  "cudaFree, cudaFreeHost"};
std::array<std::atomic<std::uint64_t>, kinds> counts;

/// cudaPointerAttributes: the first member is the kind of memory, 0 for what CUDA does not know.
struct pointer_attributes {
  int type = 0;
  std::array<std::byte, 252> rest{};
};

template <class Function>
Function* hidden(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

template <class... Arguments>
int count(counted what, const char* name, Arguments... arguments) {
  counts[what].fetch_add(1, std::memory_order_relaxed);
  return hidden<int(Arguments...)>(name)(arguments...);
}

bool is_pageable(const void* place) {
  static auto* const ask = hidden<int(pointer_attributes*, const void*)>("cudaPointerGetAttributes");
  pointer_attributes found;
  return ask(&found, place) == 0 && found.type == 0;
}

[[gnu::destructor]] void report() {
  const char* path = std::getenv("SYNC_COUNTER_FILE");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  std::fputs("{", file);
  for (std::size_t i = 0; i < kinds; ++i)
    std::fprintf(file, "%s\"%s\": %llu", i == 0 ? "" : ", ", names[i], static_cast<unsigned long long>(counts[i]));
  std::fputs("}\n", file);
  std::fclose(file);
}

}  // namespace

extern "C" {

std::uint64_t sync_counter_total() {
  std::uint64_t total = 0;
  for (const auto& each : counts) total += each.load(std::memory_order_relaxed);
  return total;
}

int cudaStreamSynchronize(stream which) {
  return count(stream_wait, "cudaStreamSynchronize", which);
}
int cudaDeviceSynchronize() {
  return count(device_wait, "cudaDeviceSynchronize");
}
int cudaEventSynchronize(event which) {
  return count(event_wait, "cudaEventSynchronize", which);
}
int cudaMemcpy(void* into, const void* from, std::size_t bytes, int kind) {
  return count(plain_copy, "cudaMemcpy", into, from, bytes, kind);
}
int cudaMemcpyAsync(void* into, const void* from, std::size_t bytes, int kind, stream which) {
  if (is_pageable(into) || is_pageable(from)) counts[pageable_copy].fetch_add(1, std::memory_order_relaxed);
  static auto* const copy = hidden<int(void*, const void*, std::size_t, int, stream)>("cudaMemcpyAsync");
  return copy(into, from, bytes, kind, which);
}
int cudaMalloc(void** made, std::size_t bytes) {
  return count(allocation, "cudaMalloc", made, bytes);
}
int cudaHostAlloc(void** made, std::size_t bytes, unsigned int flags) {
  return count(allocation, "cudaHostAlloc", made, bytes, flags);
}
int cudaFree(void* place) {
  return count(release, "cudaFree", place);
}
int cudaFreeHost(void* place) {
  return count(release, "cudaFreeHost", place);
}
}
