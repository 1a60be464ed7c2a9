#include "runtime/os/blob.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/shared_memory.hpp"

namespace troupe {

expected<blob> blob::make(const char* name, std::uint64_t bytes,
                          const std::function<void(std::span<std::byte>)>& fill) {
  auto memory = TROUPE_TRY(shared_memory::create(name, bytes));
  TROUPE_TRY(memory.commit(0, bytes));
  const auto mapped = TROUPE_TRY(memory.map(0, bytes));
  fill(mapped.bytes().first(bytes));
  return blob(std::move(memory).release());
}

expected<std::size_t> blob::read(std::uint64_t offset, std::span<std::byte> into) const {
  std::size_t got = 0;
  while (got < into.size()) {
    const auto count = ::pread(descriptor(), into.data() + got, into.size() - got, static_cast<off_t>(offset + got));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return fail(error_code::process_failed, "memory", "pread: " + errno_text(), "look at the system's log");
    if (count == 0) break;
    got += static_cast<std::size_t>(count);
  }
  return got;
}

expected<unique_fd> blob::copy() const {
  unique_fd made(::fcntl(descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!made) return fail(error_code::process_failed, "memory", "the system has no descriptor left", "raise ulimit -n");
  return made;
}

}  // namespace troupe
