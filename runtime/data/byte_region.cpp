#include "runtime/data/byte_region.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {

namespace {

constexpr const char* leave_alone = "leave the file alone while it is evaluated, and start again";

void check_inside(const byte_pieces& pieces, std::uint64_t size, std::size_t room) {
  TROUPE_CHECK(pieces.count * pieces.width == room, "callers make room for what they ask for");
  const std::uint64_t last = pieces.count == 0 ? 0 : (pieces.count - 1) * pieces.stride + pieces.width;
  TROUPE_CHECK(pieces.offset <= size && last <= size - pieces.offset, "lengths were checked when the file was opened");
}

/// The same bytes in as few pieces as there can be.
byte_pieces joined(const byte_pieces& pieces) {
  if (pieces.stride != pieces.width) return pieces;
  const std::uint64_t bytes = pieces.count * pieces.width;
  return {.offset = pieces.offset, .count = 1, .width = bytes, .stride = bytes};
}

class file_region final : public byte_region {
 public:
  file_region(std::string path, unique_fd file, const struct stat& status)
      : path_(std::move(path)),
        file_(std::move(file)),
        size_(static_cast<std::uint64_t>(status.st_size)),
        modified_(status.st_mtim) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }

  [[nodiscard]] expected<void> read(const byte_pieces& pieces, std::span<std::uint8_t> into) const override {
    check_inside(pieces, size_, into.size());
    const byte_pieces each = joined(pieces);
    for (std::uint64_t i = 0; i < each.count; ++i) {
      auto got = read_one(each.offset + i * each.stride, into.subspan(i * each.width, each.width));
      if (!got) return got;
    }
    // After the bytes and not before them: later changes were not read.
    return check_unchanged();
  }

 private:
  [[nodiscard]] expected<void> read_one(std::uint64_t offset, std::span<std::uint8_t> into) const {
    while (!into.empty()) {
      const ssize_t got = ::pread(file_.get(), into.data(), into.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return unreadable(offset, errno);
      if (got == 0) return ends_at(offset);
      offset += static_cast<std::uint64_t>(got);
      into = into.subspan(static_cast<std::size_t>(got));
    }
    return {};
  }

  [[nodiscard]] expected<void> check_unchanged() const {
    struct stat now {};
    if (::fstat(file_.get(), &now) != 0) return unreadable(0, errno);
    if (static_cast<std::uint64_t>(now.st_size) < size_) return cut_short(static_cast<std::uint64_t>(now.st_size));
    if (static_cast<std::uint64_t>(now.st_size) != size_ || now.st_mtim.tv_sec != modified_.tv_sec ||
        now.st_mtim.tv_nsec != modified_.tv_nsec) {
      return fail(error_code::data_unreadable, path_, "was changed while in use", leave_alone);
    }
    return {};
  }

  /// A read found the end at `offset` or before.
  [[nodiscard]] tl::unexpected<error> ends_at(std::uint64_t offset) const {
    struct stat now {};
    const bool known = ::fstat(file_.get(), &now) == 0;
    return cut_short(known ? std::min(offset, static_cast<std::uint64_t>(now.st_size)) : offset);
  }
  [[nodiscard]] tl::unexpected<error> cut_short(std::uint64_t found) const {
    return fail(error_code::data_truncated, path_ + ", byte " + std::to_string(found),
                "was cut short while in use: expected " + std::to_string(size_) + " bytes, found " +
                    std::to_string(found) + ", " + std::to_string(size_ - found) + " are missing",
                leave_alone);
  }
  [[nodiscard]] tl::unexpected<error> unreadable(std::uint64_t offset, int number) const {
    return fail(error_code::data_unreadable, path_ + ", byte " + std::to_string(offset),
                std::string("cannot be read: ") + std::strerror(number), "copy the file to a disk that can be read");
  }

  std::string path_;
  unique_fd file_;
  std::uint64_t size_;
  timespec modified_;
};

class owned_region final : public byte_region {
 public:
  owned_region(std::unique_ptr<std::uint8_t[]> bytes, std::size_t size) : bytes_(std::move(bytes)), size_(size) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] expected<void> read(const byte_pieces& pieces, std::span<std::uint8_t> into) const override {
    check_inside(pieces, size_, into.size());
    const byte_pieces each = joined(pieces);
    for (std::uint64_t i = 0; i < each.count; ++i) {
      std::memcpy(into.data() + i * each.width, bytes_.get() + each.offset + i * each.stride, each.width);
    }
    return {};
  }

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t size_;
};

class inner_region final : public byte_region {
 public:
  inner_region(byte_region_ptr whole, std::uint64_t offset, std::uint64_t size)
      : whole_(std::move(whole)), offset_(offset), size_(size) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] expected<void> read(const byte_pieces& pieces, std::span<std::uint8_t> into) const override {
    check_inside(pieces, size_, into.size());
    byte_pieces there = pieces;
    there.offset += offset_;
    return whole_->read(there, into);
  }

 private:
  byte_region_ptr whole_;
  std::uint64_t offset_;
  std::uint64_t size_;
};

tl::unexpected<error> cannot_open(const std::string& path, int number) {
  if (number == ENOENT || number == ENOTDIR) {
    return fail(error_code::data_missing, path, "there is no such file", "check the path");
  }
  return fail(error_code::data_unreadable, path, std::string("cannot be opened: ") + std::strerror(number),
              number == EACCES ? "make the file readable for this user" : "check the path");
}

expected<void> check_kind(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) {
    return fail(error_code::data_unreadable, path, "is a directory, expected a file", "name a file inside it");
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(error_code::data_unreadable, path, "is no regular file (a device, pipe or socket)",
                "copy the data to a file, as samples are read in any order and more than once");
  }
  if (status.st_size == 0) {
    return fail(error_code::data_empty, path, "is empty (0 bytes)", "fetch the file again");
  }
  return {};
}

}  // namespace

expected<byte_region_ptr> open_bytes(const std::string& path) {
  // A pipe without a writer would block a plain open for ever.
  unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return cannot_open(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return cannot_open(path, errno);
  if (expected<void> kind = check_kind(path, status); !kind) return tl::make_unexpected(kind.error());
  return std::make_shared<const file_region>(path, std::move(file), status);
}

byte_region_ptr own_bytes(std::unique_ptr<std::uint8_t[]> bytes, std::size_t size) {
  return std::make_shared<const owned_region>(std::move(bytes), size);
}

byte_region_ptr part_of(byte_region_ptr whole, std::uint64_t offset, std::uint64_t size) {
  TROUPE_CHECK(offset <= whole->size() && size <= whole->size() - offset, "a part lies inside of the whole");
  return std::make_shared<const inner_region>(std::move(whole), offset, size);
}

}  // namespace troupe
