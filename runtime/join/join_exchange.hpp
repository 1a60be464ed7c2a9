#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "runtime/join/join_secret.hpp"
#include <troupe/error.hpp>

/// What a node and the driver say when the node joins, each once, as payloads of `join` frames (docs/wire.md, to the
/// byte): at most limits::join_message_bytes_max. Threads: pure.
namespace troupe {

struct join_request {
  /// The version of the node's program (is_version()).
  std::string version;
  std::string node;
  join_secret secret;
  /// For a certificate (PEM).
  std::string request;
};

/// Without a certificate where the versions differ.
struct join_answer {
  std::string version;
  std::string certificate;
  std::string authority;
};

/// 1 to limits::join_version_bytes_max printable characters of ASCII.
[[nodiscard]] bool is_version(std::string_view text) noexcept;

/// E0701 where the texts are too long.
[[nodiscard]] expected<secret_text> to_bytes(const join_request& said);
[[nodiscard]] expected<secret_text> to_bytes(const join_answer& said);

/// Reads the words of an untrusted peer. Errors: E0702.
[[nodiscard]] expected<join_request> read_join_request(std::span<const std::byte> input);
[[nodiscard]] expected<join_answer> read_join_answer(std::span<const std::byte> input);

}  // namespace troupe
