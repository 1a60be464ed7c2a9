#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/optimizer/parameter_layout.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// The block of memory behind `trained_parameters`: which half is current, what was finished and decided, and which
/// pages may be written. Threads: one at a time.
class parameter_memory {
 public:
  /// What belongs to one version of the weights.
  struct version_state {
    std::uint64_t step = 0;
  };

  /// Everything zero, and writable until publish(). `given` and `protects` as in trained_parameters::create().
  [[nodiscard]] static expected<parameter_memory> fresh(parameter_layout layout, std::span<std::byte> given,
                                                        bool protects);
  /// E0620.
  [[nodiscard]] static expected<parameter_memory> adopt(parameter_layout layout, std::span<std::byte> given,
                                                        bool protects);

  /// publish() was called for this memory.
  [[nodiscard]] static bool holds_state(std::span<const std::byte> given) noexcept;

  parameter_memory(parameter_memory&& other) noexcept;
  parameter_memory& operator=(parameter_memory&&) = delete;
  /// Unmaps memory of its own; makes given memory writable again.
  ~parameter_memory();

  [[nodiscard]] const parameter_layout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::size_t current() const noexcept;
  [[nodiscard]] version_state state() const noexcept;
  [[nodiscard]] std::optional<call_number> finished() const noexcept;
  [[nodiscard]] std::optional<call_number> decided() const noexcept;

  [[nodiscard]] std::byte* half(std::size_t index) const noexcept { return bytes_.data() + layout_.half_begin(index); }
  [[nodiscard]] std::byte* gradient() const noexcept { return bytes_.data() + layout_.gradient_begin(); }

  /// Pages to be written, beside that of the header.
  enum class area : std::uint8_t {
    gradient,    ///< and the buffers of the other half
    other_half,  ///< the one that is not current
  };
  /// It may be written from here on, until protect(). Both together take some 40 ns per page.
  [[nodiscard]] expected<void> unprotect(area opened);
  void protect() noexcept;

  // Each one store, seen after all stores before it. Within unprotect() and protect().

  void set_finished(std::optional<call_number> call) noexcept;
  /// The decision of a call changes nothing.
  void decide(call_number call) noexcept;
  /// The other half becomes the current one. `decided`: null where no call was decided yet.
  void flip(std::optional<call_number> decided, version_state state) noexcept;
  /// A fresh memory can be adopted from here on.
  void publish() noexcept;

 private:
  struct header;

  parameter_memory(parameter_layout layout, std::span<std::byte> bytes, bool is_own, bool protects);
  [[nodiscard]] header& head() const noexcept;
  [[nodiscard]] std::array<std::span<std::byte>, 3> pages_of(area of) const noexcept;

  parameter_layout layout_;
  std::span<std::byte> bytes_;
  bool is_own_ = false;
  bool is_protected_ = false;
  /// Ranges of whole pages that may be written.
  std::array<std::span<std::byte>, 3> opened_ = {};
};

}  // namespace troupe
