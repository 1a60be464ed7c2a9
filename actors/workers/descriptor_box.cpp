#include "actors/workers/descriptor_box.hpp"

#include <cerrno>
#include <utility>

#include <poll.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {

expected<void> descriptor_box::receive_all() {
  for (;;) {
    auto input = TROUPE_TRY(channel_.receive());
    if (input.status == channel_status::closed) return {};
    if (input.status == channel_status::empty) {
      pollfd readable{channel_.fd(), POLLIN, 0};
      static_cast<void>(::poll(&readable, 1, -1));
      continue;
    }
    const std::lock_guard lock{mutex_};
    waiting_.insert_or_assign(std::move(input.message.tag), std::move(input.message.fds));
    came_.notify_all();
  }
}

expected<std::vector<unique_fd>> descriptor_box::take(const std::string& tag, std::size_t count) {
  std::unique_lock lock{mutex_};
  if (!came_.wait_for(lock, limits::channel_timeout, [&] { return waiting_.contains(tag); })) {
    return fail(error_code::wire_malformed, "channel", "no descriptors came for \"" + tag + "\"");
  }
  auto found = std::move(waiting_.extract(tag).mapped());
  if (found.size() != count) {
    return fail(error_code::wire_malformed, "channel", "\"" + tag + "\" came with another number of descriptors");
  }
  return found;
}

}  // namespace troupe
