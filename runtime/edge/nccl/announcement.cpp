#include "runtime/edge/nccl/announcement.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "messages/limits.hpp"

namespace troupe::nccl {
namespace {

constexpr std::uint64_t hello_magic = 0x314F'4C48'5052'5421;         // "!TRPHLO1"
constexpr std::uint64_t announcement_magic = 0x314E'4E41'5052'5421;  // "!TRPANN1"
/// Magic, number, bytes of the description, count of extents.
constexpr std::size_t announcement_words = 4;
constexpr std::size_t words_per_extent = 2;
constexpr std::size_t word = sizeof(std::uint64_t);

std::uint64_t word_at(std::span<const std::byte> from, std::size_t at) {
  std::uint64_t got = 0;
  std::memcpy(&got, from.data() + at * word, word);
  return got;
}

class word_writer {
 public:
  explicit word_writer(std::span<std::byte> into) : left_(into) {}
  void put(std::uint64_t value) { put(std::as_bytes(std::span(&value, 1))); }
  void put(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    std::memcpy(left_.data(), bytes.data(), bytes.size());
    left_ = left_.subspan(bytes.size());
  }

 private:
  std::span<std::byte> left_;
};

tl::unexpected<error> no_announcement(const std::string& cause) {
  return fail(error_code::wire_malformed, "announcement of tensors", cause);
}

expected<payload_ptr> read_hello(std::span<const std::byte> from) {
  if (from.size() != word + sizeof(nccl::unique_id))
    return no_announcement("a hello of " + std::to_string(from.size()) + " bytes");
  nccl::unique_id id{};
  std::memcpy(id.bytes.data(), from.data() + word, sizeof(id));
  return std::make_shared<const hello>(id);
}

expected<payload_ptr> read_announcement(std::span<const std::byte> from) {
  if (from.size() < announcement_words * word) return no_announcement("it ends too early");
  const std::uint64_t described = word_at(from, 2);
  const std::uint64_t count = word_at(from, 3);
  if (described > limits::nccl_description_bytes_max || count > limits::wire_tensors_max) {
    return fail(error_code::wire_too_large, "announcement of tensors",
                std::to_string(described) + " bytes of description, " + std::to_string(count) + " tensors");
  }
  const std::size_t head = (announcement_words + count * words_per_extent) * word;
  if (from.size() != head + described) return no_announcement("its size is not that of its parts");
  std::vector<device_extent> extents;
  extents.reserve(count);
  for (std::size_t at = announcement_words; extents.size() < count; at += words_per_extent) {
    const std::uint64_t type = word_at(from, at + 1);
    if (type > static_cast<std::uint64_t>(element::float8_e5m2))
      return no_announcement(std::to_string(type) + " is no type of elements");
    extents.push_back({word_at(from, at), static_cast<element>(type)});
  }
  const auto description = from.subspan(head);
  return std::make_shared<const announcement>(
      word_at(from, 1), std::vector<std::byte>(description.begin(), description.end()), std::move(extents));
}

class announcing final : public payload_codec {
 public:
  explicit announcing(std::shared_ptr<const payload_codec> others) : others_(std::move(others)) {}

  [[nodiscard]] std::size_t size_of(const payload& value) const override {
    if (dynamic_cast<const hello*>(&value) != nullptr) return word + sizeof(nccl::unique_id);
    if (const auto* said = dynamic_cast<const announcement*>(&value)) {
      return (announcement_words + said->extents.size() * words_per_extent) * word + said->description.size();
    }
    return others_->size_of(value);
  }
  void write(const payload& value, std::span<std::byte> into) const override {
    word_writer to(into);
    if (const auto* first = dynamic_cast<const hello*>(&value)) {
      to.put(hello_magic);
      return to.put(std::as_bytes(std::span(first->id.bytes)));
    }
    const auto* said = dynamic_cast<const announcement*>(&value);
    if (said == nullptr) return others_->write(value, into);
    for (const std::uint64_t each : {announcement_magic, said->number, std::uint64_t{said->description.size()},
                                     std::uint64_t{said->extents.size()}}) {
      to.put(each);
    }
    for (const device_extent& each : said->extents) {
      to.put(each.count);
      to.put(static_cast<std::uint64_t>(each.type));
    }
    to.put(said->description);
  }
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte> from,
                                           std::shared_ptr<const void> owner) const override {
    const std::uint64_t magic = from.size() >= word ? word_at(from, 0) : 0;
    if (magic == hello_magic) return read_hello(from);
    if (magic == announcement_magic) return read_announcement(from);
    return others_->read(from, std::move(owner));
  }

 private:
  const std::shared_ptr<const payload_codec> others_;
};

}  // namespace

expected<std::uint64_t> room_of(std::span<const device_extent> extents) {
  std::uint64_t room = 0;
  for (const device_extent& each : extents) {
    const std::uint64_t size = bytes_of(each.type);
    if (size == 0) return no_announcement("it has elements of no type");
    const std::uint64_t left = limits::nccl_message_bytes_max - room;
    if (each.count > left / size) {
      return fail(error_code::wire_too_large, "announcement of tensors",
                  "more than " + std::to_string(limits::nccl_message_bytes_max) + " bytes",
                  "Use smaller micro-batches");
    }
    room += (each.count * size + limits::payload_alignment - 1) / limits::payload_alignment * limits::payload_alignment;
  }
  return room;
}

std::shared_ptr<const payload_codec> announcing_codec(std::shared_ptr<const payload_codec> others) {
  return std::make_shared<const announcing>(std::move(others));
}

}  // namespace troupe::nccl
