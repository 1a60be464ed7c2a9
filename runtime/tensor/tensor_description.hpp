#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include <ATen/core/DimVector.h>
#include <ATen/core/Tensor.h>

#include "runtime/tensor/quantized_tensor.hpp"

/// What tensors look like, as bytes: the part that codecs of the host and of devices share. Not for users: tensor_codec
/// has the layout.
namespace troupe {

inline constexpr std::uint64_t tensors_magic =
    0x5452'5054'0001'0000;  // "TRPT", layout 1; the count is in the low 16 bits
inline constexpr std::uint64_t tensors_count_mask = 0xffff;
inline constexpr std::size_t word_bytes = 8;

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

[[nodiscard]] bool has_whole_bytes(at::ScalarType type);
/// Why the host's codec cannot write the tensor, for people ("is sparse"); empty where it can.
[[nodiscard]] std::string why_no_bytes(const at::Tensor& tensor);
/// Its memory holds its values: not a conjugated, negated or all-zero view, whose values are made when they are read.
[[nodiscard]] bool is_plain(const at::Tensor& tensor);
/// Those of a dense tensor stay.
[[nodiscard]] at::DimVector strides_of(const at::Tensor& tensor);
/// Whether its memory is sent as it lies, so that its strides stay: that of a dense tensor, and also one with gaps or
/// with elements that share memory (expand), if from the first to the last element there is not much more than the
/// values. The next operator chooses its kernel by the strides.
[[nodiscard]] bool is_sent_as_it_lies(const at::Tensor& tensor);
/// Bytes of its values as they are sent.
[[nodiscard]] std::size_t sent_bytes(const at::Tensor& tensor);

class word_writer {
 public:
  explicit word_writer(std::span<std::byte> into) : into_(into) {}
  void word(std::uint64_t value) {
    std::memcpy(into_.data() + at_, &value, word_bytes);
    at_ += word_bytes;
  }
  void text(const std::string& value) {
    std::memset(into_.data() + at_, 0, round_up(value.size(), word_bytes));
    std::memcpy(into_.data() + at_, value.data(), value.size());
    at_ += round_up(value.size(), word_bytes);
  }

 private:
  std::span<std::byte> into_;
  std::size_t at_ = 0;
};

/// Reads no further than the bytes given; nothing where a word or text is cut.
class word_reader {
 public:
  explicit word_reader(std::span<const std::byte> from) : from_(from) {}
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::optional<std::uint64_t> word() {
    if (from_.size() - at_ < word_bytes) return std::nullopt;
    std::uint64_t value = 0;
    std::memcpy(&value, from_.data() + at_, word_bytes);
    at_ += word_bytes;
    return value;
  }
  [[nodiscard]] std::optional<std::string> text(std::size_t bytes) {
    const std::size_t padded = round_up(bytes, word_bytes);
    if (from_.size() - at_ < padded) return std::nullopt;
    std::string value(bytes, '\0');
    std::memcpy(value.data(), from_.data() + at_, bytes);
    at_ += padded;
    return value;
  }

 private:
  std::span<const std::byte> from_;
  std::size_t at_ = 0;
};

struct described_tensor {
  at::ScalarType type = at::kFloat;
  std::string name;
  std::size_t offset = 0;
  at::DimVector sizes;
  at::DimVector strides;
  /// Of a quantized type; always sound (is_sound).
  std::optional<affine_scale> scale;
};

/// Bytes that describe() writes.
[[nodiscard]] std::size_t described_bytes(const at::Tensor& tensor, const std::string& name);
void describe(const at::Tensor& tensor, const std::string& name, std::size_t offset, word_writer& out);
/// Nothing where it is cut short or beyond the limits.
[[nodiscard]] std::optional<described_tensor> read_description(word_reader& in);
/// Bytes from the first to the last element; nothing if sizes or strides are negative, or if they or the values would
/// be more than `most` (of the values: 16 times that, as elements may share memory).
[[nodiscard]] std::optional<std::size_t> spanned_bytes(const described_tensor& what, std::size_t most);
/// Bytes of a dense tensor; nothing if it is none, or would be larger than `most`.
[[nodiscard]] std::optional<std::size_t> dense_bytes(const described_tensor& what, std::size_t most);

}  // namespace troupe
