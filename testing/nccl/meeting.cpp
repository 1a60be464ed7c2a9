#include "testing/nccl/meeting.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace troupe::testing {
namespace {

/// A dead peer rings no bell, and a cut may come just before a wait.
constexpr std::chrono::milliseconds meeting_look_interval{10};

}  // namespace

std::shared_ptr<meeting> meeting::open(const nccl::unique_id& id, int rank) {
  const int file = ::shm_open(id.bytes.data(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  void* pages = MAP_FAILED;
  if (::ftruncate(file, sizeof(meeting_words)) == 0) {
    pages = ::mmap(nullptr, sizeof(meeting_words), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  ::close(file);
  if (pages == MAP_FAILED) return nullptr;
  auto made = std::make_shared<meeting>(*static_cast<meeting_words*>(pages), id, rank);
  made->words_.joined[made->rank_].store(1);
  if (made->is_complete()) ::shm_unlink(id.bytes.data());
  return made;
}

meeting::meeting(meeting_words& words, const nccl::unique_id& id, int rank)
    : words_(words),
      id_(id),
      rank_(static_cast<std::size_t>(rank)),
      bells_{doorbell(words.bells[0]), doorbell(words.bells[1])} {}

// It is unlinked by the second to come; the first does so if that one never came.
meeting::~meeting() {
  if (!is_complete()) ::shm_unlink(id_.bytes.data());
  ::munmap(&words_, sizeof(words_));
}

bool meeting::is_complete() const {
  return words_.joined[0].load() != 0 && words_.joined[1].load() != 0;
}

void meeting::ring_peer() {
  bells_[1 - rank_].ring();
}

void meeting::fail(nccl::result how) {
  int none = 0;
  words_.error.compare_exchange_strong(none, static_cast<int>(how));
  ring_peer();
}

void meeting::cut() {
  is_cut_.store(true);
  bells_[rank_].ring();
}

bool meeting::wait(const std::function<bool()>& is_true) {
  doorbell& bell = bells_[rank_];
  while (!is_cut_.load()) {
    if (is_true()) return true;
    const std::uint32_t epoch = bell.prepare_to_park();
    if (is_cut_.load() || is_true()) {
      bell.stay_awake();
    } else {
      bell.wait(epoch, meeting_look_interval);
    }
  }
  return false;
}

void meeting::hang() {
  static_cast<void>(wait([] { return false; }));
}

// `crossing` is the other direction: where the peer waits there as we do here, each waits for the other.
bool meeting::match(posted& mine, const posted& other, const direction& crossing, std::uint64_t count,
                    nccl::element type, bool is_send) {
  mine.count.store(count);
  mine.type.store(static_cast<int>(type));
  const std::uint64_t number = mine.operations.fetch_add(1) + 1;
  ring_peer();
  const auto is_crossed = [&] {
    const auto& [theirs, ours] = is_send ? std::pair<const posted&, const posted&>(crossing.sender, crossing.receiver)
                                         : std::pair<const posted&, const posted&>(crossing.receiver, crossing.sender);
    return theirs.operations.load() > ours.operations.load() && other.operations.load() < number;
  };
  const auto has_met = [&] { return other.operations.load() >= number || is_crossed() || words_.error.load() != 0; };
  if (!wait(has_met)) return false;
  const bool fits =
      other.operations.load() == number && other.count.load() == count && other.type.load() == static_cast<int>(type);
  if (fits && words_.error.load() == 0) return true;
  fail(nccl::result::invalid_usage);
  hang();
  return false;
}

void meeting::send(std::span<const std::byte> bytes, std::uint64_t count, nccl::element type) {
  direction& way = words_.directions[rank_];
  if (!match(way.sender, way.receiver, words_.directions[1 - rank_], count, type, true)) return;
  const std::uint64_t end = way.written.load() + bytes.size();
  while (!bytes.empty()) {
    const std::uint64_t at = way.written.load();
    if (!wait([&] { return at - way.read.load() < way.ring.size(); })) return;
    const std::size_t room = way.ring.size() - static_cast<std::size_t>(at - way.read.load());
    const std::size_t start = static_cast<std::size_t>(at % way.ring.size());
    const std::size_t part = std::min({bytes.size(), room, way.ring.size() - start});
    std::memcpy(way.ring.data() + start, bytes.data(), part);
    way.written.store(at + part);
    ring_peer();
    bytes = bytes.subspan(part);
  }
  // Nothing is buffered: done when the other half is.
  static_cast<void>(wait([&] { return way.read.load() == end; }));
}

void meeting::receive(std::span<std::byte> bytes, std::uint64_t count, nccl::element type) {
  direction& way = words_.directions[1 - rank_];
  if (!match(way.receiver, way.sender, words_.directions[rank_], count, type, false)) return;
  while (!bytes.empty()) {
    const std::uint64_t at = way.read.load();
    if (!wait([&] { return way.written.load() > at; })) return;
    const std::size_t there = static_cast<std::size_t>(way.written.load() - at);
    const std::size_t start = static_cast<std::size_t>(at % way.ring.size());
    const std::size_t part = std::min({bytes.size(), there, way.ring.size() - start});
    std::memcpy(bytes.data(), way.ring.data() + start, part);
    way.read.store(at + part);
    ring_peer();
    bytes = bytes.subspan(part);
  }
}

}  // namespace troupe::testing
