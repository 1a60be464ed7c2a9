// The edge contract under random interleavings, in one thread: seeded operations on both ends against a model that
// knows what was sent, received, released, flushed and closed. A failure prints its seed.
#pragma once

#include <deque>

#include "edge_contract_support.hpp"

namespace troupe::testing {

/// What an edge may show at most (when nothing is under way: exactly that).
class edge_model {
 public:
  explicit edge_model(std::uint32_t slots) : slots_(slots) {}

  void sent(micro_batch_id id) { queue_.push_back({id, flushed_}); }
  micro_batch_id receive() {
    const micro_batch_id id = queue_.front().id;
    queue_.pop_front();
    ++in_use_;
    return id;
  }
  void release() { --in_use_; }
  void flush(call_number call) { flushed_ = std::max(flushed_, std::optional(call)); }

  [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
  [[nodiscard]] std::size_t in_use() const { return in_use_; }
  [[nodiscard]] std::size_t free() const { return slots_ - queue_.size() - in_use_; }
  [[nodiscard]] std::optional<call_number> ended() const { return queue_.empty() ? flushed_ : queue_.front().before; }

 private:
  struct entry {
    micro_batch_id id;
    std::optional<call_number> before;
  };
  const std::size_t slots_;
  std::deque<entry> queue_;
  std::size_t in_use_ = 0;
  std::optional<call_number> flushed_;
};

template <class Backend>
class edge_random_contract : public edge_fixture<Backend> {
 protected:
  /// One random operation; what it shows is compared with the model.
  void operate() {
    switch (random_() % 6) {
      case 0:
      case 1:
        return try_one_send();
      case 2:
        return try_one_receive();
      case 3:
        if (model_->in_use() == 0) return;
        this->ends.consumer->release();
        return model_->release();
      case 4:
        if (random_() % 4 == 0) ++call_;
        model_->flush(call_);
        return this->ends.producer->send_flush(call_);
      default:
        return this->backend.some_arrive(random_);
    }
  }

  void try_one_send() {
    activation given = this->message(next_, call_);
    const micro_batch_id id = given.id;
    const payload* tensors = given.tensors.get();
    const bool has_credit = this->ends.producer->has_credit();
    const std::uint32_t credits = this->ends.producer->credits();
    const send_status status = this->ends.producer->try_send(given);
    if (status == send_status::sent) {
      if constexpr (!edge_fixture<Backend>::lags) {  // else a credit may have come since
        ASSERT_TRUE(has_credit);
        ASSERT_GT(credits, 0u);
      }
      ASSERT_GT(model_->free(), 0u) << "sent without a free slot";
      model_->sent(id);
      ++next_;
    } else {
      ASSERT_EQ(status, send_status::no_credit);
      ASSERT_FALSE(has_credit);
      ASSERT_EQ(credits, 0u);
      ASSERT_EQ(given.tensors.get(), tensors);
    }
  }

  void try_one_receive() {
    const auto got = this->ends.consumer->try_receive();
    if (!got) return;
    ASSERT_GT(model_->waiting(), 0u) << "received twice, or never sent";
    ASSERT_EQ(got->id, model_->receive());
  }

  void check_bounds() {
    ASSERT_LE(this->ends.producer->credits(), model_->free());
    ASSERT_LE(this->ends.consumer->flushed_through(), model_->ended()) << "ended before everything was received";
    ASSERT_FALSE(this->ends.consumer->exhausted());
    if constexpr (!edge_fixture<Backend>::lags) check_alive();
  }

  void check_alive() { ASSERT_EQ(this->alive, this->kept(2 * model_->waiting())) << "payloads on the edge"; }

  void check_settled() {
    this->backend.settle();
    ASSERT_EQ(this->ends.producer->credits(), model_->free());
    ASSERT_EQ(this->ends.consumer->flushed_through(), model_->ended());
    check_alive();
  }

  void finish() {
    this->ends.producer->close();
    this->backend.settle();
    while (model_->waiting() > 0) try_one_receive();
    ASSERT_TRUE(this->ends.consumer->exhausted());
    ASSERT_EQ(this->alive, 0);
  }

  void run(std::uint64_t seed) {
    random_.seed(seed);
    const auto slots = static_cast<std::uint32_t>(1 + random_() % 16);
    this->open(slots, static_cast<std::uint32_t>(1 + random_() % 20));
    model_.emplace(slots);
    call_ = next_ = 0;
    for (int step = 0; step < 300 && !this->HasFatalFailure(); ++step) {
      operate();
      if (!this->HasFatalFailure()) check_bounds();
      if (!this->HasFatalFailure() && random_() % 8 == 0) check_settled();
    }
    if (!this->HasFatalFailure()) finish();
  }

 private:
  std::mt19937_64 random_;
  std::optional<edge_model> model_;
  call_number call_ = 0;
  std::uint64_t next_ = 0;
};
TYPED_TEST_SUITE_P(edge_random_contract);

TYPED_TEST_P(edge_random_contract, behaves_as_the_model_for_every_seed) {
  for (std::uint64_t seed = 1; seed <= 2000 / TestFixture::share_of_stress && !this->HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    this->run(seed);
  }
}

REGISTER_TYPED_TEST_SUITE_P(edge_random_contract, behaves_as_the_model_for_every_seed);

}  // namespace troupe::testing
