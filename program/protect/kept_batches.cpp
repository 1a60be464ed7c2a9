#include "program/protect/kept_batches.hpp"

#include <utility>

#include "messages/try.hpp"

namespace troupe {

class kept_batches::reader final : public micro_batch_source {
 public:
  explicit reader(std::shared_ptr<kept_batches> batches) : batches_(std::move(batches)) {}
  expected<std::optional<loaded_micro_batch>> next() override { return batches_->at(position_++); }
  [[nodiscard]] std::optional<std::uint64_t> count() const override { return batches_->from_->count(); }

 private:
  std::shared_ptr<kept_batches> batches_;
  std::size_t position_ = 0;
};

std::shared_ptr<micro_batch_source> kept_batches::read(std::shared_ptr<kept_batches> batches) {
  return std::make_shared<reader>(std::move(batches));
}

expected<std::optional<loaded_micro_batch>> kept_batches::at(std::size_t position) {
  if (position < kept_.size()) return kept_[position];
  if (has_ended_) return std::nullopt;
  auto next = TROUPE_TRY(from_->next());
  has_ended_ = !next;
  if (next) {
    bytes_ += next->bytes;
    kept_.push_back(*next);
  }
  return next;
}

}  // namespace troupe
