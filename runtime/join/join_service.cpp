#include "runtime/join/join_service.hpp"

#include <utility>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/edge/tcp/connection.hpp"
#include "runtime/edge/tcp/edge_errors.hpp"
#include "runtime/join/join_exchange.hpp"

namespace troupe {
namespace {

/// One frame, and the end; within the time that the peer had for its handshake.
class join_reply final : public connection_role {
 public:
  explicit join_reply(secret_text text) : text_(std::move(text)) {}

  expected<void> on_frame(connection&, const frame&, std::span<const std::byte>,
                          std::shared_ptr<aligned_buffer>) override {
    return unexpected_frame("nothing follows a request to join");
  }
  expected<bool> next(outgoing_frame& out) override {
    if (std::exchange(is_said_, true)) return false;
    out.begin(join_frame{text_.view().size()}, std::as_bytes(std::span(text_.view())));
    return true;
  }
  [[nodiscard]] bool finished() const override { return is_said_; }
  // The node tries again.
  void lost(const error&, const std::string&) override {}

 private:
  const secret_text text_;
  bool is_said_ = false;
};

tl::unexpected<error> for_the_log(const join_refusal& refused) {
  return fail(refused.inward.code, {}, refused.inward.where + ": " + refused.inward.cause, refused.inward.fix);
}

class join_service final : public peer_admission {
 public:
  explicit join_service(join_service_options options) : options_(std::move(options)) {}

  expected<void> admit(connection& from, const frame&, std::span<const std::byte> payload) override {
    const auto asked = TROUPE_TRY(read_join_request(payload));
    return answer(asked).and_then([&](const join_answer& said) {
      return to_bytes(said).map([&](secret_text text) { from.pass_to(std::make_shared<join_reply>(std::move(text))); });
    });
  }
  void stopped() noexcept override {}

 private:
  /// Nothing of the request but its version is looked at before the secret is known to be right.
  expected<join_answer> answer(const join_request& asked) {
    if (asked.version != options_.version) return refuse_version(asked);
    const auto redeemed = options_.tickets->redeem(asked.node, asked.secret.bytes(), asked.request);
    if (!redeemed) return for_the_log(redeemed.error());
    auto certificate = TROUPE_TRY(options_.authority->issue(asked.request, asked.node));
    return join_answer{options_.version, std::move(certificate), options_.authority->certificate()};
  }

  expected<join_answer> refuse_version(const join_request& asked) {
    const auto known = options_.tickets->check(asked.node, asked.secret.bytes());
    if (!known) return for_the_log(known.error());
    if (options_.on_other_version) {
      options_.on_other_version({error_code::worker_mismatch, "node " + asked.node,
                                 "it runs " + asked.version + ", and the driver " + options_.version,
                                 "Install the same version of Troupe on all nodes"});
    }
    return join_answer{options_.version, {}, {}};
  }

  const join_service_options options_;
};

}  // namespace

std::shared_ptr<peer_admission> make_join_service(join_service_options options) {
  TROUPE_CHECK(options.tickets && options.authority && is_version(options.version), "what joining needs is there");
  return std::make_shared<join_service>(std::move(options));
}

}  // namespace troupe
