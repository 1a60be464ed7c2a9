#include "runtime/edge/cuda_ipc/ipc_announcement.hpp"

#include <cstring>
#include <span>
#include <stdexcept>

namespace troupe::ipc {
namespace {

constexpr std::uint64_t place_magic = 0x3143'5049'5052'5421;  // "!TRPIPC1"
constexpr std::size_t head_bytes = sizeof(place_magic) + sizeof(place);

/// Behind a place there is a description of tensors, and nothing else.
class no_payloads final : public payload_codec {
 public:
  [[nodiscard]] std::size_t size_of(const payload&) const override { throw std::runtime_error("no tensors"); }
  void write(const payload&, std::span<std::byte>) const override {}
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte>, std::shared_ptr<const void>) const override {
    return fail(error_code::wire_malformed, "cuda_ipc edge", "a place of no tensors");
  }
};

class announcing final : public payload_codec {
 public:
  explicit announcing(std::shared_ptr<const payload_codec> others)
      : others_(std::move(others)), described_(nccl::announcing_codec(std::make_shared<const no_payloads>())) {}

  [[nodiscard]] std::size_t size_of(const payload& value) const override {
    const auto* said = dynamic_cast<const announcement*>(&value);
    return said == nullptr ? others_->size_of(value) : head_bytes + described_->size_of(*said->tensors);
  }
  void write(const payload& value, std::span<std::byte> into) const override {
    const auto* said = dynamic_cast<const announcement*>(&value);
    if (said == nullptr) return others_->write(value, into);
    std::memcpy(into.data(), &place_magic, sizeof(place_magic));
    std::memcpy(into.data() + sizeof(place_magic), &said->where, sizeof(place));
    described_->write(*said->tensors, into.subspan(head_bytes));
  }
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte> from,
                                           std::shared_ptr<const void> owner) const override {
    std::uint64_t magic = 0;
    if (from.size() >= head_bytes) std::memcpy(&magic, from.data(), sizeof(magic));
    if (magic != place_magic) return others_->read(from, std::move(owner));
    auto read = described_->read(from.subspan(head_bytes), nullptr);
    if (!read) return read;
    auto tensors = std::dynamic_pointer_cast<const nccl::announcement>(*read);
    if (tensors == nullptr) return fail(error_code::wire_malformed, "cuda_ipc edge", "a place of no tensors");
    auto made = std::make_shared<announcement>(std::move(tensors), std::move(owner));
    std::memcpy(&made->where, from.data() + sizeof(place_magic), sizeof(place));
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
