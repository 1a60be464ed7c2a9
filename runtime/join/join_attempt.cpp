#include "runtime/join/join_attempt.hpp"

#include <cstdlib>
#include <optional>
#include <utility>

#include <asio/io_context.hpp>

#include "messages/try.hpp"
#include "runtime/edge/tcp/connection.hpp"
#include "runtime/edge/tcp/edge_errors.hpp"
#include "runtime/edge/tcp/handshake.hpp"
#include "runtime/join/authority_check.hpp"
#include "runtime/join/peer_name.hpp"

namespace troupe {
namespace {

std::string in_large_units(std::int64_t seconds) {
  constexpr std::int64_t minute = 60, hour = 60 * minute, day = 24 * hour;
  if (seconds < 2 * minute) return std::to_string(seconds) + " s";
  if (seconds < 2 * hour) return std::to_string(seconds / minute) + " min";
  if (seconds < 2 * day) return std::to_string(seconds / hour) + " h";
  return std::to_string(seconds / day) + " days";
}

/// A ticket is read soon after it was made, or some time later, and never before.
error wrong_time(const join_ticket& ticket, std::int64_t now) {
  const std::int64_t ahead = now - ticket.issued_unix_seconds;
  const std::string difference = in_large_units(std::abs(ahead));
  return {error_code::wire_handshake,
          {},
          "the driver's certificate is not valid now: this node's clock is " + difference +
              (ahead < 0 ? " behind the driver's" : " ahead of the driver's, or the ticket is so old"),
          "Set the clocks of this node and of the driver's right, and launch again"};
}

/// The node's side of the connection.
class joining_node final : public connection_role {
 public:
  joining_node(const secret_text& request, const chain_verdict& verdict, error wrong_time)
      : request_(request), verdict_(verdict), wrong_time_(std::move(wrong_time)) {}

  expected<void> on_handshake(connection& from) override {
    has_shaken_hands_ = true;
    own_address_ = from.own_address();
    const auto name = TROUPE_TRY(peer_name_of(from.peer_certificate()));
    TROUPE_TRY(check_peer("handshake", name.node(), std::string{}));
    from.permit_payloads(limits::join_message_bytes_max);
    return {};
  }
  std::shared_ptr<aligned_buffer> place_for(std::uint64_t bytes) override {
    auto place = std::make_shared<aligned_buffer>();
    return place->reserve(bytes) ? place : nullptr;
  }
  expected<bool> next(outgoing_frame& out) override {
    if (std::exchange(is_said_, true)) return false;
    out.begin(join_frame{request_.view().size()}, std::as_bytes(std::span(request_.view())));
    return true;
  }
  expected<void> on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                          std::shared_ptr<aligned_buffer>) override {
    if (!std::holds_alternative<join_frame>(head)) return unexpected_frame("no answer to a request to join");
    answer_ = read_join_answer(payload);
    from.drop();
    return {};
  }
  void rejected() override { is_rejected_ = true; }
  void lost(const error& why, const std::string&) override { answer_ = tl::make_unexpected(judged(why)); }

  [[nodiscard]] join_attempt outcome(const std::string& where) const {
    join_attempt made{answer_.value_or(fail(error_code::peer_lost, {}, "no answer")), is_refusal_,
                      verdict_ == chain_verdict::not_valid_now, own_address_};
    if (!made.answer) made.answer.error().where = "joining at " + where;
    return made;
  }

 private:
  error judged(const error& why) {
    if (verdict_ == chain_verdict::other_authority) {
      return refuse_peer({}, "the certificate of its authority is not the one of the join ticket").value();
    }
    if (verdict_ == chain_verdict::not_valid_now) return wrong_time_;
    if (verdict_ == chain_verdict::unusable)
      return refuse_peer({}, "its certificate is none of the authority of the join ticket").value();
    if (!has_shaken_hands_) return {error_code::peer_lost, {}, why.cause, {}};
    if (!is_said_ || why.code != error_code::peer_lost) return why;
    is_refusal_ = is_rejected_;
    if (!is_refusal_) return {error_code::peer_lost, {}, "the driver had no room for this connection, or ended", {}};
    return {error_code::wire_handshake,
            {},
            "the driver closed the connection instead of an answer: it refuses",
            "Look in the driver's log for the cause, and join with a new ticket: one is good once, and expires"};
  }

  const secret_text& request_;
  const chain_verdict& verdict_;
  const error wrong_time_;
  std::optional<expected<join_answer>> answer_;
  std::string own_address_;
  bool has_shaken_hands_ = false;
  bool is_said_ = false;
  bool is_rejected_ = false;
  bool is_refusal_ = false;
};

}  // namespace

join_attempt try_to_join(const std::string& address, const join_ticket& ticket, const secret_text& request,
                         std::chrono::milliseconds at_most, std::int64_t now) {
  const join_target& target = ticket.target;
  std::error_code failed;
  const asio::ip::tcp::endpoint to(asio::ip::make_address(address, failed), target.port);
  if (failed) return {fail(error_code::config_bad_value, "address " + address, "not a numeric address")};
  chain_verdict verdict = chain_verdict::right;
  const auto tls = tls_context::make_nameless([&](x509_store_ctx_st* chain) {
    verdict = judge_chain(chain, target.authority, now);
    return verdict == chain_verdict::right;
  });
  if (!tls) return {tl::make_unexpected(tls.error())};
  const auto node = std::make_shared<joining_node>(request, verdict, wrong_time(ticket, now));
  frame_traffic traffic;
  asio::io_context io;
  const connection_limits limits{at_most, at_most, at_most, limits::join_message_bytes_max};
  std::make_shared<connection>((*tls)->stream(new_tcp_socket(io.get_executor(), to)), limits, traffic, node,
                               [](connection&) {})
      ->dial(to);
  // Until the connection has ended: its own timer is the deadline.
  io.run();
  return node->outcome(address + ":" + std::to_string(target.port));
}

}  // namespace troupe
