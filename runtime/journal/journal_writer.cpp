#include "runtime/journal/journal_writer.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

using steady = std::chrono::steady_clock;

/// Some file systems cannot sync and say EINVAL.
int sync(int fd) {
  return ::fdatasync(fd) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace

journal_writer::journal_writer(unique_fd file, std::string path) : path_(std::move(path)), file_(std::move(file)) {
  auto thread = start_thread(path_, [this] { work(); });
  if (thread) {
    thread_ = std::move(*thread);
  } else {
    failure_ = thread.error();
  }
}

expected<std::shared_ptr<journal_writer>> journal_writer::start(unique_fd file, std::string path) {
  auto made = std::make_shared<journal_writer>(std::move(file), std::move(path));
  if (!made->thread_.joinable()) return tl::make_unexpected(*made->failure_);
  return made;
}

journal_writer::~journal_writer() {
  static_cast<void>(close());
}

expected<void> journal_writer::append(const score& state) {
  if (state.words.size() > limits::score_words_max) {
    return fail(error_code::journal_unwritable, path_,
                "the metrics' state of a micro-batch has " + std::to_string(state.words.size()) +
                    " words, a record holds " + std::to_string(limits::score_words_max),
                "ask for metrics with less classes, or leave the journal out");
  }
  std::unique_lock lock(mutex_);
  const auto may_go_on = [this] { return failure_ || closing_ || queue_.size() < limits::journal_queue_bytes_max; };
  if (!room_.wait_for(lock, limits::journal_stall_max, may_go_on)) {
    failure_ =
        error{error_code::journal_unwritable, path_, "the disk takes nothing more", "name a file on another disk"};
  }
  if (failure_) return tl::make_unexpected(*failure_);
  if (closing_) return {};
  const bool was_empty = queue_.empty();
  journal_format::append_state(queue_, state);
  if (was_empty || queue_.size() >= limits::journal_queue_bytes_max / 2) more_.notify_one();
  return {};
}

expected<void> journal_writer::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  more_.notify_one();
  room_.notify_all();
  const std::lock_guard one_joins(joining_);
  if (thread_.joinable()) thread_.join();
  file_.reset();
  const std::lock_guard lock(mutex_);
  if (failure_) return tl::make_unexpected(*failure_);
  return {};
}

void journal_writer::work() {
  journal_format::bytes writing;
  std::optional<steady::time_point> next_sync;
  std::unique_lock lock(mutex_);
  const auto is_asked = [this] { return closing_ || !queue_.empty(); };
  const auto is_pressed = [this] { return closing_ || queue_.size() >= limits::journal_queue_bytes_max / 2; };
  for (bool last = false; !last;) {
    next_sync ? static_cast<void>(more_.wait_until(lock, *next_sync, is_asked)) : more_.wait(lock, is_asked);
    // Several states in one write.
    if (is_asked()) more_.wait_for(lock, limits::journal_write_interval, is_pressed);
    writing.clear();
    writing.swap(queue_);
    last = closing_;
    const write_function write = write_;
    lock.unlock();
    room_.notify_all();
    int reason = write_out(writing, write);
    if (!writing.empty() && !next_sync) next_sync = steady::now() + limits::journal_sync_interval;
    if (reason == 0 && next_sync && (last || steady::now() >= *next_sync)) {
      reason = sync(file_.get());
      next_sync.reset();
    }
    lock.lock();
    if (reason != 0) return keep_failure(reason);
  }
}

void journal_writer::write_with(write_function write) {
  const std::lock_guard lock(mutex_);
  write_ = std::move(write);
}

int journal_writer::write_out(const journal_format::bytes& content, const write_function& write) const {
  for (std::span<const std::uint8_t> rest = content; !rest.empty();) {
    const ssize_t written = write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

void journal_writer::keep_failure(int reason) {
  failure_ = error{error_code::journal_unwritable, path_, std::strerror(reason),
                   "make room and go on with --resume, or name a file on another disk"};
  queue_.clear();
  room_.notify_all();
}

}  // namespace troupe
