#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/join/join_ticket.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Seconds since 1970 in UTC. Called from any thread.
using unix_clock = std::function<std::int64_t()>;
[[nodiscard]] std::int64_t unix_now();

/// Why a ticket was not accepted.
struct join_refusal {
  /// What the untrusted peer may be told: E0707, the same for every cause.
  error outward;
  /// For the driver's log: E0707 with the cause. Contains no secret, and a name only if it is one of a node.
  error inward;
};

/// The driver's side of join tickets: one per node, each redeemed once. Of a secret it keeps the hash alone. All
/// members from any thread.
class ticket_book {
 public:
  explicit ticket_book(join_target target, unix_clock clock = unix_now);

  /// The ticket of a node that has none yet. It is void from `lifetime` on; at most limits::credentials_valid_after,
  /// for which the authority is valid. E0404 for a text that is no name of a node, a node that has one, and a lifetime
  /// outside its range; E0613 for more than limits::join_tickets_max nodes; E0614 without random bits.
  [[nodiscard]] expected<join_ticket> issue(std::string_view node, std::chrono::seconds lifetime);

  /// Another ticket for a node, whose agent was restarted, say; the one before is void, redeemed or not. E0404 for a
  /// node that has none; otherwise as issue().
  [[nodiscard]] expected<join_ticket> replace(std::string_view node, std::chrono::seconds lifetime);

  /// Accepts the secret of a node's latest ticket, once and before it expires; again only for the same text of a
  /// request for a certificate, whose first answer may have been lost: it is for a key that the node alone has. Wrong
  /// secrets change nothing: 256 bits are not found by trying, and a peer that could make a ticket void would keep its
  /// node out. The time that this takes does not depend on the secrets.
  [[nodiscard]] tl::expected<void, join_refusal> redeem(std::string_view node, std::span<const std::uint8_t> secret,
                                                        std::string_view request);
  /// Whether redeem() would accept it, from a node that has not joined; the ticket stays as it is.
  [[nodiscard]] tl::expected<void, join_refusal> check(std::string_view node, std::span<const std::uint8_t> secret);

 private:
  using digest = std::array<std::uint8_t, 32>;
  struct entry {
    digest secret{};
    std::int64_t expires_unix_seconds = 0;
    /// The digest of the request for which it was redeemed.
    std::optional<digest> used_for;
  };
  static expected<digest> digest_of(std::span<const std::uint8_t> secret);
  /// With the mutex locked. Gives the ticket.
  tl::expected<entry*, join_refusal> judge(std::string_view node, std::span<const std::uint8_t> secret,
                                           const digest& shown, const std::optional<digest>& request);
  expected<join_ticket> put(std::string_view node, std::chrono::seconds lifetime, bool is_first);
  expected<void> admit(std::string_view node, bool is_first) const;

  const join_target target_;
  const unix_clock clock_;
  std::mutex mutex_;
  std::map<std::string, entry, std::less<>> entries_;
};

}  // namespace troupe
