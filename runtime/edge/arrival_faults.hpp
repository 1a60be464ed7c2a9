#pragma once

#include <cstdint>

namespace troupe {

/// As the process sees it whose end suffers.
enum class flow : std::uint8_t { in, out };

/// What a fault plan does to an edge where its consumer reads bytes, before they are checked: below the frame decoder
/// of tcp, in a slot in shared memory; and to a connection. Where there is no plan, there is none. Threads: that of the
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
  /// Nothing passes this way now.
  [[nodiscard]] virtual bool is_silenced(flow way) const noexcept = 0;
  /// Nothing passes this way any more, and the other end is told so.
  [[nodiscard]] virtual bool is_closed(flow way) const noexcept = 0;
};

}  // namespace troupe
