#include "runtime/journal/open_journal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/journal/journal_reader.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

tl::unexpected<error> exists_already(const std::string& path) {
  return fail(error_code::journal_unwritable, path, "it exists already",
              "add --resume (journal.resume) to go on with it, or name another file");
}

tl::unexpected<error> missing(const std::string& path) {
  return fail(error_code::journal_missing, path, "there is no such journal",
              "check the path, or leave --resume out to start");
}

expected<void> lock(int fd, const std::string& path) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return journal_unwritable(path, errno);
  return fail(error_code::journal_unwritable, path, "another process that is running writes it",
              "wait for its end, or name another file");
}

int write_all(int fd, std::span<const std::uint8_t> content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content = content.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Syncs the file and the directory that names it.
int sync_all(int fd, const std::string& path) {
  if (::fsync(fd) != 0 && errno != EINVAL) return errno;
  const fs::path parent = fs::path(path).parent_path();
  const unique_fd directory(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return errno;
  return ::fsync(directory.get()) == 0 || errno == EINVAL ? 0 : errno;
}

/// Files of the operating system.
class open_store final : public journal_store {
 public:
  open_store(int fd, const std::string& path) : fd_(fd), path_(path) {}
  [[nodiscard]] int write(std::span<const std::uint8_t> content) override { return write_all(fd_, content); }
  [[nodiscard]] int sync() override { return sync_all(fd_, path_); }
  [[nodiscard]] int cut(std::uint64_t size) override {
    const auto end = static_cast<off_t>(size);
    return ::ftruncate(fd_, end) == 0 && ::lseek(fd_, end, SEEK_SET) == end ? 0 : errno;
  }

 private:
  const int fd_;
  const std::string& path_;
};

}  // namespace

expected<void> check_journal(const std::string& path, bool resume) {
  struct stat status {};
  const bool is_there = ::lstat(path.c_str(), &status) == 0;
  if (is_there && !resume) return exists_already(path);
  if (!is_there && resume && (errno == ENOENT || errno == ENOTDIR)) return missing(path);
  return {};
}

std::optional<std::string> journal_pin_of(const std::string& path, const std::string& name) {
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  auto reader = journal_reader::open(file.get(), path);
  if (!reader) return std::nullopt;
  const auto pins = reader->header();
  if (!pins || !*pins) return std::nullopt;
  return find_pin(**pins, name);
}

expected<std::shared_ptr<journal_writer>> create_journal(const std::string& path, const journal_pins& pins) {
  if (journal_header(pins).size() > limits::journal_header_bytes_max) {
    return fail(error_code::journal_unwritable, path, "the options do not fit its header", "ask for less metrics");
  }
  unique_fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return errno == EEXIST ? exists_already(path) : journal_unwritable(path, errno);
  TROUPE_TRY(lock(file.get(), path));
  open_store store(file.get(), path);
  if (auto begun = begin_journal(store, path, pins); !begun) {
    ::unlink(path.c_str());
    return tl::make_unexpected(begun.error());
  }
  auto writer = journal_writer::start(std::move(file), path);
  if (!writer) ::unlink(path.c_str());
  return writer;
}

expected<std::shared_ptr<journal_writer>> resume_journal(const std::string& path, const journal_pins& pins,
                                                         const journal_listener& listener) {
  // A pipe without a writer would block a plain open for ever.
  unique_fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!file) return errno == ENOENT || errno == ENOTDIR ? missing(path) : journal_unwritable(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(error_code::journal_damaged, path, "it is no regular file", "name a journal");
  }
  TROUPE_TRY(lock(file.get(), path));
  open_store store(file.get(), path);
  if (auto taken = take_over_journal(store, file.get(), path, pins, listener); !taken) {
    return tl::make_unexpected(taken.error());
  }
  return journal_writer::start(std::move(file), path);
}

}  // namespace troupe
