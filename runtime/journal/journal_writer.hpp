#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include "messages/score.hpp"
#include "runtime/journal/journal_format.hpp"
#include "runtime/journal/journal_tail.hpp"
#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Appends states to an open journal. A thread of its own writes what came within limits::journal_write_interval and
/// syncs it every limits::journal_sync_interval, so that who folds does not wait for the disk. Any thread may append
/// and close. What could not be written is E0803 from then on; the file then ends with a whole record or a cut one,
/// which a reader leaves out.
class journal_writer final : public journal_appender {
 public:
  /// E0614 if the system gives no thread; else as the constructor.
  [[nodiscard]] static expected<std::shared_ptr<journal_writer>> start(unique_fd file, std::string path);
  /// Writes behind the descriptor's position; what it locks stays locked until close() or the end. Without a thread
  /// every append() and close() is E0614.
  journal_writer(unique_fd file, std::string path);
  /// Closes, and keeps an error to itself.
  ~journal_writer() override;

  /// Waits only while limits::journal_queue_bytes_max wait for the disk, and at most limits::journal_stall_max. Does
  /// nothing after close().
  [[nodiscard]] expected<void> append(const score& state) override;
  /// Waits until the record is in the file, at most limits::journal_stall_max. What came before it is in the file
  /// then as well. E0803 after close(), as a decision without its record must not be told.
  [[nodiscard]] expected<void> append(const step_record& step) override;
  /// Waits until all that was appended is on the disk, at most limits::journal_stall_max.
  [[nodiscard]] expected<void> sync();
  /// In place of ::write, for faults. Before the first append().
  using write_function = std::function<ssize_t(int fd, const void* from, std::size_t size)>;
  void write_with(write_function write);
  /// Writes and syncs the rest. May be called again.
  [[nodiscard]] expected<void> close();

 private:
  /// A file of the operating system.
  class open_file final : public journal_file {
   public:
    explicit open_file(unique_fd file) : file_(std::move(file)) {}
    [[nodiscard]] int write(std::span<const std::uint8_t> content) override;
    [[nodiscard]] int sync() override;
    void close() { file_.reset(); }
    void write_with(write_function write) { write_ = std::move(write); }

   private:
    unique_fd file_;
    write_function write_ = ::write;
  };

  expected<void> wait_for_room(std::unique_lock<std::mutex>& lock);
  void work();
  void keep_failure(int reason);

  std::string path_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable room_;
  std::condition_variable written_;
  journal_format::bytes queue_;
  /// Bytes that ever came into the queue, those of them that are in the file, and those that are waited for.
  std::uint64_t bytes_queued_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t bytes_awaited_ = 0;
  /// Bytes that are on the disk, where sync() waits for it.
  std::uint64_t bytes_synced_ = 0;
  bool sync_asked_ = false;
  bool closing_ = false;
  std::optional<error> failure_;
  open_file file_;
  std::mutex joining_;
  std::thread thread_;
};

}  // namespace troupe
