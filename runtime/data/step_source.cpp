#include "runtime/data/step_source.hpp"

#include <utility>

#include "messages/try.hpp"

namespace troupe {

step_source::step_source(data_iterator iterator, batch_function transform, std::uint64_t micro_batches,
                         std::uint64_t replicas, bool is_constant)
    : from_(std::move(iterator), std::move(transform), micro_batches, is_constant), replicas_(replicas) {}

expected<std::optional<loaded_micro_batch>> step_source::next() {
  if (replicas_ == 1) return from_.next();
  if (!leaves_) {
    TROUPE_TRY(pull_all());
  }
  if (leaves_->empty()) return std::optional<loaded_micro_batch>();
  const step_layout layout{.leaves = leaves_->size(), .replicas = replicas_};
  if (next_index_ == layout.indices()) return std::optional<loaded_micro_batch>();
  const auto leaf = layout.leaf_of(next_index_++);
  if (!leaf) return std::optional(loaded_micro_batch{});
  return std::optional(std::move((*leaves_)[*leaf]));
}

expected<void> step_source::pull_all() {
  std::vector<loaded_micro_batch> all;
  for (;;) {
    auto next = TROUPE_TRY(from_.next());
    if (!next) break;
    all.push_back(std::move(*next));
  }
  leaves_ = std::move(all);
  return {};
}

}  // namespace troupe
