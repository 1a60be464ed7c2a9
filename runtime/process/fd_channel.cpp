#include "runtime/process/fd_channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/process/adopt_socket.hpp"

namespace troupe {
namespace {

constexpr const char* channel_place = "channel between driver and worker";
constexpr std::size_t fds_bytes_max = limits::channel_fds_max * sizeof(int);
// Exactly as much as a message in order needs, so that the kernel itself cuts off the excess.
constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(fds_bytes_max);

tl::unexpected<error> refused(std::string cause) {
  return fail(error_code::wire_handshake, channel_place, std::move(cause),
              "let only the driver and its workers use it");
}

expected<void> ask_for_credentials(int socket) {
  const int on = 1;
  if (::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0) return {};
  return fail(error_code::process_failed, channel_place, "setsockopt(SO_PASSCRED): " + errno_text());
}

/// Everything that the kernel put beside the tag. The descriptors are owned at once, so that none leaks.
struct control_data {
  std::vector<unique_fd> fds;
  std::optional<ucred> sender;
};

control_data take_control(msghdr& header) {
  control_data taken;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    const std::size_t bytes = part->cmsg_len - CMSG_LEN(0);
    if (part->cmsg_type == SCM_RIGHTS) {
      std::array<int, limits::channel_fds_max> numbers{};
      const std::size_t count = std::min(bytes / sizeof(int), numbers.size());
      std::memcpy(numbers.data(), CMSG_DATA(part), count * sizeof(int));
      for (std::size_t i = 0; i < count; ++i) taken.fds.emplace_back(numbers.at(i));
    } else if (part->cmsg_type == SCM_CREDENTIALS && bytes >= sizeof(ucred)) {
      std::memcpy(&taken.sender.emplace(), CMSG_DATA(part), sizeof(ucred));
    }
  }
  return taken;
}

}  // namespace

expected<std::pair<fd_channel, unique_fd>> fd_channel::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail(error_code::process_failed, channel_place, "socketpair: " + errno_text(),
                "raise the limit of open files (ulimit -n)");
  }
  unique_fd mine(ends[0]);
  unique_fd theirs(ends[1]);
  for (const int end : ends) {
    TROUPE_TRY(ask_for_credentials(end));
  }
  return std::pair(fd_channel(std::move(mine)), std::move(theirs));
}

expected<fd_channel> fd_channel::adopt(unique_fd socket, pid_t maker) {
  auto adopted = TROUPE_TRY(adopt_socket(std::move(socket), SOCK_SEQPACKET, maker, channel_place));
  TROUPE_TRY(ask_for_credentials(adopted.get()));
  fd_channel made(std::move(adopted));
  made.expect_sender(maker);
  return made;
}

expected<channel_status> fd_channel::send(std::string_view tag, std::span<const int> fds) {
  if (tag.empty() || tag.size() > limits::channel_tag_bytes_max || fds.size() > limits::channel_fds_max) {
    return fail(error_code::wire_too_large, channel_place,
                "a message of " + std::to_string(tag.size()) + " bytes and " + std::to_string(fds.size()) +
                    " descriptors, 1 to " + std::to_string(limits::channel_tag_bytes_max) + " and up to " +
                    std::to_string(limits::channel_fds_max) + " are allowed");
  }
  std::string bytes(tag);
  iovec text{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(fds_bytes_max)> control{};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  while (::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return channel_status::empty;
    if (errno == EPIPE || errno == ECONNRESET) return channel_status::closed;
    return fail(error_code::process_failed, channel_place, "sendmsg: " + errno_text());
  }
  return channel_status::done;
}

void fd_channel::refuse_more() noexcept {
  ::shutdown(socket_.get(), SHUT_RD);
}

expected<channel_input> fd_channel::receive() {
  std::array<char, limits::channel_tag_bytes_max> bytes{};
  iovec text{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<std::byte, control_bytes> control{};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return channel_input{};
  if (got < 0 && errno == ECONNRESET) return channel_input{channel_status::closed, {}};
  if (got < 0) return fail(error_code::process_failed, channel_place, "recvmsg: " + errno_text());
  control_data with = take_control(header);
  // The end is no packet and has no sender; an empty packet has one.
  if (got == 0 && !with.sender) return channel_input{channel_status::closed, {}};
  if (got == 0 || !with.sender || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return fail(error_code::wire_malformed, channel_place,
                "a message that is empty, too long, or has too many descriptors");
  }
  if (with.sender->uid != ::geteuid() || (sender_ && with.sender->pid != *sender_)) {
    return refused("a message from process " + std::to_string(with.sender->pid) + " of user " +
                   std::to_string(with.sender->uid));
  }
  return channel_input{channel_status::done, {{bytes.data(), static_cast<std::size_t>(got)}, std::move(with.fds)}};
}

}  // namespace troupe
