#include "runtime/agent_host/sent_blobs.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"

namespace troupe {
namespace {

tl::unexpected<error> unreadable(const char* what) {
  return fail(error_code::process_failed, "memory for another node", std::string(what) + ": " + errno_text());
}

expected<std::vector<std::byte>> read_at(int memory, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> content(bytes);
  std::size_t got = 0;
  while (got < bytes) {
    const auto count = ::pread(memory, content.data() + got, bytes - got, static_cast<off_t>(offset + got));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return unreadable("pread");
    got += static_cast<std::size_t>(count);
  }
  return content;
}

/// A blob is mostly holes, which read as zero at the other end as well: only what was written is sent.
expected<void> send_content(int memory, std::uint64_t number, const sent_blobs::send_part& send) {
  struct stat found {};
  if (::fstat(memory, &found) != 0) return unreadable("fstat");
  const auto size = static_cast<std::uint64_t>(found.st_size);
  auto sent = send({.blob = number, .size = size, .offset = 0, .content = {}});
  std::uint64_t at = 0;
  while (sent && at < size) {
    const off_t data = ::lseek(memory, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return {};
    const off_t hole = data < 0 ? data : ::lseek(memory, data, SEEK_HOLE);
    if (hole < 0) return unreadable("lseek");
    at = static_cast<std::uint64_t>(data);
    const std::uint64_t bytes = std::min<std::uint64_t>(static_cast<std::uint64_t>(hole) - at, limits::blob_part_bytes);
    auto content = TROUPE_TRY(read_at(memory, at, bytes));
    sent = send({.blob = number, .size = size, .offset = at, .content = std::move(content)});
    at += bytes;
  }
  return sent;
}

}  // namespace

void sent_blobs::know_page(const blob& page, std::uint32_t rank) {
  const std::lock_guard lock{mutex_};
  known_.insert_or_assign(page.identity(), entry{page, {.blob = 0, .page_of = rank}});
}

void sent_blobs::forget_page(const blob& page) {
  const std::lock_guard lock{mutex_};
  known_.erase(page.identity());
}

expected<blob_reference> sent_blobs::reference_to(const blob& what, const send_part& send) {
  const std::lock_guard in_turn{sending_};
  const auto [found, cleared_before] = known(what);
  if (found) return *found;
  const blob_reference made{.blob = ++last_number_, .page_of = std::nullopt};
  const auto sent = send_content(what.descriptor(), made.blob, send);
  const std::lock_guard lock{mutex_};
  if (!sent) {
    begun_.push_back(made.blob);
    return tl::make_unexpected(sent.error());
  }
  // The agent may have dropped a part of this content meanwhile: right only for workers that are being stopped.
  if (times_cleared_ == cleared_before) known_.insert_or_assign(what.identity(), entry{what, made});
  return made;
}

std::pair<std::optional<blob_reference>, std::uint64_t> sent_blobs::known(const blob& what) {
  const std::lock_guard lock{mutex_};
  const auto found = known_.find(what.identity());
  return {found == known_.end() ? std::nullopt : std::optional(found->second.reference), times_cleared_};
}

std::vector<std::uint64_t> sent_blobs::take_unused() {
  const std::lock_guard lock{mutex_};
  std::vector<std::uint64_t> unused = std::exchange(begun_, {});
  std::erase_if(known_, [&](const auto& each) {
    const entry& one = each.second;
    if (one.reference.page_of || one.kept.is_shared()) return false;
    unused.push_back(one.reference.blob);
    return true;
  });
  return unused;
}

void sent_blobs::clear() {
  const std::lock_guard lock{mutex_};
  ++times_cleared_;
  std::erase_if(known_, [](const auto& each) { return !each.second.reference.page_of; });
}

}  // namespace troupe
