#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

namespace troupe::bench {

/// Slots of every edge, and messages that gloo may have under way: the default of num_pipe_buffers.
inline constexpr std::uint32_t credits = 2;

/// A peer that is gone or silent, or bytes that did not arrive as they were sent. Ends the run.
class transport_failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How an end waits: as an engine's thread does, but for a peer that may be lost.
struct patience {
  /// Looks around and yields for so long before it parks.
  std::chrono::nanoseconds spin{};
  /// For one message.
  std::chrono::milliseconds limit{};
  /// Called now and then while parked; throws when the peer has ended. May be empty.
  std::function<void()> look_after_peer;
};

/// What passes an end in one measurement.
struct traffic {
  std::size_t bytes = 0;  ///< of each message
  std::uint64_t sends = 0;
  std::uint64_t receives = 0;
};

/// One of the two ends of a lane, which carries messages both ways. One thread uses it. Every wait has a limit.
/// Errors: transport_failure, or what the library below throws.
class lane_end {
 public:
  lane_end() = default;
  lane_end(const lane_end&) = delete;
  lane_end& operator=(const lane_end&) = delete;
  virtual ~lane_end() = default;

  /// Before a measurement: what will be sent and received.
  virtual void begin(const traffic& coming) = 0;
  /// Sends the first bytes of the source; returns when the lane has taken them, or will read them from the source
  /// later.
  virtual void send() = 0;
  /// The next message's touched(), after which its place is given back.
  [[nodiscard]] virtual std::uint64_t receive() = 0;
  /// After everything was sent and received.
  virtual void end() {}
  /// After the last measurement, on both sides and for all lanes before one is destroyed: what waits then for the other
  /// side's end does not have to.
  virtual void close() noexcept {}
};

/// The bytes that all lanes send: `source_bytes` of no pattern, the same in all processes, made at the first call.
inline constexpr std::size_t source_bytes = std::size_t{64} << 20;
[[nodiscard]] std::span<const std::byte> source();

/// The sum of the first byte of each cache line: what every receiver does with a message, so that one which is passed
/// on in place is not measured as nothing, and one that is lost or torn is noticed.
[[nodiscard]] std::uint64_t touched(std::span<const std::byte> message) noexcept;

/// Throws unless `sum` is that of the source's first `bytes`.
void expect_source(std::uint64_t sum, std::size_t bytes);

}  // namespace troupe::bench
