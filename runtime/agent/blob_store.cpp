#include "runtime/agent/blob_store.hpp"

#include <cerrno>
#include <utility>

#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"

namespace troupe {
namespace {

tl::unexpected<error> refuse_blob(error_code code, std::uint64_t number, std::string cause) {
  return fail(code, "blob " + std::to_string(number), std::move(cause), "run the same version of Troupe everywhere");
}

}  // namespace

expected<void> blob_store::add(const blob_part& part) {
  const auto found = TROUPE_TRY(entry_of(part));
  if (part.offset > part.size || part.content.size() > part.size - part.offset)
    return refuse_blob(error_code::wire_malformed, part.blob, "a part of it lies outside");
  std::size_t written = 0;
  while (written < part.content.size()) {
    const auto count = ::pwrite(found->memory.descriptor(), part.content.data() + written,
                                part.content.size() - written, static_cast<off_t>(part.offset + written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return refuse_blob(error_code::process_failed, part.blob, "pwrite: " + errno_text());
    written += static_cast<std::size_t>(count);
  }
  return {};
}

expected<blob_store::entry*> blob_store::entry_of(const blob_part& part) {
  if (const auto known = kept_.find(part.blob); known != kept_.end()) {
    if (known->second.size == part.size) return &known->second;
    return refuse_blob(error_code::wire_malformed, part.blob, "its size has changed");
  }
  if (part.size == 0 || part.size > limits::shm_slot_bytes_max)
    return refuse_blob(error_code::wire_too_large, part.blob, "a size of " + std::to_string(part.size) + " bytes");
  if (kept_.size() >= limits::agent_blobs_max)
    return refuse_blob(error_code::wire_too_large, part.blob, "there are too many of them");
  auto memory = TROUPE_TRY(shared_memory::create("troupe-blob", part.size));
  return &kept_.emplace(part.blob, entry{part.size, blob(std::move(memory).release())}).first->second;
}

expected<blob> blob_store::find(std::uint64_t number) const {
  const auto found = kept_.find(number);
  if (found == kept_.end()) return refuse_blob(error_code::wire_malformed, number, "it never came");
  return found->second.memory;
}

}  // namespace troupe
