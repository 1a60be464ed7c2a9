#include "runtime/link/link_acceptor.hpp"

#include <map>
#include <utility>

#include "runtime/edge/tcp/handshake.hpp"
#include "runtime/link/link_end.hpp"

namespace troupe {
namespace {

/// Says its first word when it is started: a node sends nothing before.
class accepted_link final : public link_end {
 public:
  accepted_link(std::shared_ptr<link_core> core, std::weak_ptr<connection> from, std::chrono::milliseconds silence)
      : link_end(std::move(core), from), from_(std::move(from)), silence_(silence) {}

 protected:
  expected<std::shared_ptr<connection>> connect() override {
    auto there = from_.lock();
    if (there == nullptr) return fail(error_code::peer_lost, {}, "connection closed");
    talk(link_frame{static_cast<std::uint32_t>(silence_.count())});
    return there;
  }
  expected<bool> greet(connection&, const frame& head) override {
    if (std::holds_alternative<ping_frame>(head)) return false;
    return fail(error_code::wire_malformed, "control plane", "a message before the answer to the link");
  }

 private:
  const std::weak_ptr<connection> from_;
  const std::chrono::milliseconds silence_;
};

class link_acceptor final : public peer_admission {
 public:
  link_acceptor(const liveness& times, std::function<void(node_link)> on_link)
      : times_(times), on_link_(std::move(on_link)) {}

  expected<void> admit(connection& from, const frame& first, std::span<const std::byte>) override {
    if (!from.peer_node() || from.peer_node()->empty())
      return refuse_peer("link", "it is no node, but has the driver's certificate");
    if (std::get<link_frame>(first).silence_ms) return refuse_peer("link", "it says what the driver has to say");
    if (core_ == nullptr) core_ = std::make_shared<link_core>(from.executor());
    auto made = std::make_shared<accepted_link>(core_, from.weak_from_this(), times_.timeout);
    core_->know(made);
    from.assume(made, limits_of(times_, limits::tcp_handshake_timeout));
    take_the_place(*from.peer_node(), made);
    if (on_link_) on_link_({*from.peer_node(), from.peer_address(), made});
    return {};
  }

  void stopped() noexcept override {
    if (core_) core_->cut();
  }

 private:
  void take_the_place(const std::string& node, const std::shared_ptr<link_end>& made) {
    const auto before = std::exchange(links_[node], made).lock();
    if (before && !before->is_lost()) before->end({error_code::peer_lost, {}, "its node has made another link", {}});
  }

  const liveness times_;
  const std::function<void(node_link)> on_link_;
  // The I/O thread; after its end the one that stops the endpoint.
  std::shared_ptr<link_core> core_;
  /// The last of each node that has a certificate of the job.
  std::map<std::string, std::weak_ptr<link_end>> links_;
};

}  // namespace

std::shared_ptr<peer_admission> make_link_acceptor(const liveness& times, std::function<void(node_link)> on_link) {
  return std::make_shared<link_acceptor>(times, std::move(on_link));
}

}  // namespace troupe
