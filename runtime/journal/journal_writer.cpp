#include "runtime/journal/journal_writer.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

using steady = std::chrono::steady_clock;

error stalled(const std::string& path) {
  return {error_code::journal_unwritable, path, "the disk takes nothing more", "name a file on another disk"};
}

expected<void> check_words(const std::string& path, std::size_t words, const std::string& what) {
  if (words <= limits::score_words_max) return {};
  return fail(
      error_code::journal_unwritable, path,
      what + " has " + std::to_string(words) + " words, a record holds " + std::to_string(limits::score_words_max),
      "ask for metrics with less classes, or leave the journal out");
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
  TROUPE_TRY(check_words(path_, state.words.size(), "the metrics' state of a micro-batch"));
  std::unique_lock lock(mutex_);
  TROUPE_TRY(wait_for_room(lock));
  if (closing_) return {};
  const bool was_empty = queue_.empty();
  const std::size_t before = queue_.size();
  journal_format::append_state(queue_, state);
  bytes_queued_ += queue_.size() - before;
  if (was_empty || queue_.size() >= limits::journal_queue_bytes_max / 2) more_.notify_one();
  return {};
}

expected<void> journal_writer::append(const step_record& step) {
  TROUPE_TRY(check_words(path_, step.folded.size(), "the metrics' state of a step"));
  std::unique_lock lock(mutex_);
  TROUPE_TRY(wait_for_room(lock));
  if (closing_) return fail(error_code::journal_unwritable, path_, "it is closed", "start a new run");
  const std::size_t before = queue_.size();
  journal_format::append_step(queue_, step);
  bytes_queued_ += queue_.size() - before;
  const std::uint64_t end = bytes_awaited_ = bytes_queued_;
  more_.notify_one();
  const auto is_done = [&] { return failure_ || bytes_written_ >= end; };
  if (!written_.wait_for(lock, limits::journal_stall_max, is_done)) failure_ = stalled(path_);
  if (failure_) return tl::make_unexpected(*failure_);
  return {};
}

expected<void> journal_writer::sync() {
  std::unique_lock lock(mutex_);
  if (closing_ && !failure_) return {};
  const std::uint64_t end = bytes_queued_;
  sync_asked_ = true;
  more_.notify_one();
  const auto is_done = [&] { return failure_ || bytes_synced_ >= end; };
  if (!written_.wait_for(lock, limits::journal_stall_max, is_done)) failure_ = stalled(path_);
  if (failure_) return tl::make_unexpected(*failure_);
  return {};
}

expected<void> journal_writer::wait_for_room(std::unique_lock<std::mutex>& lock) {
  const auto may_go_on = [this] { return failure_ || closing_ || queue_.size() < limits::journal_queue_bytes_max; };
  if (!room_.wait_for(lock, limits::journal_stall_max, may_go_on)) failure_ = stalled(path_);
  if (failure_) return tl::make_unexpected(*failure_);
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
  file_.close();
  const std::lock_guard lock(mutex_);
  if (failure_) return tl::make_unexpected(*failure_);
  return {};
}

void journal_writer::work() {
  journal_format::bytes writing;
  journal_tail tail(file_);
  std::unique_lock lock(mutex_);
  const auto is_asked = [this] { return closing_ || sync_asked_ || !queue_.empty(); };
  const auto is_pressed = [this] {
    return closing_ || sync_asked_ || bytes_awaited_ > bytes_written_ ||
           queue_.size() >= limits::journal_queue_bytes_max / 2;
  };
  for (bool last = false; !last;) {
    const auto next_sync = tail.next_sync();
    next_sync ? static_cast<void>(more_.wait_until(lock, steady::time_point(*next_sync), is_asked))
              : more_.wait(lock, is_asked);
    // Several states in one write.
    if (is_asked()) more_.wait_for(lock, limits::journal_write_interval, is_pressed);
    writing.clear();
    writing.swap(queue_);
    const std::uint64_t end = bytes_queued_;
    last = closing_;
    const bool syncs = std::exchange(sync_asked_, false);
    lock.unlock();
    room_.notify_all();
    const int reason = tail.put(writing, last || syncs, steady_now());
    lock.lock();
    if (reason != 0) return keep_failure(reason);
    bytes_written_ = end;
    if (last || syncs) bytes_synced_ = end;
    written_.notify_all();
  }
}

// The writing thread looks at it only after an append(), which takes the mutex after this.
void journal_writer::write_with(write_function write) {
  const std::lock_guard lock(mutex_);
  file_.write_with(std::move(write));
}

int journal_writer::open_file::write(std::span<const std::uint8_t> content) {
  for (std::span<const std::uint8_t> rest = content; !rest.empty();) {
    const ssize_t written = write_(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Some file systems cannot sync and say EINVAL.
int journal_writer::open_file::sync() {
  return ::fdatasync(file_.get()) == 0 || errno == EINVAL ? 0 : errno;
}

void journal_writer::keep_failure(int reason) {
  failure_ = error{error_code::journal_unwritable, path_, std::strerror(reason),
                   "make room and go on with --resume, or name a file on another disk"};
  queue_.clear();
  room_.notify_all();
  written_.notify_all();
}

}  // namespace troupe
