#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "messages/agent.hpp"
#include "runtime/os/blob.hpp"
#include "runtime/os/shared_memory.hpp"

namespace troupe {

/// The blobs of a driver on another node, as memory that workers of this node share. What a peer says is bounded: at
/// most limits::agent_blobs_max, each of at most limits::shm_slot_bytes_max, of which memory is only taken for what was
/// sent. Threads: one.
class blob_store {
 public:
  /// E0702 for a part outside of its blob, or with another size than the parts before it; E0701 beyond the limits;
  /// E0614 where the system refuses.
  [[nodiscard]] expected<void> add(const blob_part& part);
  /// E0702 for one that never came.
  [[nodiscard]] expected<blob> find(std::uint64_t number) const;
  void drop(std::uint64_t number) { kept_.erase(number); }
  void clear() { kept_.clear(); }

 private:
  struct entry {
    std::uint64_t size = 0;
    blob memory;
  };
  [[nodiscard]] expected<entry*> entry_of(const blob_part& part);
  std::map<std::uint64_t, entry> kept_;
};

}  // namespace troupe
