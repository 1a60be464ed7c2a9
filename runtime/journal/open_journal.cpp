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
#include "runtime/journal/journal_reader.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

tl::unexpected<error> unwritable(const std::string& path, int reason) {
  return fail(error_code::journal_unwritable, path, std::strerror(reason),
              "name a file in a directory that can be written to, with space left");
}

tl::unexpected<error> exists_already(const std::string& path) {
  return fail(error_code::journal_unwritable, path, "it exists already",
              "add --resume to go on with it, or name another file");
}

tl::unexpected<error> missing(const std::string& path) {
  return fail(error_code::journal_missing, path, "there is no such journal",
              "check the path, or leave --resume out to start");
}

expected<void> lock(int fd, const std::string& path) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return unwritable(path, errno);
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

/// Of the file and of the directory that names it.
int sync_all(int fd, const std::string& path) {
  if (::fsync(fd) != 0 && errno != EINVAL) return errno;
  const fs::path parent = fs::path(path).parent_path();
  const unique_fd directory(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return errno;
  return ::fsync(directory.get()) == 0 || errno == EINVAL ? 0 : errno;
}

/// Makes the file hold the header and nothing else, and go on behind it.
int begin_anew(int fd, const std::string& path, const journal_format::bytes& header) {
  if (::ftruncate(fd, 0) != 0 || ::lseek(fd, 0, SEEK_SET) != 0) return errno;
  if (const int reason = write_all(fd, header)) return reason;
  return sync_all(fd, path);
}

journal_pins versioned(const journal_pins& pins) {
  journal_pins all = {{"journal version", std::string(journal_format::version)},
                      {journal_format::bits_pin, journal_format::bits_version}};
  all.insert(all.end(), pins.begin(), pins.end());
  return all;
}

std::optional<std::string> find_value(const journal_pins& pins, const std::string& name) {
  const auto found = std::find_if(pins.begin(), pins.end(), [&](const journal_pin& each) { return each.name == name; });
  if (found != pins.end()) return found->value;
  // Journals that do not say it are from before there was a second.
  if (name == journal_format::bits_pin) return std::string(journal_format::bits_version);
  return std::nullopt;
}

std::string value_in(const journal_pins& pins, const std::string& name) {
  return find_value(pins, name).value_or("nothing");
}

/// The flags that make the run the journal's own again, if such flags are all that it takes.
std::string fix_of(const journal_pins& stored, const std::vector<std::string>& differing) {
  constexpr std::array<std::string_view, 4> options = {"micro_batch", "threads", "optimize", "metrics"};
  std::string flags;
  for (const std::string& name : differing) {
    if (std::find(options.begin(), options.end(), name) == options.end()) {
      return "use the same, or start anew with another journal";
    }
    std::string flag = "--" + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    flags.append(flags.empty() ? "" : " ").append(flag).append(" ").append(value_in(stored, name));
  }
  return "go on with " + flags + ", or start anew with another journal";
}

expected<void> compare(const std::string& path, const journal_pins& stored, const journal_pins& asked) {
  std::vector<std::string> names;
  for (const journal_pins* side : {&asked, &stored}) {
    for (const journal_pin& each : *side) {
      if (std::find(names.begin(), names.end(), each.name) == names.end()) names.push_back(each.name);
    }
  }
  std::vector<std::string> differing;
  std::string cause;
  for (const std::string& name : names) {
    const std::string was = value_in(stored, name);
    const std::string is = value_in(asked, name);
    if (was == is) continue;
    differing.push_back(name);
    cause.append(cause.empty() ? "" : "; ").append(name).append(" was ").append(was).append(" and is ").append(is);
  }
  if (differing.empty()) return {};
  return fail(error_code::journal_mismatch, path, cause, fix_of(stored, differing));
}

/// A run that was killed within the first write left a part of the header that this one would write.
expected<void> begin_anew_if_cut(int fd, const std::string& path, const journal_format::bytes& header) {
  journal_format::bytes found(header.size());
  const ssize_t got = ::pread(fd, found.data(), found.size(), 0);
  const bool is_ours = got >= 0 && static_cast<std::size_t>(got) < header.size() &&
                       std::equal(found.begin(), found.begin() + got, header.begin());
  if (!is_ours) {
    return fail(error_code::journal_damaged, path, "its header is not whole, and nothing stands behind it",
                "start anew with another journal");
  }
  if (const int reason = begin_anew(fd, path, header)) return unwritable(path, reason);
  return {};
}

expected<void> take_states(journal_reader& reader, int fd, const std::string& path,
                           const std::function<expected<void>(const score&)>& on_state) {
  for (;;) {
    const auto state = reader.next();
    if (!state) return tl::make_unexpected(state.error());
    if (!*state) break;
    if (auto taken = on_state(**state); !taken) return taken;
  }
  const auto end = static_cast<off_t>(reader.whole_bytes());
  if (::ftruncate(fd, end) != 0 || ::lseek(fd, end, SEEK_SET) != end) return unwritable(path, errno);
  return {};
}

expected<void> take_over(int fd, const std::string& path, const journal_pins& pins,
                         const std::function<expected<void>(const score&)>& on_state) {
  auto reader = journal_reader::open(fd, path);
  if (!reader) return tl::make_unexpected(reader.error());
  const auto stored = reader->header();
  if (!stored) return tl::make_unexpected(stored.error());
  if (!*stored) return begin_anew_if_cut(fd, path, journal_format::encode_header(pins));
  if (auto same = compare(path, **stored, pins); !same) return same;
  return take_states(*reader, fd, path, on_state);
}

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
  return find_value(**pins, name);
}

expected<std::shared_ptr<journal_writer>> create_journal(const std::string& path, const journal_pins& pins) {
  const journal_format::bytes header = journal_format::encode_header(versioned(pins));
  if (header.size() > limits::journal_header_bytes_max) {
    return fail(error_code::journal_unwritable, path, "the options do not fit its header", "ask for less metrics");
  }
  unique_fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return errno == EEXIST ? exists_already(path) : unwritable(path, errno);
  if (auto locked = lock(file.get(), path); !locked) return tl::make_unexpected(locked.error());
  if (const int reason = begin_anew(file.get(), path, header)) {
    ::unlink(path.c_str());
    return unwritable(path, reason);
  }
  auto writer = journal_writer::start(std::move(file), path);
  if (!writer) ::unlink(path.c_str());
  return writer;
}

expected<std::shared_ptr<journal_writer>> resume_journal(const std::string& path, const journal_pins& pins,
                                                         const std::function<expected<void>(const score&)>& on_state) {
  // A pipe without a writer would block a plain open for ever.
  unique_fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!file) return errno == ENOENT || errno == ENOTDIR ? missing(path) : unwritable(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(error_code::journal_damaged, path, "it is no regular file", "name a journal");
  }
  if (auto locked = lock(file.get(), path); !locked) return tl::make_unexpected(locked.error());
  if (auto taken = take_over(file.get(), path, versioned(pins), on_state); !taken) {
    return tl::make_unexpected(taken.error());
  }
  return journal_writer::start(std::move(file), path);
}

}  // namespace troupe
