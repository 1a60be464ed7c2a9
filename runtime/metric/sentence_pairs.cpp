#include "runtime/metric/sentence_pairs.hpp"

#include <cmath>
#include <cstring>

#include <ATen/ops/full.h>

#include "messages/try.hpp"
#include "runtime/metric/output_rows.hpp"

namespace troupe {

namespace {

struct row_head {
  std::uint64_t pair = 0;
  std::uint64_t side = 0;
  double score = 0;
  std::uint64_t dimensions = 0;
};

/// Bytes of the values, a multiple of 8.
std::size_t room_of(std::uint64_t dimensions) {
  return (dimensions * sizeof(float) + 7) / 8 * 8;
}

tl::unexpected<error> no_pairs(const std::string& metric, std::string cause) {
  return fail(error_code::metric_failed, metric, std::move(cause),
              "evaluate a model that gives one embedding for each text, --score-output sentence_embedding, on "
              "csv:FILE,text=COLUMN,pair=COLUMN,each-alone,target=COLUMN,tokenizer=FOLDER");
}

expected<at::Tensor> label_named(const std::string& metric, const scored_part& part, const char* name,
                                 at::ScalarType type) {
  const at::Tensor* const found = part.labels().find(name);
  if (found != nullptr && found->dim() == 1 && static_cast<std::size_t>(found->size(0)) == part.size()) {
    return found->to(type).contiguous();
  }
  return no_pairs(metric, "there is no label \"" + std::string(name) + "\" [samples]");
}

double cosine_of(const std::vector<float>& a, const std::vector<float>& b) {
  double product = 0;
  double squares_a = 0;
  double squares_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * b[i];
    squares_a += double{a[i]} * a[i];
    squares_b += double{b[i]} * b[i];
  }
  return product / std::sqrt(squares_a * squares_b);
}

}  // namespace

expected<void> append_embeddings(const std::string& metric, const scored_part& part, std::vector<std::byte>& rows) {
  const at::Tensor& outputs = *TROUPE_TRY(part.output());
  const bool fits = outputs.is_floating_point() && outputs.dim() == 2 && outputs.size(1) > 0 &&
                    static_cast<std::uint64_t>(outputs.size(1)) <= embedding_dimensions_max &&
                    static_cast<std::size_t>(outputs.size(0)) == part.size();
  if (!fits) {
    return no_pairs(metric, "expected outputs [samples, dimensions] of real numbers, found " + described(outputs));
  }
  const at::Tensor values = outputs.to(at::kFloat).contiguous();
  const at::Tensor pairs = TROUPE_TRY(label_named(metric, part, "pair", at::kLong));
  const at::Tensor sides = TROUPE_TRY(label_named(metric, part, "side", at::kLong));
  at::Tensor scores = at::full({outputs.size(0)}, NAN, at::kDouble);
  if (part.labels().find("score") != nullptr) scores = TROUPE_TRY(label_named(metric, part, "score", at::kDouble));
  const auto dimensions = static_cast<std::uint64_t>(values.size(1));
  const std::size_t row_size = sizeof(row_head) + room_of(dimensions);
  for (std::size_t i = 0; i < part.size(); ++i) {
    const row_head head{static_cast<std::uint64_t>(pairs.const_data_ptr<std::int64_t>()[i]),
                        static_cast<std::uint64_t>(sides.const_data_ptr<std::int64_t>()[i]),
                        scores.const_data_ptr<double>()[i], dimensions};
    const std::size_t at = rows.size();
    rows.resize(at + row_size);
    std::memcpy(rows.data() + at, &head, sizeof(head));
    std::memcpy(rows.data() + at + sizeof(head), values.const_data_ptr<float>() + i * dimensions,
                dimensions * sizeof(float));
  }
  return {};
}

std::vector<sentence_pair> sentence_pairs::add(std::span<const std::byte> rows) {
  std::vector<sentence_pair> made;
  while (rows.size() >= sizeof(row_head)) {
    row_head head;
    std::memcpy(&head, rows.data(), sizeof(head));
    rows = rows.subspan(sizeof(head));
    if (head.dimensions > embedding_dimensions_max || room_of(head.dimensions) > rows.size()) break;
    embedding here{.side = head.side, .values = std::vector<float>(head.dimensions)};
    if (head.dimensions > 0) std::memcpy(here.values.data(), rows.data(), head.dimensions * sizeof(float));
    rows = rows.subspan(room_of(head.dimensions));
    const auto other = single_.find(head.pair);
    if (other == single_.end()) {
      single_.emplace(head.pair, std::move(here));
      continue;
    }
    const embedding there = std::move(other->second);
    single_.erase(other);
    if (there.side == here.side || there.values.size() != here.values.size()) continue;
    made.push_back({head.pair, cosine_of(here.values, there.values), head.score});
  }
  return made;
}

}  // namespace troupe
