#include "runtime/os/blob.hpp"

#include <fcntl.h>

#include "runtime/os/shared_memory.hpp"

namespace troupe {

expected<blob> blob::make(const char* name, std::uint64_t bytes,
                          const std::function<void(std::span<std::byte>)>& fill) {
  auto memory = shared_memory::create(name, bytes);
  if (!memory) return tl::make_unexpected(memory.error());
  if (auto taken = memory->commit(0, bytes); !taken) return tl::make_unexpected(taken.error());
  const auto mapped = memory->map(0, bytes);
  if (!mapped) return tl::make_unexpected(mapped.error());
  fill(mapped->bytes().first(bytes));
  return blob(std::move(*memory).release());
}

expected<unique_fd> blob::copy() const {
  unique_fd made(::fcntl(descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!made) return fail(error_code::process_failed, "memory", "the system has no descriptor left", "raise ulimit -n");
  return made;
}

}  // namespace troupe
