#include "runtime/os/shared_memory.hpp"

#include <cerrno>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "messages/try.hpp"

namespace troupe {
namespace {

constexpr const char* place = "shared memory";

tl::unexpected<error> system_refused(const std::string& what) {
  return fail(error_code::process_failed, place, what + ": " + std::generic_category().message(errno),
              "Check the limits of memory and of open files, or run with smaller micro-batches");
}

tl::unexpected<error> not_ours(std::string cause) {
  return fail(error_code::wire_malformed, place, std::move(cause),
              "Check that both ends run the same version of Troupe");
}

// What can be taken without swapping; all there is, if the kernel does not tell.
std::uint64_t bytes_to_spare() {
  std::ifstream table("/proc/meminfo");
  std::string name;
  std::uint64_t kibibytes = 0;
  for (std::string unit; table >> name >> kibibytes; std::getline(table, unit)) {
    if (name == "MemAvailable:") return kibibytes * 1024;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

std::string bytes_text(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

}  // namespace

memory_mapping& memory_mapping::operator=(memory_mapping&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  pages_ = std::exchange(other.pages_, {});
  return *this;
}

void memory_mapping::unmap() noexcept {
  if (!pages_.empty()) ::munmap(pages_.data(), pages_.size());
  pages_ = {};
}

// The set of seals is sealed too: a peer could otherwise forbid growing.
expected<shared_memory> shared_memory::create(const char* name, std::uint64_t bytes) {
  shared_memory made{unique_fd{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)}};
  if (made.descriptor() < 0) return system_refused("no new memory");
  // The kernel makes it for all; another process of the user opens it through /proc.
  if (::fchmod(made.descriptor(), S_IRUSR | S_IWUSR) != 0) return system_refused("no mode");
  if (auto grown = made.grow(bytes); !grown) return tl::make_unexpected(std::move(grown.error()));
  if (::fcntl(made.descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) return system_refused("no seal");
  return made;
}

// F_GET_SEALS fails on whatever is no memory file; of those, a file in /dev/shm bears no such seal. Huge pages would
// need other offsets.
expected<shared_memory> shared_memory::adopt(unique_fd descriptor, std::uint64_t bytes_min) {
  const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0) return not_ours("the descriptor is no memory file");
  if ((seals & F_SEAL_SHRINK) == 0) return not_ours("the memory is not sealed against shrinking");
  struct statfs file_system {};
  if (::fstatfs(descriptor.get(), &file_system) != 0) return system_refused("no look at the memory");
  if (file_system.f_type != TMPFS_MAGIC) return not_ours("the memory is of another kind of page");
  shared_memory adopted{std::move(descriptor)};
  const auto size = TROUPE_TRY(adopted.size());
  if (size < bytes_min) return not_ours("the memory has " + bytes_text(size) + ", not " + bytes_text(bytes_min));
  return adopted;
}

expected<std::uint64_t> shared_memory::size() const {
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) return system_refused("no look at the memory");
  return static_cast<std::uint64_t>(status.st_size);
}

expected<void> shared_memory::grow(std::uint64_t bytes) {
  const auto now = TROUPE_TRY(size());
  if (bytes <= now) return {};
  if (!std::in_range<off_t>(bytes)) return not_ours(bytes_text(bytes) + " are more than a file can have");
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(bytes)) != 0) {
    return system_refused("no growth to " + bytes_text(bytes));
  }
  return {};
}

expected<void> shared_memory::commit(std::uint64_t offset, std::uint64_t bytes) {
  const auto end = TROUPE_TRY(size());
  if (offset > end || bytes > end - offset) return not_ours(bytes_text(bytes) + " are not within the memory");
  if (const std::uint64_t spare = bytes_to_spare(); bytes > spare) {
    return fail(error_code::process_failed, place,
                "no memory for " + bytes_text(bytes) + ": the machine has " + bytes_text(spare) + " to spare",
                "Run with smaller micro-batches or on a machine with more memory");
  }
  int status = 0;
  do {
    status = ::fallocate(descriptor_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (status != 0 && errno == EINTR);
  if (status != 0) return system_refused("no memory for " + bytes_text(bytes));
  return {};
}

void shared_memory::discard(std::uint64_t offset, std::uint64_t bytes) noexcept {
  ::fallocate(descriptor_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
}

expected<memory_mapping> shared_memory::map(std::uint64_t offset, std::uint64_t bytes) const {
  const auto now = TROUPE_TRY(size());
  if (bytes == 0 || offset > now || bytes > now - offset) {
    return not_ours(bytes_text(bytes) + " from " + std::to_string(offset) + " on are not within " + bytes_text(now));
  }
  void* const pages = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                             descriptor_.get(), static_cast<off_t>(offset));
  if (pages == MAP_FAILED) return system_refused("no addresses for " + bytes_text(bytes));
  return memory_mapping{{static_cast<std::byte*>(pages), static_cast<std::size_t>(bytes)}};
}

}  // namespace troupe
