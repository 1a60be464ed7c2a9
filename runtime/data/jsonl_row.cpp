#include "runtime/data/jsonl_row.hpp"

#include <nlohmann/json.hpp>

namespace troupe {

namespace {

using nlohmann::json;

/// Gets the events of a parser, so that no document is built and depth costs no stack.
class row_events {
 public:
  row_events(const key_places& wanted, std::vector<table_cell>* cells, std::vector<std::string>* keys)
      : wanted_(wanted), cells_(cells), keys_(keys) {}

  std::optional<jsonl_problem> problem;

  bool null() { return captures() ? token("null") : leaf(std::nullopt); }
  bool boolean(bool value) { return scalar(value ? "true" : "false"); }
  bool number_integer(json::number_integer_t value) { return scalar(std::to_string(value)); }
  bool number_unsigned(json::number_unsigned_t value) { return scalar(std::to_string(value)); }
  bool number_float(json::number_float_t /*rounded*/, const std::string& text) { return scalar(text); }
  bool binary(json::binary_t& /*never in a text*/) { return false; }
  bool string(std::string& value) {
    if (value.find('\0') != std::string::npos) return refuse("has a NUL character", "leave it out");
    return captures() ? token(json(value).dump()) : leaf(std::move(value));
  }
  bool start_object(std::size_t /*unknown*/) {
    if (depth_ == 0) return enter();
    if (captures() || is_wanted()) return open('{', '}');
    return enter();
  }
  bool start_array(std::size_t /*unknown*/) {
    if (depth_ == 0) return refuse("is an array and no object", "write one object per line");
    if (captures() || is_wanted() || keys_ != nullptr) return open('[', ']');
    return open('[', ']', false);
  }
  bool key(std::string& name) {
    if (name.find('\0') != std::string::npos) return refuse("has a key with a NUL character", "leave it out");
    if (captures()) return name_inside(json(name).dump());
    path_.resize(path_ends_.back());
    if (path_ends_.back() != 0) path_ += '.';
    path_ += name;
    return true;
  }
  bool end_object() { return captures() ? close() : leave(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t at, const std::string& /*token*/, const json::exception& what) {
    const bool is_number = what.id == 406;
    return refuse(is_number ? "has a number that is too large, before byte " + std::to_string(at)
                            : "is no JSON, from byte " + std::to_string(at) + " on",
                  is_number ? "write numbers that a computer can hold" : "write one JSON object per line, in UTF-8");
  }

 private:
  [[nodiscard]] bool captures() const { return !brackets_.empty(); }
  [[nodiscard]] bool is_wanted() const { return wanted_.contains(path_); }
  bool refuse(std::string cause, std::string fix) {
    if (!problem) problem = jsonl_problem{std::move(cause), std::move(fix), path_};
    return false;
  }
  bool deeper() {
    if (++depth_ <= jsonl_depth_max) return true;
    return refuse("is nested more than " + std::to_string(jsonl_depth_max) + " deep", "write flatter objects");
  }
  bool scalar(const std::string& text) { return captures() ? token(text) : leaf(text); }

  // Inside of objects whose members are columns.
  bool enter() {
    path_ends_.push_back(path_.size());
    return deeper();
  }
  bool leave() {
    --depth_;
    path_.resize(path_ends_.back());
    path_ends_.pop_back();
    return true;
  }
  bool leaf(table_cell value) {
    if (depth_ == 0) return refuse("is no object", "write one object per line");
    if (keys_ != nullptr) {
      if (keys_->size() >= table_columns_max) return refuse("has too many keys", "write arrays in place of keys");
      keys_->push_back(path_);
      return true;
    }
    const auto found = wanted_.find(path_);
    if (found == wanted_.end()) return true;
    const std::size_t place = found->second;
    if (seen_.size() < wanted_.size()) seen_.resize(wanted_.size());
    if (seen_[place]) return refuse("has this key twice", "give each key once");
    seen_[place] = true;
    (*cells_)[place] = std::move(value);
    return true;
  }

  // Inside of a value that is taken as its text.
  bool open(char bracket, char closing, bool keeps = true) {
    if (captures()) separate();
    if (brackets_.empty()) {
      text_.clear();
      keeps_ = keeps;
    }
    brackets_ += closing;
    text_ += keeps_ ? std::string(1, bracket) : "";
    is_first_ = true;
    return deeper();
  }
  bool close() {
    --depth_;
    if (keeps_) text_ += brackets_.back();
    brackets_.pop_back();
    is_first_ = false;
    if (!brackets_.empty()) return true;
    return keeps_ ? leaf(std::move(text_)) : true;
  }
  void separate() {
    if (keeps_ && !is_first_ && !is_behind_name_) text_ += ',';
    is_first_ = false;
    is_behind_name_ = false;
  }
  bool token(const std::string& text) {
    separate();
    if (keeps_) text_ += text;
    return true;
  }
  bool name_inside(const std::string& name) {
    separate();
    is_behind_name_ = true;
    if (keeps_) text_.append(name).append(":");
    return true;
  }

  const key_places& wanted_;
  std::vector<table_cell>* cells_;
  std::vector<std::string>* keys_;
  std::vector<bool> seen_;
  std::size_t depth_ = 0;
  /// The column at hand, and for each object around it where its own name ends.
  std::string path_;
  std::vector<std::size_t> path_ends_;
  std::string brackets_;
  std::string text_;
  bool keeps_ = true;
  bool is_first_ = true;
  bool is_behind_name_ = false;
};

std::optional<jsonl_problem> parse(std::string_view line, row_events& events) {
  const bool is_fine = json::sax_parse(line.begin(), line.end(), &events);
  if (is_fine || events.problem) return events.problem;
  return jsonl_problem{"is no JSON", "write one JSON object per line", {}};
}

}  // namespace

std::optional<jsonl_problem> read_jsonl_row(std::string_view line, const key_places& wanted,
                                            std::vector<table_cell>& into) {
  into.assign(wanted.size(), std::nullopt);
  row_events events(wanted, &into, nullptr);
  return parse(line, events);
}

std::optional<jsonl_problem> read_jsonl_keys(std::string_view line, std::vector<std::string>& into) {
  const key_places none;
  row_events events(none, nullptr, &into);
  return parse(line, events);
}

}  // namespace troupe
