#include "runtime/os/blob.hpp"

#include <fcntl.h>

#include "messages/try.hpp"
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

expected<unique_fd> blob::copy() const {
  unique_fd made(::fcntl(descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!made) return fail(error_code::process_failed, "memory", "the system has no descriptor left", "raise ulimit -n");
  return made;
}

}  // namespace troupe
