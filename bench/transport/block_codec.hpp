#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "runtime/edge/payload_codec.hpp"

namespace troupe::bench {

/// Bytes somewhere: the source on the sending side, a slot or a buffer of the edge on the receiving one.
class block final : public payload {
 public:
  explicit block(std::span<const std::byte> of, std::shared_ptr<const void> owner = nullptr)
      : bytes(of), owner_(std::move(owner)) {}

  const std::span<const std::byte> bytes;

 private:
  const std::shared_ptr<const void> owner_;
};

/// Copies a block once, where it must, and views it in place, as tensor_codec does with tensors.
class block_codec final : public payload_codec {
 public:
  [[nodiscard]] std::size_t size_of(const payload& value) const override { return bytes_of(value).size(); }
  void write(const payload& value, std::span<std::byte> into) const override {
    std::memcpy(into.data(), bytes_of(value).data(), into.size());
  }
  void gather(const payload& value, gathered_bytes& into) const override { into.view(bytes_of(value)); }
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte> from,
                                           std::shared_ptr<const void> owner) const override {
    return std::make_shared<const block>(from, std::move(owner));
  }

  [[nodiscard]] static std::span<const std::byte> bytes_of(const payload& value) {
    return dynamic_cast<const block&>(value).bytes;
  }
};

}  // namespace troupe::bench
