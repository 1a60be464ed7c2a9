#include "runtime/journal/journal_format.hpp"

#include <bit>

#include <zlib.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe::journal_format {
namespace {

enum class record_kind : std::uint8_t { header = 1, state = 2, step = 3 };

std::uint32_t checksum(std::span<const std::uint8_t> content) {
  return static_cast<std::uint32_t>(::crc32_z(0, content.data(), content.size()));
}

template <class Integer>
void put(bytes& out, Integer value) {
  for (std::size_t byte = 0; byte < sizeof(value); ++byte)
    out.push_back(static_cast<std::uint8_t>(value >> (8 * byte)));
}

template <class Integer>
Integer get(std::span<const std::uint8_t, sizeof(Integer)> from) {
  std::uint64_t value = 0;
  for (std::size_t byte = 0; byte < sizeof(Integer); ++byte) value |= std::uint64_t{from[byte]} << (8 * byte);
  return static_cast<Integer>(value);
}

void put_text(bytes& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.insert(out.end(), text.begin(), text.end());
}

void put_words(bytes& out, const std::vector<std::uint64_t>& words) {
  put(out, static_cast<std::uint32_t>(words.size()));
  for (const std::uint64_t word : words) put(out, word);
}

/// Reads within the payload only; once something is missing, `good` stays false.
class cursor {
 public:
  explicit cursor(std::span<const std::uint8_t> rest) : rest_(rest) {}

  template <class Integer>
  Integer take() {
    if (rest_.size() < sizeof(Integer)) good_ = false;
    if (!good_) return 0;
    const auto value = get<Integer>(rest_.first<sizeof(Integer)>());
    rest_ = rest_.subspan(sizeof(Integer));
    return value;
  }
  std::string take_text() {
    const auto size = take<std::uint32_t>();
    if (rest_.size() < size) good_ = false;
    if (!good_) return {};
    const auto text = rest_.first(size);
    rest_ = rest_.subspan(size);
    return {text.begin(), text.end()};
  }
  double take_double() { return std::bit_cast<double>(take<std::uint64_t>()); }
  /// Words up to the end, behind their number. No memory is taken for words that are not there.
  std::vector<std::uint64_t> take_words() {
    const std::uint64_t count = take<std::uint32_t>();
    if (rest_.size() != count * sizeof(std::uint64_t)) good_ = false;
    std::vector<std::uint64_t> words;
    if (good_) words.reserve(count);
    while (good_ && words.size() < count) words.push_back(take<std::uint64_t>());
    return words;
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::uint8_t> rest_;
  bool good_ = true;
};

/// Leaves room for the head, to be filled by end_record once the payload stands behind it.
std::size_t begin_record(bytes& out, record_kind kind) {
  const std::size_t begin = out.size();
  out.resize(begin + head_bytes);
  put(out, static_cast<std::uint8_t>(kind));
  return begin;
}

void end_record(bytes& out, std::size_t begin) {
  const std::span<const std::uint8_t> payload = std::span(out).subspan(begin + head_bytes);
  const std::uint32_t of_payload = checksum(payload);
  bytes head;
  put(head, static_cast<std::uint32_t>(payload.size()));
  put(head, checksum(head));
  std::copy(head.begin(), head.end(), out.begin() + static_cast<std::ptrdiff_t>(begin));
  put(out, of_payload);
}

}  // namespace

bytes encode_header(const journal_pins& pins) {
  bytes out(magic.begin(), magic.end());
  const std::size_t begin = begin_record(out, record_kind::header);
  put(out, static_cast<std::uint32_t>(pins.size()));
  for (const journal_pin& each : pins) {
    put_text(out, each.name);
    put_text(out, each.value);
  }
  end_record(out, begin);
  return out;
}

void append_state(bytes& out, const score& state) {
  TROUPE_CHECK(state.words.size() <= limits::score_words_max, "longer states are refused before");
  const std::size_t begin = begin_record(out, record_kind::state);
  put(out, state.sink);
  put(out, state.id.index);
  put(out, state.samples);
  put_words(out, state.words);
  end_record(out, begin);
}

void append_step(bytes& out, const step_record& step) {
  TROUPE_CHECK(step.folded.size() <= limits::score_words_max, "longer states are refused before");
  const std::size_t begin = begin_record(out, record_kind::step);
  put(out, step.number);
  put(out, step.decision.call);
  put(out, step.decision.step);
  put(out, static_cast<std::uint8_t>(step.decision.is_applied));
  for (const double each : {step.decision.gradient_scale, step.decision.learning_rate, step.weight, step.norm}) {
    put(out, std::bit_cast<std::uint64_t>(each));
  }
  put_words(out, step.folded);
  end_record(out, begin);
}

std::optional<std::uint32_t> decode_head(std::span<const std::uint8_t, head_bytes> head) {
  if (checksum(head.first<4>()) != get<std::uint32_t>(head.last<4>())) return std::nullopt;
  return get<std::uint32_t>(head.first<4>());
}

bool checksum_matches(std::span<const std::uint8_t> payload, std::span<const std::uint8_t, checksum_bytes> stored) {
  return checksum(payload) == get<std::uint32_t>(stored);
}

std::optional<journal_pins> decode_header(std::span<const std::uint8_t> payload) {
  cursor from(payload);
  if (from.take<std::uint8_t>() != static_cast<std::uint8_t>(record_kind::header)) return std::nullopt;
  journal_pins pins;
  for (auto count = from.take<std::uint32_t>(); count > 0 && from.good(); --count) {
    std::string name = from.take_text();
    pins.push_back({std::move(name), from.take_text()});
  }
  if (!from.good() || from.left() > 0) return std::nullopt;
  return pins;
}

std::optional<score> decode_state(std::span<const std::uint8_t> payload) {
  cursor from(payload);
  if (from.take<std::uint8_t>() != static_cast<std::uint8_t>(record_kind::state)) return std::nullopt;
  score state;
  state.sink = from.take<std::uint32_t>();
  state.id.index = from.take<std::uint64_t>();
  state.samples = from.take<std::uint64_t>();
  state.words = from.take_words();
  if (!from.good()) return std::nullopt;
  return state;
}

std::optional<step_record> decode_step(std::span<const std::uint8_t> payload) {
  cursor from(payload);
  if (from.take<std::uint8_t>() != static_cast<std::uint8_t>(record_kind::step)) return std::nullopt;
  step_record step;
  step.number = from.take<std::uint64_t>();
  step.decision.call = from.take<std::uint64_t>();
  step.decision.step = from.take<std::uint64_t>();
  const auto is_applied = from.take<std::uint8_t>();
  step.decision.is_applied = is_applied == 1;
  for (double* each : {&step.decision.gradient_scale, &step.decision.learning_rate, &step.weight, &step.norm}) {
    *each = from.take_double();
  }
  step.folded = from.take_words();
  if (!from.good() || is_applied > 1) return std::nullopt;
  return step;
}

}  // namespace troupe::journal_format
