#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <troupe/runtime/data/byte_region.hpp>

namespace troupe {

namespace {

class mapped_region final : public byte_region {
 public:
  mapped_region(std::string path, int descriptor, const struct stat& status, const void* address)
      : path_(std::move(path)),
        descriptor_(descriptor),
        size_(static_cast<std::size_t>(status.st_size)),
        modified_(status.st_mtim),
        address_(static_cast<const std::uint8_t*>(address)) {}

  ~mapped_region() override {
    ::munmap(const_cast<std::uint8_t*>(address_), size_);
    ::close(descriptor_);
  }

  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept override { return {address_, size_}; }

  [[nodiscard]] expected<void> check_unchanged() const override {
    struct stat now {};
    if (::fstat(descriptor_, &now) != 0) {
      return fail(error_code::data_unreadable, path_,
                  std::string("cannot be looked at again: ") + std::strerror(errno));
    }
    if (static_cast<std::uint64_t>(now.st_size) < size_) {
      return fail(error_code::data_truncated, path_,
                  "was cut short while in use: expected " + std::to_string(size_) + " bytes, found " +
                      std::to_string(now.st_size),
                  "leave the file alone while it is evaluated, and start again");
    }
    if (now.st_size != static_cast<off_t>(size_) || now.st_mtim.tv_sec != modified_.tv_sec ||
        now.st_mtim.tv_nsec != modified_.tv_nsec) {
      return fail(error_code::data_unreadable, path_, "was changed while in use",
                  "leave the file alone while it is evaluated, and start again");
    }
    return {};
  }

 private:
  std::string path_;
  int descriptor_;
  std::size_t size_;
  timespec modified_;
  const std::uint8_t* address_;
};

class owned_region final : public byte_region {
 public:
  owned_region(std::unique_ptr<std::uint8_t[]> bytes, std::size_t size) : bytes_(std::move(bytes)), size_(size) {}
  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept override { return {bytes_.get(), size_}; }
  [[nodiscard]] expected<void> check_unchanged() const override { return {}; }

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t size_;
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

expected<byte_region_ptr> map_file(const std::string& path) {
  // A pipe without a writer would block a plain open for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return cannot_open(path, errno);
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  const int number = errno;
  if (expected<void> kind = known ? check_kind(path, status) : expected<void>(cannot_open(path, number)); !kind) {
    ::close(descriptor);
    return tl::make_unexpected(kind.error());
  }
  void* address = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) {
    const int cause = errno;
    ::close(descriptor);
    return fail(error_code::data_unreadable, path, std::string("cannot be mapped: ") + std::strerror(cause),
                "copy the file to a local disk");
  }
  return std::make_shared<const mapped_region>(path, descriptor, status, address);
}

byte_region_ptr own_bytes(std::unique_ptr<std::uint8_t[]> bytes, std::size_t size) {
  return std::make_shared<const owned_region>(std::move(bytes), size);
}

}  // namespace troupe
