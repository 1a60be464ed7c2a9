#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "messages/limits.hpp"
#include "runtime/edge/tcp/edge_proof.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

/// What processes say to each other on the wire: a prelude of fixed size, a header of numbers, and for activations a
/// payload (docs/wire.md, to the byte). Threads: functions and values without state.
namespace troupe {

/// Numbers are part of the format; no message_kind has one of the first three.
enum class frame_kind : std::uint8_t {
  activation = 1,  ///< producer -> consumer, with a payload
  credit = 2,      ///< consumer -> producer
  flush = 3,       ///< producer -> consumer
  close = 8,       ///< either way, the last frame of its sender
  hello = 9,       ///< producer -> consumer, the first frame of a connection
  welcome = 10,    ///< consumer -> producer, the answer to a right proof
  ping = 11,       ///< either way: nothing new, still here
  challenge = 12,  ///< consumer -> producer, the answer to a right hello
  proof = 13,      ///< producer -> consumer, the answer to a right challenge
  control = 14,    ///< either way on a link, with a message of messages/codec as payload
  link = 15,       ///< node -> driver, the first frame of a connection; and the driver's answer
  join = 16,       ///< the first frame of a peer without a certificate, and the driver's answer; with a payload
};

struct activation_frame {
  micro_batch_id id;
  sample_range samples;
  epoch_number epoch = 0;
  /// How many rows are listed; nothing for a whole micro-batch.
  std::optional<std::uint64_t> rows;
  /// Nothing without tensors.
  std::optional<std::uint64_t> tensor_bytes;
  /// Nothing without labels.
  std::optional<std::uint64_t> label_bytes;
  /// The payload ends with the CRC32C of all its bytes before.
  bool has_checksum = false;
  friend bool operator==(const activation_frame&, const activation_frame&) = default;
};
/// Counted since the connection began, so that one frame stands for any number of releases.
struct credit_frame {
  std::uint64_t released = 0;
  friend bool operator==(const credit_frame&, const credit_frame&) = default;
};
struct flush_frame {
  call_number call = 0;
  friend bool operator==(const flush_frame&, const flush_frame&) = default;
};
/// `activations`: what a producer sent in all, whether or not it went out before the consumer closed; else 0.
struct close_frame {
  std::uint64_t activations = 0;
  friend bool operator==(const close_frame&, const close_frame&) = default;
};
/// `key.run` is not sent and is zero when it was read: the proofs (edge_proof.hpp) show that both sides know it.
struct hello_frame {
  edge_key key;
  std::uint32_t slots = 0;
  edge_nonce nonce{};
  edge_proof proof{};
  friend bool operator==(const hello_frame&, const hello_frame&) = default;
};
struct challenge_frame {
  edge_nonce nonce{};
  edge_proof proof{};
  friend bool operator==(const challenge_frame&, const challenge_frame&) = default;
};
struct proof_frame {
  edge_proof proof{};
  friend bool operator==(const proof_frame&, const proof_frame&) = default;
};
struct welcome_frame {
  std::uint32_t slots = 0;
  friend bool operator==(const welcome_frame&, const welcome_frame&) = default;
};
struct control_frame {
  std::uint64_t bytes = 0;
  friend bool operator==(const control_frame&, const control_frame&) = default;
};
/// `silence_ms` is the driver's to say: an end that says nothing for so long is lost.
struct link_frame {
  std::optional<std::uint32_t> silence_ms;
  friend bool operator==(const link_frame&, const link_frame&) = default;
};
struct join_frame {
  std::uint64_t bytes = 0;
  friend bool operator==(const join_frame&, const join_frame&) = default;
};
struct ping_frame {
  friend bool operator==(const ping_frame&, const ping_frame&) = default;
};

using frame = std::variant<activation_frame, credit_frame, flush_frame, close_frame, hello_frame, welcome_frame,
                           ping_frame, challenge_frame, proof_frame, control_frame, link_frame, join_frame>;

[[nodiscard]] frame_kind kind_of(const frame& value) noexcept;

/// Where the parts of a payload are: tensors first, labels and rows each at the next multiple of
/// limits::payload_alignment; then the checksum, if there is one, in payload_checksum_bytes. It comes last, so that a
/// sender reads the payload once: it sums up each piece as it sends it.
struct payload_layout {
  std::uint64_t labels_at = 0;
  std::uint64_t rows_at = 0;
  std::uint64_t checksum_at = 0;
  std::uint64_t bytes = 0;
};
inline constexpr std::size_t payload_checksum_bytes = 4;
/// All lengths of `head` must be at most limits::frame_payload_bytes_max, as decode_head() assures.
[[nodiscard]] payload_layout layout_of(const activation_frame& head) noexcept;

inline constexpr std::size_t frame_prelude_bytes = 20;

/// Prelude and header of one frame; the payload follows.
class frame_head_bytes {
 public:
  [[nodiscard]] std::span<const std::byte> view() const noexcept { return std::span(bytes_).first(size_); }
  [[nodiscard]] std::span<std::byte> view() noexcept { return std::span(bytes_).first(size_); }
  void put(std::uint64_t byte) noexcept { bytes_[size_++] = static_cast<std::byte>(byte & 0xffu); }
  void clear() noexcept { size_ = 0; }

 private:
  std::array<std::byte, frame_prelude_bytes + limits::frame_header_bytes_max> bytes_{};
  std::size_t size_ = 0;
};

/// Big-endian, as all numbers of a frame.
void write_checksum(std::uint32_t crc, std::span<std::byte, payload_checksum_bytes> into) noexcept;
[[nodiscard]] std::uint32_t read_checksum(std::span<const std::byte, payload_checksum_bytes> from) noexcept;

/// Bytes that follow the head.
[[nodiscard]] std::uint64_t payload_bytes_of(const frame& value) noexcept;

/// The shortest form; equal frames are equal bytes. The payload's length follows from the frame.
[[nodiscard]] frame_head_bytes encode_head(const frame& value) noexcept;

/// Over the prelude up to the checksum itself, and the header: no bit of either can change unseen.
[[nodiscard]] std::uint32_t head_checksum(std::span<const std::byte> head) noexcept;

struct frame_prelude {
  std::size_t header_bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint32_t crc = 0;
};

/// Decodes the first frame_prelude_bytes of `input`, which must be there. Errors: E0701, E0702, E0703, each naming the
/// byte of the frame.
[[nodiscard]] expected<frame_prelude> decode_prelude(std::span<const std::byte> input,
                                                     std::uint64_t payload_bytes_max = limits::frame_payload_bytes_max);

/// `input` is a prelude that decode_prelude() accepted and its header, nothing else. Checks the checksum before
/// anything else, then every field. Errors: E0701, E0702, E0705, E0706, each naming the byte of the frame. Allocates
/// nothing unless it fails.
[[nodiscard]] expected<frame> decode_head(std::span<const std::byte> input, const frame_prelude& prelude);

}  // namespace troupe
