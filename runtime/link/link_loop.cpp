#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

#include "messages/try.hpp"
#include "runtime/link/dialled_link.hpp"
#include "runtime/link/inherited_link.hpp"
#include "runtime/os/errno_text.hpp"

namespace troupe {

link_loop::link_loop(std::unique_ptr<link_thread> thread) : thread_(std::move(thread)) {}

link_loop::~link_loop() = default;

expected<std::unique_ptr<link_loop>> link_loop::create(const liveness& times) {
  auto thread = std::make_unique<link_thread>(times);
  TROUPE_TRY(thread->run());
  return std::unique_ptr<link_loop>(new link_loop(std::move(thread)));
}

std::shared_ptr<message_link> link_loop::open(unique_fd socket, link_side side) {
  auto made = std::make_shared<inherited_link>(*thread_, std::move(socket), side);
  thread_->core->know(made);
  return made;
}

expected<std::shared_ptr<message_link>> link_loop::dial(const std::string& address, std::uint16_t port,
                                                        const tls_credentials& own, std::chrono::milliseconds at_most) {
  std::error_code failed;
  const auto to = asio::ip::make_address(address, failed);
  if (failed)
    return fail(error_code::config_bad_value, "address " + address, "not a numeric address", "Resolve names before");
  auto tls = TROUPE_TRY(tls_context::make(own));
  auto made = std::make_shared<dialled_link>(*thread_, asio::ip::tcp::endpoint(to, port), std::move(tls), at_most);
  thread_->core->know(made);
  return made;
}

expected<std::pair<unique_fd, unique_fd>> make_link_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail(error_code::process_failed, "control plane", "socketpair: " + errno_text(),
                "raise the limit of open files (ulimit -n)");
  }
  return std::pair(unique_fd(ends[0]), unique_fd(ends[1]));
}

}  // namespace troupe
