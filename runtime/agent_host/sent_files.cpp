#include "runtime/agent_host/sent_files.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

tl::unexpected<error> cannot_read(const file_identity& file) {
  return fail(error_code::model_unreadable, file.path, "cannot be read: " + errno_text(), "check the path");
}

/// The next part.
expected<std::vector<std::byte>> read_part(int opened, const file_identity& file, std::uint64_t offset) {
  std::vector<std::byte> content(std::min<std::uint64_t>(file.size - offset, limits::blob_part_bytes));
  std::size_t got = 0;
  while (got < content.size()) {
    const auto count = ::pread(opened, content.data() + got, content.size() - got, static_cast<off_t>(offset + got));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_read(file);
    if (count == 0)
      return fail(error_code::worker_mismatch, file.path, "it became shorter while it was sent to another node",
                  "leave the file alone while it is evaluated");
    got += static_cast<std::size_t>(count);
  }
  return content;
}

}  // namespace

expected<void> sent_files::provide(const file_identity& file, time_point deadline, const std::stop_token& stop) {
  const std::lock_guard in_turn{in_turn_};
  std::uint64_t number = 0;
  {
    const std::lock_guard lock{mutex_};
    number = ++number_;
    size_ = file.size;
    last_ = {};
  }
  orders_.check({.number = number, .file = file});
  const patience how{file, deadline, stop};
  const auto found = TROUPE_TRY(wait_until(how, [](const answer& said) { return said.state != file_state::looking; }));
  return found.state == file_state::here ? expected<void>{} : send(number, how);
}

expected<void> sent_files::send(std::uint64_t number, const patience& how) {
  const unique_fd opened(::open(how.file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened) return cannot_read(how.file);
  for (std::uint64_t at = 0; at < how.file.size;) {
    TROUPE_TRY(wait_until(how, [at](const answer& said) { return at < said.bytes + limits::file_bytes_ahead_max; }));
    auto content = TROUPE_TRY(read_part(opened.get(), how.file, at));
    const std::size_t bytes = content.size();
    orders_.send({.number = number, .offset = at, .content = std::move(content)});
    at += bytes;
  }
  const auto kept = wait_until(how, [](const answer& said) { return said.state == file_state::here; });
  return kept ? expected<void>{} : tl::make_unexpected(kept.error());
}

/// As long as the agent gets on, it is waited for.
expected<sent_files::answer> sent_files::wait_until(const patience& how,
                                                    const std::function<bool(const answer&)>& done) {
  std::unique_lock lock{mutex_};
  answer seen = last_;
  auto until = std::min(how.deadline, steady_clock::now() + limits::file_stall_max);
  while (!loss_ && !done(last_)) {
    if (how.stop.stop_requested())
      return fail(error_code::call_cancelled, "node " + node_ + ", " + how.file.path, "it is not needed any more");
    if (std::exchange(seen, last_) != last_) {
      until = std::min(how.deadline, steady_clock::now() + limits::file_stall_max);
    } else if (steady_clock::now() >= until) {
      return fail(error_code::node_lost, "node " + node_ + ", " + how.file.path,
                  "the node does not get on with the file",
                  "look at the node's disk, and at the network between it and the driver");
    }
    changed_.wait_until(lock, how.stop, until, [&] { return loss_ || last_ != seen; });
  }
  if (loss_) return tl::make_unexpected(*loss_);
  return last_;
}

expected<void> sent_files::answered(const file_answer& said) {
  const std::lock_guard lock{mutex_};
  const answer next{static_cast<file_state>(said.state), said.bytes};
  if (said.number < number_) return {};
  if (said.number > number_ || next.state > file_state::here || next.bytes > size_ || next <= last_)
    return fail(error_code::wire_malformed, "file_answer", "no file was asked for like that");
  last_ = next;
  changed_.notify_all();
  return {};
}

void sent_files::lose(const error& why) {
  const std::lock_guard lock{mutex_};
  if (!loss_) loss_ = why;
  changed_.notify_all();
}

}  // namespace troupe
