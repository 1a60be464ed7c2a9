#include "runtime/model/check_ids.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/aminmax.h>
#include <c10/core/InferenceMode.h>

#include "messages/try.hpp"

namespace troupe {
namespace {

struct ids_given {
  const graph_input& input;
  const at::Tensor& ids;
  const std::string& where;

  [[nodiscard]] tl::unexpected<error> refuse(const std::string& cause, std::string fix) const {
    return fail(error_code::model_rejects_sample, where, "the input \"" + input.name + "\" " + cause, std::move(fix));
  }
};

expected<void> check_range(const ids_given& given, std::int64_t count) {
  const auto [least, most] = at::aminmax(given.ids);
  const std::int64_t low = least.item<std::int64_t>();
  const std::int64_t wrong = low < 0 ? low : most.item<std::int64_t>();
  if (wrong >= 0 && wrong < count) return {};
  return given.refuse("has the number " + std::to_string(wrong) + ", and the model has embeddings for 0 to " +
                          std::to_string(count - 1),
                      "make the data with the tokenizer that belongs to these weights");
}

/// The ids of the longest sequence that take a position. Most calls need not count them.
std::int64_t longest_of(const at::Tensor& ids, const id_limits& limits) {
  if (!limits.padding || ids.size(1) <= *limits.longest) return ids.size(1);
  return ids.ne(*limits.padding).sum(1).max().item<std::int64_t>();
}

expected<void> check_length(const ids_given& given, const id_limits& limits) {
  if (!limits.longest) return {};
  const std::int64_t found = longest_of(given.ids, limits);
  const std::string most = std::to_string(*limits.longest);
  if (found <= *limits.longest) return {};
  return given.refuse(
      "has a sequence of " + std::to_string(found) + " tokens, and the model has positions for " + most,
      "cut the sequences to " + most + " tokens: max-length=" + most + " for data of texts (block=" + most +
          " for text:), or tokenizer(..., truncation=True, max_length=" + most + ") of transformers for arrays");
}

}  // namespace

expected<void> check_ids(const graph_input& input, const at::Tensor& given, const std::string& where) {
  if (!input.ids) return {};
  const ids_given all{input, given, where};
  const c10::ScalarType type = given.scalar_type();
  if (type != c10::kLong && type != c10::kInt) {
    return all.refuse("is of the type " + std::string(c10::toString(type)) + ", and ids are integers",
                      "give it as int64 or int32, and no floating type for the data");
  }
  if (given.dim() != 2) {
    return all.refuse("has " + std::to_string(given.dim()) + " dimensions, and ids have 2, [N, S]",
                      "give one row of ids for each sample, all of one length");
  }
  if (!given.is_cpu() || given.numel() == 0) return {};
  const c10::InferenceMode no_gradients;
  TROUPE_TRY(check_length(all, *input.ids));
  return check_range(all, input.ids->count);
}

}  // namespace troupe
