#include "runtime/weights/safetensors_header.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace troupe {
namespace {

using nlohmann::json;

/// An entry in a vector that doubles, with its two texts and its shape on the heap.
constexpr std::uint64_t entry_bytes = 3 * (sizeof(safetensors_entry) + 64);

/// The events of a JSON text whose form is known. The names of the functions are nlohmann's; each says whether to go
/// on. nlohmann keeps one bit for each level, so that depth costs nothing.
class known_form : public nlohmann::json_sax<json> {
 public:
  explicit known_form(std::uint64_t memory_bytes) : left_(memory_bytes) {}

  bool null() override { return wrong("has null"); }
  bool boolean(bool /*value*/) override { return wrong("has a truth value"); }
  bool number_integer(number_integer_t value) override { return wrong("has the number " + std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return wrong("has the number " + std::to_string(value)); }
  bool number_float(number_float_t /*value*/, const string_t& digits) override {
    return wrong("has the number " + digits.substr(0, 40));
  }
  bool binary(binary_t& /*value*/) override { return wrong("has bytes"); }
  bool start_array(std::size_t /*elements*/) override { return wrong("has an array"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*caught*/) override {
    if (fault_.cause.empty()) fault_.cause = "is no JSON text at byte " + std::to_string(position);
    return false;
  }
  [[nodiscard]] const header_fault& fault() const { return fault_; }

 protected:
  bool wrong(const std::string& cause) {
    fault_.cause = cause;
    return false;
  }
  bool take(std::uint64_t bytes) {
    if (bytes <= left_) {
      left_ -= bytes;
      return true;
    }
    fault_.is_too_large = true;
    return wrong("would take more memory than a file of this size may");
  }

 private:
  std::uint64_t left_;
  header_fault fault_;
};

class header_form final : public known_form {
 public:
  using known_form::known_form;

  bool start_object(std::size_t /*elements*/) override {
    ++depth_;
    if (depth_ == 1) return true;
    return depth_ == 2 && !in_array_ && has_key_ ? take_key() : wrong("has an object inside of " + key_);
  }
  bool end_object() override {
    --depth_;
    if (depth_ != 1 || in_metadata_) {
      in_metadata_ = false;
      return true;
    }
    constexpr unsigned all = 7;
    return fields_ == all || wrong("lacks dtype, shape or data_offsets at " + entries.back().name);
  }
  bool key(string_t& value) override {
    key_ = value.substr(0, 200);
    has_key_ = depth_ == 1;
    if (depth_ == 1) {
      in_metadata_ = value == "__metadata__";
      fields_ = 0;
      if (in_metadata_) return metadata_count_++ == 0 || wrong("has two __metadata__");
      if (!take(entry_bytes + value.size())) return false;
      entries.push_back({.name = value, .dtype = {}, .shape = {}});
      return true;
    }
    if (in_metadata_) return true;
    constexpr unsigned other = 8;
    field_ = value == "dtype" ? 1 : value == "shape" ? 2 : value == "data_offsets" ? 4 : other;
    if (field_ == other) return wrong("has a member " + key_ + " at " + entries.back().name);
    if ((fields_ & field_) != 0) return wrong("has two members " + key_ + " at " + entries.back().name);
    fields_ |= field_;
    return true;
  }
  bool string(string_t& value) override {
    if (depth_ == 2 && in_metadata_ && !in_array_) return true;
    constexpr std::size_t dtype_bytes_max = 40;
    if (depth_ != 2 || field_ != 1 || value.size() > dtype_bytes_max) return wrong("has a text at " + key_);
    entries.back().dtype = value;
    return true;
  }
  bool start_array(std::size_t /*elements*/) override {
    if (depth_ != 2 || in_metadata_ || in_array_ || (field_ != 2 && field_ != 4))
      return wrong("has an array at " + key_);
    in_array_ = true;
    offsets_ = 0;
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    return field_ == 2 || offsets_ == 2 || wrong("has not two data_offsets at " + entries.back().name);
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array_) return wrong("has a number at " + key_);
    if (field_ == 2) {
      entries.back().shape.push_back(value);
      return take(3 * sizeof value);
    }
    if (offsets_ == 2) return wrong("has not two data_offsets at " + entries.back().name);
    (offsets_++ == 0 ? entries.back().begin : entries.back().end) = value;
    return true;
  }

  std::vector<safetensors_entry> entries;

 private:
  /// An object is what a key of the first level has.
  bool take_key() {
    has_key_ = false;
    return true;
  }

  int depth_ = 0;
  bool has_key_ = false;
  bool in_array_ = false;
  bool in_metadata_ = false;
  unsigned metadata_count_ = 0;
  /// Which member is read, and which were: 1 dtype, 2 shape, 4 data_offsets.
  unsigned field_ = 0;
  unsigned fields_ = 0;
  unsigned offsets_ = 0;
  /// The last one, for errors.
  std::string key_;
};

/// Takes the texts in "weight_map", and nothing of the other members.
class weight_map_form final : public known_form {
 public:
  using known_form::known_form;

