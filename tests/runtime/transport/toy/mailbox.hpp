// The memory of a toy edge.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "messages/activation.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/os/shared_memory.hpp"

namespace troupe::testing {

struct letter {
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};
  std::uint64_t flushed_before = 0;
  std::uint64_t call = 0;
  std::uint64_t index = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t rows = nothing;
  std::uint64_t tensors = nothing;
  std::uint64_t labels = nothing;
  std::array<std::uint32_t, 64> row_numbers{};
  alignas(64) std::array<std::byte, 8192> tensors_bytes{};
  alignas(64) std::array<std::byte, 1024> labels_bytes{};
};

/// Each word has one writer.
struct mailbox_words {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> flushed{0};  ///< call + 1
  std::atomic<std::uint32_t> producer_closed{0};
  std::atomic<std::uint64_t> released{0};
  std::atomic<std::uint32_t> consumer_closed{0};
  std::uint32_t slots = 0;
  std::uint32_t credits_per_ring = 1;
};

/// The memory, as one process has it mapped.
class mailbox {
 public:
  static expected<unique_fd> create(const edge_options& shape);
  static expected<mailbox> open(unique_fd memory);

  [[nodiscard]] mailbox_words& words() const { return *reinterpret_cast<mailbox_words*>(pages_->bytes().data()); }
  [[nodiscard]] letter& at(std::uint64_t position) const { return letters()[position % slots_]; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }

  /// Throws std::runtime_error for what does not fit.
  void write(letter& to, const activation& message, const payload_codec& codec) const;
  [[nodiscard]] static expected<activation> read(const letter& from, const payload_codec& codec);

 private:
  mailbox(memory_mapping pages, std::uint32_t slots)
      : pages_(std::make_shared<memory_mapping>(std::move(pages))), slots_(slots) {}
  [[nodiscard]] letter* letters() const { return reinterpret_cast<letter*>(pages_->bytes().data() + 64); }

  std::shared_ptr<memory_mapping> pages_;
  std::uint32_t slots_;
};

}  // namespace troupe::testing
