#include "runtime/edge/cuda_ipc/ipc_announcement.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe::ipc {
namespace {

constexpr std::uint64_t place_magic = 0x3243'5049'5052'5421;  // "!TRPIPC2"

/// As bytes: as it is, both ends are on one host. The spots follow, and then the description of the tensors.
struct head {
  std::uint64_t magic = place_magic;
  std::uint64_t flushed_before = 0;
  std::uint64_t block = 0;
  std::uint64_t slot = 0;
  std::uint64_t spots = 0;
  sharing_handle event{};
};
static_assert(sizeof(head) == 104 && sizeof(spot) == 72);

/// The size of a message is known before it is known whether it can be lent.
std::size_t spots_of(const nccl::announcement& tensors) {
  return std::max<std::size_t>(tensors.extents.size(), 1);
}

tl::unexpected<error> nonsense() {
  return fail(error_code::wire_malformed, "cuda_ipc edge", "a place of no tensors, or of others");
}

/// Behind a place there is a description of tensors, and nothing else.
class no_payloads final : public payload_codec {
 public:
  [[nodiscard]] std::size_t size_of(const payload&) const override { throw std::runtime_error("no tensors"); }
  void write(const payload&, std::span<std::byte>) const override {}
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte>, std::shared_ptr<const void>) const override {
    return nonsense();
  }
};

class announcing final : public payload_codec {
 public:
  explicit announcing(std::shared_ptr<const payload_codec> others)
      : others_(std::move(others)), described_(nccl::announcing_codec(std::make_shared<const no_payloads>())) {}

  [[nodiscard]] std::size_t size_of(const payload& value) const override {
    const auto* said = dynamic_cast<const announcement*>(&value);
    if (said == nullptr) return others_->size_of(value);
    return sizeof(head) + spots_of(*said->tensors) * sizeof(spot) + described_->size_of(*said->tensors);
  }
  void write(const payload& value, std::span<std::byte> into) const override {
    const auto* said = dynamic_cast<const announcement*>(&value);
    if (said == nullptr) return others_->write(value, into);
    const auto& [flushed_before, block, slot, event, spots] = said->where;
    TROUPE_CHECK(spots.size() <= spots_of(*said->tensors), "no more places than extents");
    const head made{.flushed_before = flushed_before,
                    .block = block,
                    .slot = slot,
                    .spots = spots_of(*said->tensors),
                    .event = event};
    std::memcpy(into.data(), &made, sizeof(made));
    const auto room = into.subspan(sizeof(made), made.spots * sizeof(spot));
    const auto set = std::as_bytes(std::span(spots));
    std::ranges::fill(std::ranges::copy(set, room.begin()).out, room.end(), std::byte{});
    described_->write(*said->tensors, into.subspan(sizeof(made) + room.size()));
  }
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte> from,
                                           std::shared_ptr<const void> owner) const override {
    head said;
    if (from.size() < sizeof(said)) return others_->read(from, std::move(owner));
    std::memcpy(&said, from.data(), sizeof(said));
    if (said.magic != place_magic) return others_->read(from, std::move(owner));
    const auto rest = from.subspan(sizeof(said));
    const bool fits = said.spots <= limits::wire_tensors_max && said.spots * sizeof(spot) <= rest.size();
    if (said.spots == 0 || !fits) return nonsense();
    std::vector<spot> spots(said.spots);
    std::memcpy(spots.data(), rest.data(), spots.size() * sizeof(spot));
    auto read = described_->read(rest.subspan(spots.size() * sizeof(spot)), nullptr);
    if (!read) return read;
    auto tensors = std::dynamic_pointer_cast<const nccl::announcement>(*read);
    if (tensors == nullptr || spots.size() != spots_of(*tensors)) return nonsense();
    auto made = std::make_shared<announcement>(std::move(tensors), std::move(owner));
    made->where = {.flushed_before = said.flushed_before,
                   .block = said.block,
                   .slot = said.slot,
                   .event = said.event,
                   .spots = std::move(spots)};
    return made;
  }

 private:
  const std::shared_ptr<const payload_codec> others_;
  const std::shared_ptr<const payload_codec> described_;
};

}  // namespace

std::shared_ptr<const payload_codec> announcing_codec(std::shared_ptr<const payload_codec> others) {
  return std::make_shared<const announcing>(std::move(others));
}

}  // namespace troupe::ipc