  bool null() override { return other(); }
  bool boolean(bool /*value*/) override { return other(); }
  bool number_integer(number_integer_t /*value*/) override { return other(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return other(); }
  bool number_float(number_float_t /*value*/, const string_t& /*digits*/) override { return other(); }
  bool start_array(std::size_t /*elements*/) override {
    ++depth_;
    return depth_ > 1 && other();
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool start_object(std::size_t /*elements*/) override {
    ++depth_;
    return depth_ <= 2 || other();
  }
  bool end_object() override {
    --depth_;
    if (depth_ == 1) in_map_ = false;
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 1) {
      in_map_ = value == "weight_map";
      return !in_map_ || maps++ == 0 || wrong("has two weight_map");
    }
    if (in_map_) key_ = value;
    return true;
  }
  bool string(string_t& value) override {
    if (!in_map_) return true;
    if (depth_ != 2) return other();
    files.emplace_back(key_, value);
    return take(entry_bytes + key_.size() + value.size());
  }

  std::vector<std::pair<std::string, std::string>> files;
  int maps = 0;

 private:
  bool other() { return !in_map_ || wrong("has something else than the name of a file in weight_map, at " + key_); }

  int depth_ = 0;
  bool in_map_ = false;
  std::string key_;
};

/// One of the names that stand twice.
template <class Entries, class Name>
std::string doubled(const Entries& entries, Name name) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const auto& each : entries) names.push_back(name(each));
  std::ranges::sort(names);
  const auto found = std::ranges::adjacent_find(names);
  return found == names.end() ? std::string() : "has two members " + std::string(*found);
}

tl::unexpected<header_fault> faulty(header_fault fault) {
  if (fault.cause.empty()) fault.cause = "is no JSON object";
  return tl::make_unexpected(std::move(fault));
}

}  // namespace

tl::expected<std::vector<safetensors_entry>, header_fault> parse_safetensors_header(std::string_view text,
                                                                                    std::uint64_t memory_bytes) {
  header_form form(memory_bytes);
  if (!json::sax_parse(text, &form)) return faulty(form.fault());
  std::string twice = doubled(form.entries, [](const auto& each) { return std::string_view(each.name); });
  if (!twice.empty()) return faulty({.cause = std::move(twice)});
  return std::move(form.entries);
}

tl::expected<std::vector<std::pair<std::string, std::string>>, header_fault> parse_weight_map(
    std::string_view text, std::uint64_t memory_bytes) {
  weight_map_form form(memory_bytes);
  if (!json::sax_parse(text, &form)) return faulty(form.fault());
  if (form.maps == 0) return faulty({.cause = "has no member weight_map"});
  std::string twice = doubled(form.files, [](const auto& each) { return std::string_view(each.first); });
  if (!twice.empty()) return faulty({.cause = std::move(twice)});
  return std::move(form.files);
}

}  // namespace troupe
