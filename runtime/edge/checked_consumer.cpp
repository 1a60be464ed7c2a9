#include "runtime/edge/checked_consumer.hpp"

#include <string>
#include <utility>

#include "messages/limits.hpp"

namespace troupe {
namespace {

class checked_consumer final : public edge_consumer {
 public:
  checked_consumer(std::unique_ptr<edge_consumer> edge, arrival_check check)
      : edge_(std::move(edge)), check_(std::move(check)) {}

  [[nodiscard]] std::optional<activation> try_receive() override {
    if (damaged_) return std::nullopt;
    if (const auto ended = edge_->flushed_through(); ended && !may_have_ended(*ended)) {
      return refuse({error_code::wire_malformed, "edge", "call " + std::to_string(*ended) + " cannot have ended", {}});
    }
    auto message = edge_->try_receive();
    if (!message) return message;
    if (auto fine = check_.message(*message); !fine) return refuse(fine.error());
    return message;
  }
  void release() noexcept override { edge_->release(); }
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    const auto ended = damaged_ ? std::nullopt : edge_->flushed_through();
    return ended && may_have_ended(*ended) ? ended : std::nullopt;
  }
  [[nodiscard]] bool exhausted() const noexcept override { return !damaged_ && edge_->exhausted(); }
  void close() noexcept override { edge_->close(); }
  void abandon() noexcept override { edge_->abandon(); }

 private:
  [[nodiscard]] bool may_have_ended(call_number call) const noexcept { return !check_.ended || check_.ended(call); }

  std::nullopt_t refuse(const error& why) {
    damaged_ = true;
    if (check_.on_damaged) check_.on_damaged(why);
    return std::nullopt;
  }

  const std::unique_ptr<edge_consumer> edge_;
  const arrival_check check_;
  bool damaged_ = false;
};

}  // namespace

std::unique_ptr<edge_consumer> check_arrivals(std::unique_ptr<edge_consumer> edge, arrival_check check) {
  return std::make_unique<checked_consumer>(std::move(edge), std::move(check));
}

expected<void> check_form(const activation& message) {
  if (message.tensors == nullptr && !message.is_empty_part()) {
    return fail(error_code::wire_malformed, "edge, " + to_string(message.id), "it has no tensors");
  }
  if (message.samples.size() > limits::micro_batch_max) {
    return fail(error_code::wire_malformed, "edge, " + to_string(message.id),
                std::to_string(message.samples.size()) + " samples");
  }
  return {};
}

}  // namespace troupe
