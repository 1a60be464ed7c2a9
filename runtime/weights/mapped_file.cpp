#include "runtime/weights/mapped_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <c10/core/CPUAllocator.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/input_file.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {
namespace {

/// Bytes that are copied at a time before its pages are given back.
constexpr std::uint64_t copied_bytes = 1u << 20;

tl::unexpected<error> cannot_open(const std::filesystem::path& file, int number) {
  if (number == ENOENT || number == ENOTDIR) {
    std::error_code ignored;
    return fail(error_code::model_missing, file.string(), "the file does not exist",
                "check the path; a relative one starts at " + std::filesystem::current_path(ignored).string());
  }
  return fail(error_code::model_unreadable, file.string(), "the file cannot be read: " + errno_text(number),
              "check the path and its permissions");
}

expected<void> check_kind(const std::filesystem::path& file, const struct stat& about) {
  if (S_ISREG(about.st_mode)) return {};
  if (S_ISDIR(about.st_mode)) {
    return fail(error_code::model_is_directory, file.string(), "the path is a directory, expected a file",
                "name a file inside it");
  }
  return fail(error_code::model_unreadable, file.string(),
              "the path is " + std::string(kind_of_file(about.st_mode)) + ", which cannot be mapped into memory",
              "write the weights to a file first");
}

/// Gives the memory of whole pages back that were read: another read takes them from the file again.
void leave_pages(std::string_view bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(bytes.data()) % page) % page;
  if (bytes.size() < before + page) return;
  const std::size_t whole = (bytes.size() - before) / page * page;
  ::madvise(const_cast<char*>(bytes.data() + before), whole, MADV_DONTNEED);
}

/// A copy must not take its memory twice.
void copy_and_leave(char* to, std::string_view from) {
  while (!from.empty()) {
    const std::string_view piece = from.substr(0, copied_bytes);
    std::memcpy(to, piece.data(), piece.size());
    leave_pages(piece);
    to += piece.size();
    from.remove_prefix(piece.size());
  }
}

/// The part of a file that a storage has.
struct lent_part {
  std::shared_ptr<const mapped_file> file;
  std::string_view bytes;

  /// When the last tensor in it is gone, so are its pages: packed weights must not take their memory twice.
  static void give_back(void* given) {
    const std::unique_ptr<lent_part> part(static_cast<lent_part*>(given));
    leave_pages(part->bytes);
  }
};

}  // namespace

expected<std::shared_ptr<const mapped_file>> mapped_file::open(const std::filesystem::path& file) {
  // A FIFO without a writer would block a plain open for ever.
  const unique_fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about {};
  if (!opened || ::fstat(opened.get(), &about) != 0) return cannot_open(file, errno);
  if (auto kind = check_kind(file, about); !kind) return tl::make_unexpected(std::move(kind.error()));
  const auto bytes = static_cast<std::size_t>(about.st_size);
  std::string_view content;
  if (bytes > 0) {
    void* const begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, opened.get(), 0);
    if (begin == MAP_FAILED) return cannot_open(file, errno);
    content = {static_cast<const char*>(begin), bytes};
  }
  return std::shared_ptr<const mapped_file>(new mapped_file(file.string(), content));
}

mapped_file::~mapped_file() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

bool mapped_file::is_aligned(std::uint64_t offset, std::uint64_t alignment) const noexcept {
  return (reinterpret_cast<std::uintptr_t>(bytes_.data()) + offset) % alignment == 0;
}

c10::Storage mapped_file::storage(const std::shared_ptr<const mapped_file>& file, std::uint64_t offset,
                                  std::uint64_t count, std::uint64_t alignment) {
  TROUPE_CHECK(offset <= file->bytes_.size() && count <= file->bytes_.size() - offset,
               "offsets in a file are checked before memory is made of them");
  const std::string_view part = file->bytes_.substr(offset, count);
  if (!file->is_aligned(offset, alignment)) {
    c10::Storage copy(c10::Storage::use_byte_size_t(), static_cast<std::int64_t>(count), c10::GetDefaultCPUAllocator(),
                      false);
    if (count > 0) copy_and_leave(static_cast<char*>(copy.mutable_data()), part);
    return copy;
  }
  c10::DataPtr data(const_cast<char*>(part.data()), new lent_part{file, part}, &lent_part::give_back,
                    c10::DeviceType::CPU);
  return {c10::Storage::use_byte_size_t(), count, std::move(data), nullptr, false};
}

}  // namespace troupe
