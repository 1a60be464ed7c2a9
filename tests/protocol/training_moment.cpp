#include "tests/protocol/training_moment.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"

namespace troupe::testing {
namespace {

/// Writes numbers of a few bits each behind each other.
class bit_writer {
 public:
  explicit bit_writer(training_state& into) : into_(into) {}

  void bits(std::uint8_t value, unsigned width) {
    TROUPE_CHECK(value < 1u << width, "a value fits its place in a state");
    for (unsigned bit = 0; bit < width; ++bit, ++at_) {
      into_.at(at_ / 8) |= static_cast<std::uint8_t>((value >> bit & 1u) << (at_ % 8));
    }
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return (at_ + 7) / 8; }

 private:
  training_state& into_;
  std::size_t at_ = 0;
};

class bit_reader {
 public:
  explicit bit_reader(const training_state& from) : from_(from) {}

  void bits(std::uint8_t& value, unsigned width) {
    value = 0;
    for (unsigned bit = 0; bit < width; ++bit, ++at_) {
      value |= static_cast<std::uint8_t>((from_[at_ / 8] >> (at_ % 8) & 1u) << bit);
    }
  }

 private:
  const training_state& from_;
  std::size_t at_ = 0;
};

template <class Bits, class Queue>
void visit_queue(Bits& bits, Queue& queue) {
  bits.bits(queue.count, 3);
  for (std::size_t i = 0; i < queue.count; ++i) bits.bits(queue.ids[i], 4);
}

template <class Bits, class Copy>
void visit_copy(Bits& bits, Copy& copy) {
  bits.bits(copy.version, 2);
  bits.bits(copy.finished, 2);
  bits.bits(copy.is_torn, 1);
  bits.bits(copy.is_alive, 1);
  bits.bits(copy.epoch, 2);
  bits.bits(copy.forwards, 3);
  bits.bits(copy.backwards, 3);
  bits.bits(copy.live_version, 2);
  bits.bits(copy.added, 4);
  bits.bits(copy.has_sent_sum, 1);
  bits.bits(copy.has_sent_tied, 2);
  bits.bits(copy.has_voted, 1);
  bits.bits(copy.is_stopped, 1);
  bits.bits(copy.is_told, 1);
  for (auto& each : copy.sums) bits.bits(each, 2);
  for (auto& set : copy.tied) {
    for (auto& each : set) bits.bits(each, 2);
  }
  for (auto& each : copy.votes) bits.bits(each, 2);
  bits.bits(copy.counted, 2);
}

template <class Bits, class Moment>
void visit(Bits& bits, Moment& moment, std::size_t copies) {
  bits.bits(moment.loader_next, 4);
  bits.bits(moment.epoch, 2);
  bits.bits(moment.deaths, 2);
  bits.bits(moment.decided, 2);
  bits.bits(moment.journaled, 2);
  bits.bits(moment.folded, 4);
  for (std::size_t i = 0; i < copies; ++i) visit_copy(bits, moment.copies[i]);
  for (auto& set : moment.edges) {
    for (std::size_t i = 0; i < copies; ++i) visit_queue(bits, set.activations[i]);
    for (std::size_t i = 0; i < copies; ++i) visit_queue(bits, set.gradients[i]);
  }
}

}  // namespace

void id_queue::pop() noexcept {
  std::shift_left(ids.begin(), ids.begin() + count, 1);
  ids[--count] = 0;
}

training_state pack(const training_moment& moment, std::size_t copies) {
  training_state state{};
  bit_writer writer(state);
  visit(writer, moment, copies);
  return state;
}

training_moment unpack(const training_state& state, std::size_t copies) {
  training_moment moment;
  bit_reader reader(state);
  visit(reader, moment, copies);
  return moment;
}

std::size_t packed_size(std::size_t copies) {
  training_moment fullest;
  for (auto& set : fullest.edges) {
    for (auto* queues : {&set.activations, &set.gradients}) queues->fill({training_slots_max, {}});
  }
  training_state state{};
  bit_writer writer(state);
  visit(writer, fullest, copies);
  return writer.bytes();
}

}  // namespace troupe::testing
