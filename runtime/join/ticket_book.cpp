#include "runtime/join/ticket_book.hpp"

#include <algorithm>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/join/node_name.hpp"

namespace troupe {
namespace {

tl::unexpected<error> cannot_issue(error_code code, std::string cause, std::string fix) {
  return fail(code, "join ticket of a node", std::move(cause), std::move(fix));
}

tl::unexpected<join_refusal> refuse(std::string_view node, std::string cause) {
  const error outward{error_code::wire_handshake, "join request", "it was refused",
                      "Ask the driver for another ticket"};
  // A name that an untrusted peer chose could otherwise write lines into the log.
  const std::string who = is_node_name(node) ? "node " + std::string(node) : std::string("a node without a name");
  return tl::make_unexpected(join_refusal{
      outward, error{error_code::wire_handshake, "join request of " + who, std::move(cause), outward.fix}});
}

}  // namespace

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

ticket_book::ticket_book(join_target target, unix_clock clock) : target_(std::move(target)), clock_(std::move(clock)) {}

expected<join_ticket> ticket_book::issue(std::string_view node, std::chrono::seconds lifetime) {
  return put(node, lifetime, true);
}

expected<join_ticket> ticket_book::replace(std::string_view node, std::chrono::seconds lifetime) {
  return put(node, lifetime, false);
}

expected<ticket_book::digest> ticket_book::digest_of(std::span<const std::uint8_t> secret) {
  digest made{};
  if (EVP_Digest(secret.data(), secret.size(), made.data(), nullptr, EVP_sha256(), nullptr) == 1) return made;
  ERR_clear_error();
  return fail(error_code::internal, "join ticket", "OpenSSL computes no SHA-256",
              "check the installation of OpenSSL 3");
}

expected<void> ticket_book::admit(std::string_view node, bool is_first) const {
  const bool has_one = entries_.find(node) != entries_.end();
  if (is_first && has_one) {
    return cannot_issue(error_code::config_bad_value, "node " + std::string(node) + " has one",
                        "Name each node once, or replace its ticket");
  }
  if (!is_first && !has_one) {
    return cannot_issue(error_code::config_bad_value, "node " + std::string(node) + " has none to be replaced",
                        "Issue its first ticket");
  }
  if (is_first && entries_.size() >= limits::join_tickets_max) {
    return cannot_issue(error_code::queue_full,
                        std::to_string(limits::join_tickets_max) + " nodes have tickets, and no more are permitted",
                        "Use fewer nodes");
  }
  return {};
}

expected<join_ticket> ticket_book::put(std::string_view node, std::chrono::seconds lifetime, bool is_first) {
  if (!is_node_name(node)) {
    return cannot_issue(error_code::config_bad_value, "the name of the node is none",
                        "Name the node by letters, digits, '.', '-', '_' and ':'");
  }
  if (lifetime < std::chrono::seconds(1) || lifetime > limits::credentials_valid_after) {
    return cannot_issue(error_code::config_bad_value,
                        "it would be valid for " + std::to_string(lifetime.count()) + " s",
                        "Make it valid for a second at least, and for no longer than the certificates of the job");
  }
  const std::int64_t now = clock_();
  const std::int64_t expiry = now + lifetime.count();
  auto secret = TROUPE_TRY(join_secret::make());
  const auto hashed = TROUPE_TRY(digest_of(secret.bytes()));
  const std::lock_guard lock(mutex_);
  TROUPE_TRY(admit(node, is_first));
  entries_.insert_or_assign(std::string(node), entry{hashed, expiry, std::nullopt});
  return join_ticket{target_, std::string(node), secret, now, expiry};
}

tl::expected<ticket_book::entry*, join_refusal> ticket_book::judge(std::string_view node,
                                                                   std::span<const std::uint8_t> secret,
                                                                   const digest& shown,
                                                                   const std::optional<digest>& request) {
  const std::int64_t now = clock_();
  static const entry none;
  const auto found = is_node_name(node) ? entries_.find(node) : entries_.end();
  const entry& judged = found == entries_.end() ? none : found->second;
  const bool is_right = static_cast<int>(secret.size() == join_secret::size) &
                        static_cast<int>(CRYPTO_memcmp(shown.data(), judged.secret.data(), shown.size()) == 0);
  if (found == entries_.end()) return refuse(node, "no ticket was issued for it");
  entry& ticket = found->second;
  if (ticket.used_for && ticket.used_for != request) return refuse(node, "its ticket was redeemed before");
  if (now >= ticket.expires_unix_seconds)
    return refuse(node, "its ticket expired " + std::to_string(now - ticket.expires_unix_seconds) + " s ago");
  if (!is_right) return refuse(node, "wrong secret, or that of a ticket that was replaced");
  return &ticket;
}

// A longer secret is wrong however it ends, and hashing it would take an untrusted peer's time.
tl::expected<void, join_refusal> ticket_book::redeem(std::string_view node, std::span<const std::uint8_t> secret,
                                                     std::string_view request) {
  const auto shown = digest_of(secret.first(std::min(secret.size(), join_secret::size)));
  if (!shown) return refuse(node, shown.error().cause);
  const auto asked = digest_of({reinterpret_cast<const std::uint8_t*>(request.data()), request.size()});
  if (!asked) return refuse(node, asked.error().cause);
  const std::lock_guard lock(mutex_);
  return judge(node, secret, *shown, *asked).map([&](entry* ticket) { ticket->used_for = *asked; });
}

tl::expected<void, join_refusal> ticket_book::check(std::string_view node, std::span<const std::uint8_t> secret) {
  const auto shown = digest_of(secret.first(std::min(secret.size(), join_secret::size)));
  if (!shown) return refuse(node, shown.error().cause);
  const std::lock_guard lock(mutex_);
  return judge(node, secret, *shown, std::nullopt).map([](entry*) {});
}

}  // namespace troupe
