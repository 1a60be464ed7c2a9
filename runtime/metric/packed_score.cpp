#include "runtime/metric/packed_score.hpp"

#include <cstring>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include <ATen/ops/zeros.h>

#include "messages/exception_text.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/metric/score_layout.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
using words = std::span<const std::uint64_t>;

/// Zeros, as aligned as the codec wants them.
at::Tensor aligned_words(std::size_t count) {
  return at::zeros({static_cast<std::int64_t>(count)}, at::kLong);
}

std::span<std::byte> bytes_of(const at::Tensor& aligned, std::size_t bytes) {
  return std::span(static_cast<std::byte*>(aligned.mutable_data_ptr()), bytes);
}

expected<void> add_outputs(const score& made, std::vector<std::uint64_t>& packed) {
  const tensor_codec codec;
  const std::size_t bytes = codec.size_of(*made.outputs);
  const std::size_t count = words_for(bytes);
  if (packed.size() + 1 + count > limits::score_words_max) {
    return fail(error_code::metric_failed, to_string(made.id),
                "outputs of " + std::to_string(bytes) + " bytes, and a score between processes holds " +
                    std::to_string(limits::score_words_max * word_bytes),
                "use smaller micro-batches, or stages in one process");
  }
  const at::Tensor aligned = aligned_words(count);
  codec.write(*made.outputs, bytes_of(aligned, bytes));
  packed.push_back(bytes);
  const auto* begin = static_cast<const std::uint64_t*>(aligned.const_data_ptr());
  packed.insert(packed.end(), begin, begin + count);
  return {};
}

/// Null: they cannot be true.
payload_ptr outputs_in(words said) {
  if (said.empty()) return nullptr;
  const std::uint64_t bytes = said.front();
  const words content = said.subspan(1);
  if (bytes == 0 || bytes > content.size_bytes() || words_for(bytes) != content.size()) return nullptr;
  const at::Tensor aligned = aligned_words(content.size());
  std::memcpy(aligned.mutable_data_ptr(), content.data(), content.size_bytes());
  auto read = tensor_codec().read(bytes_of(aligned, bytes), std::make_shared<const at::Tensor>(aligned));
  return read && as_tensors(*read).tensors().size() == 1 ? *read : nullptr;
}

}  // namespace

loss_request request_of(score_content content, std::uint32_t sink) noexcept {
  if (sink > 0) return {.compute_loss = false, .keep_outputs = false};
  return {.compute_loss = content == score_content::loss || content == score_content::loss_and_outputs,
          .keep_outputs = content == score_content::outputs || content == score_content::loss_and_outputs};
}

expected<void> packing_scorer::evaluate(const payload_ptr& outputs, const activation& input, score& into) try {
  TROUPE_TRY(inner_.evaluate(outputs, input, into));
  if (into.words.size() >= limits::score_words_max) {
    return fail(error_code::metric_failed, to_string(input.id),
                "the loss has " + std::to_string(into.words.size()) + " parts", "give fewer of them");
  }
  std::vector<std::uint64_t> packed = {into.words.size()};
  packed.insert(packed.end(), into.words.begin(), into.words.end());
  if (into.outputs) {
    TROUPE_TRY(add_outputs(into, packed));
    into.outputs = nullptr;
  }
  into.words = std::move(packed);
  return {};
} catch (const std::exception& e) {
  return fail(error_code::metric_failed, to_string(input.id), "the outputs: " + exception_text(e),
              "return dense tensors of the CPU");
}

std::optional<std::string> unpack(score& said, loss_request asked) try {
  if (said.words.empty()) return "score.words are none";
  const std::uint64_t parts = said.words.front();
  if (parts >= said.words.size() || (parts > 0) != asked.compute_loss) {
    return "score.words say that the loss has " + std::to_string(parts) + " parts";
  }
  const words behind = words(said.words).subspan(1 + parts);
  if (asked.keep_outputs) {
    said.outputs = outputs_in(behind);
    if (!said.outputs) return "score.words have no outputs that can be read";
  } else if (!behind.empty()) {
    return "score.words have " + std::to_string(behind.size()) + " that were not asked for";
  }
  said.words =
      std::vector<std::uint64_t>(said.words.begin() + 1, said.words.begin() + 1 + static_cast<std::ptrdiff_t>(parts));
  return std::nullopt;
} catch (const std::exception& e) {
  return "score.words cannot be read: " + exception_text(e);
}

}  // namespace troupe
