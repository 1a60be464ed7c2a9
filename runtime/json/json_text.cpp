#include "runtime/json/json_text.hpp"

#include <cstddef>

#include "messages/file_fixes.hpp"

namespace troupe {
namespace {

/// A value in a vector that grows by doubling, or with its name in a node of a map.
constexpr std::uint64_t element_bytes = 40;
constexpr std::uint64_t member_bytes = 112;
constexpr std::uint64_t container_bytes = 64;
constexpr std::uint64_t text_bytes = 48;

/// Counts, and keeps nothing. The names of the functions are nlohmann's.
class json_measure : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit json_measure(std::uint64_t limit) : limit_(limit) {}

  bool null() override { return add(element_bytes); }
  bool boolean(bool /*value*/) override { return add(element_bytes); }
  bool number_integer(number_integer_t /*value*/) override { return add(element_bytes); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return add(element_bytes); }
  bool number_float(number_float_t /*value*/, const string_t& /*digits*/) override { return add(element_bytes); }
  bool string(string_t& value) override { return add(element_bytes + text_bytes + value.size()); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool key(string_t& value) override { return add(member_bytes + value.size()); }
  bool start_object(std::size_t /*elements*/) override { return enter(); }
  bool start_array(std::size_t /*elements*/) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*caught*/) override {
    position_ = position;
    return false;
  }

  [[nodiscard]] bool is_too_deep() const { return depth_ > json_depth_max; }
  [[nodiscard]] bool is_too_large() const { return bytes_ > limit_; }
  [[nodiscard]] std::size_t position() const { return position_; }

 private:
  bool add(std::uint64_t bytes) {
    bytes_ += bytes;
    return !is_too_large();
  }
  bool enter() {
    ++depth_;
    return !is_too_deep() && add(element_bytes + container_bytes);
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::uint64_t limit_;
  std::uint64_t bytes_ = 0;
  std::size_t depth_ = 0;
  std::size_t position_ = 0;
};

}  // namespace

expected<nlohmann::json> parse_json(std::string_view text, std::uint64_t memory_bytes, const std::string& where,
                                    const std::string& name) {
  json_measure measure(memory_bytes);
  if (nlohmann::json::sax_parse(text, &measure)) return nlohmann::json::parse(text);
  if (measure.is_too_deep()) {
    return fail(error_code::model_beyond_limits, where,
                name + " is nested more than " + std::to_string(json_depth_max) + " deep", limits_fix);
  }
  if (measure.is_too_large()) {
    return fail(error_code::model_beyond_limits, where,
                name + " has " + std::to_string(text.size()) + " bytes and would take more than " +
                    std::to_string(memory_bytes) + " bytes of memory, which is the limit for a file of this size",
                limits_fix);
  }
  return fail(error_code::model_unreadable, where,
              name + " is damaged: it is no JSON text at byte " + std::to_string(measure.position()), copy_again_fix);
}

}  // namespace troupe
