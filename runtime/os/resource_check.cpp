#include "runtime/os/resource_check.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/os/open_file_limit.hpp"
#include "runtime/os/thread_crowd.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {
namespace {

std::string limit_text(decltype(RLIMIT_NPROC) which, rlim_t unit = 1, const char* unit_name = "") {
  rlimit found{};
  if (::getrlimit(which, &found) != 0 || found.rlim_cur == RLIM_INFINITY) return "unlimited";
  return std::to_string(found.rlim_cur / unit) + unit_name;
}

std::string address_limit_text() {
  return "ulimit -v: " + limit_text(RLIMIT_AS, 1024, " KiB");
}

/// Addresses that are taken and hold nothing.
class reserved_addresses {
 public:
  explicit reserved_addresses(std::uint64_t bytes) : bytes_(bytes) {
    if (bytes_ == 0) return;
    pages_ = ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  reserved_addresses(const reserved_addresses&) = delete;
  reserved_addresses& operator=(const reserved_addresses&) = delete;
  ~reserved_addresses() {
    if (bytes_ != 0 && is_there()) ::munmap(pages_, bytes_);
  }
  [[nodiscard]] bool is_there() const { return pages_ != MAP_FAILED; }

 private:
  std::uint64_t bytes_;
  void* pages_ = nullptr;
};

tl::unexpected<error> no_addresses(const resource_needs& needed) {
  constexpr std::uint64_t mebibyte = 1u << 20;
  return fail(error_code::process_failed, needed.where,
              std::to_string(needed.address_bytes / mebibyte) +
                  " MiB of addresses are needed beside the program's own, and the system does not give them (" +
                  address_limit_text() + ")",
              "Raise the limit of virtual memory (ulimit -v)");
}

std::size_t descriptors_given(std::size_t wanted) {
  std::vector<unique_fd> taken;
  taken.reserve(wanted);
  while (taken.size() < wanted) {
    unique_fd one(taken.empty() ? ::eventfd(0, EFD_CLOEXEC) : ::fcntl(taken.front().get(), F_DUPFD_CLOEXEC, 0));
    if (!one) break;
    taken.push_back(std::move(one));
  }
  return taken.size();
}

/// A soft limit at which there would be enough; empty where no limit of this process stands in the way.
std::string sufficient_limit(std::size_t given, std::size_t needed) {
  rlimit found{};
  if (::getrlimit(RLIMIT_NOFILE, &found) != 0 || found.rlim_cur == RLIM_INFINITY) return {};
  return " to at least " + std::to_string(found.rlim_cur - given + needed);
}

expected<void> ensure_descriptors(const resource_needs& needed) {
  std::size_t given = descriptors_given(needed.descriptors);
  if (given < needed.descriptors && raise_open_file_limit()) given = descriptors_given(needed.descriptors);
  if (given >= needed.descriptors) return {};
  return fail(error_code::process_failed, needed.where,
              "up to " + std::to_string(needed.descriptors) + " more open files are needed, and the system gives " +
                  std::to_string(given) + " (ulimit -n: " + limit_text(RLIMIT_NOFILE) + ")",
              "Raise the limit of open files (ulimit -n)" + sufficient_limit(given, needed.descriptors) +
                  ", or run fewer stages");
}

expected<void> ensure_threads(const resource_needs& needed) {
  const std::uint32_t own = std::min(needed.threads, limits::checked_threads_max);
  const std::uint32_t elsewhere = std::min(needed.threads_elsewhere, limits::checked_threads_max - own);
  thread_crowd crowd;
  std::uint32_t given = crowd.gather(own);
  if (given == own) given += crowd.gather(elsewhere, limits::checked_stack_bytes);
  if (given == own + elsewhere) return {};
  return fail(error_code::process_failed, needed.where,
              "up to " + std::to_string(needed.threads + needed.threads_elsewhere) +
                  " more threads are needed at the same time, and the system gives " + std::to_string(given) +
                  " (ulimit -u: " + limit_text(RLIMIT_NPROC) + ", " + address_limit_text() + ")",
              "Raise the limit of processes and threads (ulimit -u, or a container's), or ask for fewer stages or "
              "--threads");
}

}  // namespace

expected<void> ensure_resources(const resource_needs& needed) {
  const reserved_addresses addresses(needed.address_bytes);
  if (!addresses.is_there()) return no_addresses(needed);
  return ensure_threads(needed).and_then([&] { return ensure_descriptors(needed); });
}

}  // namespace troupe
