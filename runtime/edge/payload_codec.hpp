#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "messages/payload.hpp"
#include "runtime/edge/gathered_bytes.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// How a payload becomes bytes on an edge that leaves the process, and a payload again at the other end. Edges know no
/// tensors; the one real codec is tensor_codec (runtime/tensor). Threads: any number at once, nothing is kept.
class payload_codec {
 public:
  payload_codec() = default;
  payload_codec(const payload_codec&) = delete;
  payload_codec& operator=(const payload_codec&) = delete;
  virtual ~payload_codec() = default;

  /// Bytes that write() fills. Throws std::runtime_error, which says why, for a payload that cannot become bytes.
  [[nodiscard]] virtual std::size_t size_of(const payload& value) const = 0;

  /// `into` starts at a multiple of limits::payload_alignment and has size_of(value) bytes, which were asked for
  /// before. Does not throw.
  virtual void write(const payload& value, std::span<std::byte> into) const = 0;

  /// The bytes that write() makes, where they lie already, else copied. `value` must stay as it is while `into` is
  /// read. `into` has a multiple of limits::payload_alignment bytes before. Throws as size_of().
  virtual void gather(const payload& value, gathered_bytes& into) const { write(value, into.own(size_of(value))); }

  /// Takes the bytes as untrusted: all sizes are checked before they are used, nothing is allocated in proportion to
  /// what they claim. `from` starts at a multiple of limits::payload_alignment and stays as it is while `owner` lives;
  /// the payload views it and keeps `owner` for as long as any of its tensors lives. Errors: E0701, E0702.
  [[nodiscard]] virtual expected<payload_ptr> read(std::span<const std::byte> from,
                                                   std::shared_ptr<const void> owner) const = 0;
};

}  // namespace troupe
