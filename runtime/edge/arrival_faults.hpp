#pragma once

#include <cstdint>

namespace troupe {

/// What a fault plan does to an edge where its consumer reads bytes, before they are checked: below the frame decoder
/// of tcp, in the header of a slot in shared memory. Where there is no plan, there is none. Threads: that of the
/// consumer's end, and the I/O thread of its transport.
class arrival_faults {
 public:
  enum class damage : std::uint8_t {
    none,
    flipped,  ///< a bit is another one
    cut,      ///< the message ends too early
  };

  arrival_faults() = default;
  arrival_faults(const arrival_faults&) = delete;
  arrival_faults& operator=(const arrival_faults&) = delete;
  virtual ~arrival_faults() = default;

  /// What happens to the message that is read next. Once for each.
  [[nodiscard]] virtual damage next_message() noexcept = 0;
  /// Nothing passes now, either way.
  [[nodiscard]] virtual bool is_silenced() const noexcept = 0;
};

}  // namespace troupe
