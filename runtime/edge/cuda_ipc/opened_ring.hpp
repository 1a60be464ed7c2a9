#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/edge/cuda_ipc/ipc_announcement.hpp"
#include "runtime/edge/cuda_ipc/ipc_tools.hpp"

namespace troupe::ipc {

/// The consumer's view of a producer's slots. Threads: one.
class opened_ring {
 public:
  opened_ring(std::shared_ptr<const ipc_tools> tools, std::uint32_t slots) : tools_(std::move(tools)), events_(slots) {}

  struct view {
    /// That of the block, or of an allocation for each extent. The last owner closes it.
    std::vector<std::shared_ptr<std::byte>> memory;
    /// One for each extent.
    std::vector<std::byte*> places;
    /// Passes when they are filled; null: they are.
    std::shared_ptr<context_event> filled;
  };
  /// Takes the announcement as untrusted: every field is checked before something is opened, and the size against what
  /// the device says. E0701, E0702; E0902 where the device opens nothing, as after the producer's death.
  [[nodiscard]] expected<view> open(const announcement& said);

 private:
  struct known_event {
    sharing_handle handle{};
    std::shared_ptr<context_event> event;
  };
  [[nodiscard]] expected<void> open_block(const place& where);
  [[nodiscard]] expected<const shared_block*> open_lent(const spot& where);
  [[nodiscard]] expected<void> view_block(const announcement& said, view& into);
  [[nodiscard]] expected<void> view_lent(const announcement& said, view& into);
  [[nodiscard]] expected<std::shared_ptr<context_event>> open_event(const place& where);

  const std::shared_ptr<const ipc_tools> tools_;
  /// limits::ipc_lent_allocations_max at most.
  std::vector<shared_block> lent_;
  shared_block block_;
  std::uint64_t number_ = 0;
  std::vector<known_event> events_;
};

}  // namespace troupe::ipc
