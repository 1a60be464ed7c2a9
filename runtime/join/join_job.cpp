#include "runtime/join/join_job.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/join/host_resolver.hpp"
#include "runtime/join/join_attempt.hpp"
#include "runtime/join/node_identity.hpp"

namespace troupe {
namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// One call of join_job().
class joining {
 public:
  joining(const join_ticket& ticket, const std::string& version, node_identity identity, milliseconds at_most,
          const unix_clock& clock)
      : ticket_(ticket), version_(version), identity_(std::move(identity)), at_most_(at_most), clock_(clock) {
    for (const std::string& each : ticket.target.addresses) hosts_.emplace_back(each);
  }

  expected<joined_node> run() {
    const auto asked = TROUPE_TRY(identity_.request());
    const auto request = TROUPE_TRY(to_bytes(join_request{version_, ticket_.node, ticket_.secret, asked}));
    milliseconds pause = limits::join_retry_min;
    for (;;) {
      for (host_resolver& host : hosts_) {
        if (auto done = try_host(host, request)) return std::move(*done);
      }
      if (left() <= limits::join_retry_min) return give_up();
      // the last try is shortly before the end, however long the pause has become
      std::this_thread::sleep_for(std::min(pause, left() - limits::join_retry_min));
      pause = std::min(2 * pause, limits::join_retry_max);
    }
  }

 private:
  [[nodiscard]] milliseconds left() const { return std::chrono::ceil<milliseconds>(give_up_at_ - clock_type::now()); }
  [[nodiscard]] milliseconds time_for_one() const {
    return std::clamp(left(), milliseconds(1), limits::join_attempt_timeout);
  }

  /// Nothing: it is worth to go on.
  std::optional<expected<joined_node>> try_host(host_resolver& host, const secret_text& request) {
    if (left() <= milliseconds(0)) return std::nullopt;
    const auto found = host.find(clock_type::now() + time_for_one());
    if (!found) {
      note(found.error());
      return std::nullopt;
    }
    for (const std::string& address : *found) {
      if (left() <= milliseconds(0)) return std::nullopt;
      if (auto done = try_address(address, request)) return done;
    }
    return std::nullopt;
  }

  std::optional<expected<joined_node>> try_address(const std::string& address, const secret_text& request) {
    const join_attempt tried = try_to_join(address, ticket_, request, time_for_one(), clock_());
    if (tried.answer) return finish(address, tried);
    note(tried.answer.error());
    if (tried.is_wrong_time) return tl::make_unexpected(tried.answer.error());
    if (!tried.is_refusal || ++refusals_ < limits::join_refusals_max) return std::nullopt;
    return tl::make_unexpected(tried.answer.error());
  }

  expected<joined_node> finish(const std::string& address, const join_attempt& tried) const {
    const join_answer& said = *tried.answer;
    if (said.version != version_) {
      return fail(error_code::worker_mismatch, "node " + ticket_.node,
                  "it runs " + version_ + ", and the driver " + said.version,
                  "Install the same version of Troupe on all nodes");
    }
    TROUPE_TRY(check_authority(said.authority, ticket_.target.authority));
    const auto name = TROUPE_TRY(peer_name::of_node(ticket_.node));
    return identity_.credentials(said.certificate, said.authority, name).map([&](tls_credentials made) {
      return joined_node{ticket_.node, std::move(made), address, ticket_.target.port, tried.own_address};
    });
  }

  /// An answer of a driver or another peer says more than that there was no answer.
  void note(const error& why) {
    if (!noted_ || why.code != error_code::peer_lost || noted_->code == error_code::peer_lost) noted_ = why;
  }

  expected<joined_node> give_up() const {
    const std::string time = std::to_string(at_most_.count()) + " ms";
    if (!noted_) return fail(error_code::peer_lost, "joining", "no time was left to reach the driver");
    error told = *noted_;
    told.cause = "not joined within " + time + ": " + told.cause;
    if (told.fix.empty()) told.fix = "Check that the driver runs, and that this node reaches its address and port";
    return tl::make_unexpected(std::move(told));
  }

  const join_ticket& ticket_;
  const std::string& version_;
  const node_identity identity_;
  const milliseconds at_most_;
  const unix_clock& clock_;
  const clock_type::time_point give_up_at_ = clock_type::now() + at_most_;
  std::vector<host_resolver> hosts_;
  std::optional<error> noted_;
  std::uint32_t refusals_ = 0;
};

}  // namespace

expected<joined_node> join_job(const join_ticket& ticket, const std::string& version, milliseconds at_most,
                               const unix_clock& clock) {
  TROUPE_CHECK(is_version(version), "a version that the driver can read");
  auto identity = TROUPE_TRY(node_identity::make());
  return joining(ticket, version, std::move(identity), at_most, clock).run();
}

}  // namespace troupe
