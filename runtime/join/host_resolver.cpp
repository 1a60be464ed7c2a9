#include "runtime/join/host_resolver.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>

#include <netdb.h>
#include <sys/socket.h>

#include "messages/try.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

using found_addresses = std::vector<std::string>;

tl::unexpected<error> unresolved(const std::string& host, const std::string& cause) {
  return fail(error_code::peer_lost, "driver's address " + host, cause,
              "Check that the name of the driver's host resolves on this node");
}

expected<found_addresses> look_up(const std::string& host, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); failed != 0)
    return unresolved(host, std::string("it does not resolve: ") + ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, ::freeaddrinfo);
  found_addresses found;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    if (std::ranges::find(found, text.data()) == found.end()) found.emplace_back(text.data());
  }
  if (found.empty()) return unresolved(host, "it has no address");
  return found;
}

}  // namespace

struct host_resolver::lookup {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<expected<found_addresses>> outcome;
};

expected<found_addresses> host_resolver::find(std::chrono::steady_clock::time_point until) {
  if (auto numeric = look_up(host_, AI_NUMERICHOST)) return numeric;
  if (lookup_ == nullptr) {
    auto begun = std::make_shared<lookup>();
    auto thread = TROUPE_TRY(start_thread("resolver", [begun, host = host_] {
      auto found = look_up(host, 0);
      const std::lock_guard lock(begun->mutex);
      begun->outcome = std::move(found);
      begun->done.notify_all();
    }));
    thread.detach();
    lookup_ = std::move(begun);
  }
  std::unique_lock lock(lookup_->mutex);
  if (!lookup_->done.wait_until(lock, until, [&] { return lookup_->outcome.has_value(); }))
    return unresolved(host_, "no answer from the resolver yet");
  expected<found_addresses> found = std::move(*lookup_->outcome);
  lock.unlock();
  lookup_ = nullptr;
  return found;
}

}  // namespace troupe
