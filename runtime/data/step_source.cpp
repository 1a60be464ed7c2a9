#include "runtime/data/step_source.hpp"

#include <utility>

#include "messages/try.hpp"

namespace troupe {

step_source::step_source(std::shared_ptr<micro_batch_source> from, std::uint64_t replicas)
    : from_(std::move(from)), replicas_(replicas) {}

expected<std::optional<loaded_micro_batch>> step_source::next() {
  if (replicas_ == 1) return from_->next();
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
    auto next = TROUPE_TRY(from_->next());
    if (!next) break;
    all.push_back(std::move(*next));
  }
  leaves_ = std::move(all);
  return {};
}

}  // namespace troupe
