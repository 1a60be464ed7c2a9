#include "runtime/question_answering/squad_reader.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "messages/file_fixes.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "runtime/json/json_text.hpp"
#include "runtime/text_metric/python_text.hpp"

namespace troupe {

namespace {

/// Files of SQuAD have six at the most.
constexpr std::size_t answers_max = 1000;
constexpr const char* form_fix =
    "give a file in the form of SQuAD: data[].paragraphs[] with context and qas[], which have id, question and answers";

std::string shown(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string cut(text.substr(0, most));
  if (text.size() > most) cut += "...";
  return "\"" + printable(cut) + "\"";
}

}  // namespace

bool squad_reader::is_at(part what, const char* key) const {
  return !open_.empty() && open_.back().what == what && open_.back().key == key;
}

std::string squad_reader::place() const {
  std::string text;
  for (const open_part& each : open_) {
    const bool is_list = each.what == part::data || each.what == part::paragraphs || each.what == part::questions ||
                         each.what == part::answers;
    if (is_list) {
      text += "[" + std::to_string(each.count == 0 ? 0 : each.count - 1) + "]";
    } else if (!each.key.empty()) {
      text += (text.empty() ? "" : ".") + printable(each.key.substr(0, 60));
    }
  }
  return text.empty() ? "the document" : text;
}

bool squad_reader::wrong(const std::string& finding) {
  problem_ = error{error_code::data_bad_format, path_, place() + " " + finding, form_fix};
  return false;
}

/// Counts an element of an array.
bool squad_reader::begin_value() {
  if (!open_.empty()) ++open_.back().count;
  return true;
}

bool squad_reader::enter(bool is_object) {
  begin_value();
  if (open_.size() >= json_depth_max) return wrong("is nested more than " + std::to_string(json_depth_max) + " deep");
  struct step {
    part from;
    const char* key;
    bool is_object;
    part to;
  };
  static constexpr std::array steps = {step{part::document, "data", false, part::data},
                                       step{part::data, "", true, part::article},
                                       step{part::article, "paragraphs", false, part::paragraphs},
                                       step{part::paragraphs, "", true, part::paragraph},
                                       step{part::paragraph, "qas", false, part::questions},
                                       step{part::questions, "", true, part::question},
                                       step{part::question, "answers", false, part::answers},
                                       step{part::answers, "", true, part::answer}};
  part inner = part::other;
  if (open_.empty()) {
    if (!is_object) return wrong("is no object");
    inner = part::document;
  }
  for (const step& each : steps) {
    if (!is_at(each.from, each.key)) continue;
    if (each.is_object != is_object) return wrong(each.is_object ? "is no object" : "is no array");
    inner = each.to;
  }
  if (inner == part::other && !take_other(is_object ? "an object" : "an array")) return false;
  if (inner == part::answer && open_.back().count > answers_max) {
    return wrong("is one of more than " + std::to_string(answers_max) + " answers to a question");
  }
  if (inner == part::paragraph) context_ = made_.contexts.size();
  if (inner == part::question) made_.questions.push_back({.id = {}, .text = {}, .context = context_, .answers = {}});
  if (inner == part::answer) answers_.push_back({.text = {}, .start = {}, .question = made_.questions.size() - 1});
  open_.push_back({.what = inner});
  return true;
}

bool squad_reader::key(string_t& value) {
  open_part& object = open_.back();
  object.key = value;
  if (object.what == part::other) return true;
  static constexpr std::array<std::string_view, 11> used = {"version",       "data", "paragraphs",  "context",
                                                            "qas",           "id",   "question",    "answers",
                                                            "is_impossible", "text", "answer_start"};
  if (std::ranges::find(used, value) == used.end()) return true;
  if (std::ranges::find(object.seen, value) != object.seen.end()) return wrong("is there twice");
  object.seen.push_back(value);
  return true;
}

bool squad_reader::has_all(const open_part& ended) {
  static constexpr std::array<std::string_view, 1> document = {"data"};
  static constexpr std::array<std::string_view, 1> article = {"paragraphs"};
  static constexpr std::array<std::string_view, 2> paragraph = {"context", "qas"};
  static constexpr std::array<std::string_view, 3> question = {"id", "question", "answers"};
  static constexpr std::array<std::string_view, 1> answer = {"text"};
  std::span<const std::string_view> needed;
  if (ended.what == part::document) needed = document;
  if (ended.what == part::article) needed = article;
  if (ended.what == part::paragraph) needed = paragraph;
  if (ended.what == part::question) needed = question;
  if (ended.what == part::answer) needed = answer;
  for (const std::string_view each : needed) {
    if (std::ranges::find(ended.seen, each) == ended.seen.end()) return wrong("has no member " + std::string(each));
  }
  return true;
}

bool squad_reader::leave() {
  open_.back().key.clear();
  const open_part ended = open_.back();
  if (!has_all(ended)) return false;
  if (ended.what == part::paragraph && !end_paragraph()) return false;
  open_.pop_back();
  return true;
}

/// The context may come behind its questions.
bool squad_reader::end_paragraph() {
  for (open_answer& each : answers_) {
    if (!check_start(each)) return false;
    made_.questions[each.question].answers.push_back(std::move(each.text));
  }
  answers_.clear();
  return true;
}

bool squad_reader::check_start(const open_answer& answer) {
  if (!answer.start) return true;
  const std::string& context = made_.contexts.back();
  std::size_t at = 0;
  for (std::int64_t i = 0; i < *answer.start && at < context.size(); ++i) python::next_character(context, at);
  if (*answer.start >= 0 && std::string_view(context).substr(at).starts_with(answer.text)) return true;
  problem_ = error{error_code::data_label_out_of_range, path_,
                   "question " + shown(made_.questions[answer.question].id) + ": the answer " + shown(answer.text) +
                       " does not stand at answer_start " + std::to_string(*answer.start) + " of its context",
                   "correct answer_start, which counts characters from 0, or leave it out: metrics do not need it"};
  return false;
}

bool squad_reader::take_text(std::string& value) {
  if (is_at(part::document, "version")) {
    version_ = value;
  } else if (is_at(part::paragraph, "context")) {
    if (value.empty()) return wrong("is empty");
    made_.contexts.push_back(std::move(value));
  } else if (is_at(part::question, "id")) {
    made_.questions.back().id = std::move(value);
  } else if (is_at(part::question, "question")) {
    made_.questions.back().text = std::move(value);
  } else if (is_at(part::answer, "text")) {
    answers_.back().text = std::move(value);
  } else {
    return take_other("a text");
  }
  return true;
}

bool squad_reader::take_start(std::int64_t value) {
  if (!is_at(part::answer, "answer_start")) return take_other("a number");
  answers_.back().start = value;
  return true;
}

bool squad_reader::take_other(const char* found) {
  if (open_.empty()) return wrong("is no object");
  struct rule {
    part where;
    const char* key;
    const char* wanted;
  };
  static constexpr std::array rules = {rule{part::document, "data", "an array"},
                                       rule{part::data, "", "an object"},
                                       rule{part::article, "paragraphs", "an array"},
                                       rule{part::paragraphs, "", "an object"},
                                       rule{part::paragraph, "context", "a text"},
                                       rule{part::paragraph, "qas", "an array"},
                                       rule{part::questions, "", "an object"},
                                       rule{part::question, "id", "a text"},
                                       rule{part::question, "question", "a text"},
                                       rule{part::question, "answers", "an array"},
                                       rule{part::question, "is_impossible", "true or false"},
                                       rule{part::answers, "", "an object"},
                                       rule{part::answer, "text", "a text"},
                                       rule{part::answer, "answer_start", "a whole number"}};
  for (const rule& each : rules) {
    if (is_at(each.where, each.key)) return wrong(std::string("is ") + found + ", expected " + each.wanted);
  }
  return true;
}

bool squad_reader::boolean(bool /*value*/) {
  begin_value();
  if (!is_at(part::question, "is_impossible")) return take_other("true or false");
  says_impossible_ = true;
  return true;
}

bool squad_reader::number_integer(number_integer_t value) {
  return begin_value() && take_start(value);
}

bool squad_reader::number_unsigned(number_unsigned_t value) {
  begin_value();
  return take_start(value > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(value));
}

bool squad_reader::number_float(number_float_t /*value*/, const string_t& /*digits*/) {
  return begin_value() && take_other("a number with a fraction");
}

bool squad_reader::string(string_t& value) {
  return begin_value() && take_text(value);
}

bool squad_reader::binary(binary_t& /*value*/) {
  return begin_value() && take_other("binary");
}

bool squad_reader::start_object(std::size_t /*elements*/) {
  return enter(true);
}

bool squad_reader::start_array(std::size_t /*elements*/) {
  return enter(false);
}

bool squad_reader::end_object() {
  return leave();
}

bool squad_reader::end_array() {
  return leave();
}

bool squad_reader::parse_error(std::size_t position, const std::string& /*token*/,
                               const nlohmann::detail::exception& caught) {
  const bool is_encoding = std::string_view(caught.what()).find("UTF-8") != std::string_view::npos;
  problem_ = error{error_code::data_bad_format, path_,
                   (is_encoding ? "a text has a byte that is no UTF-8, at byte " : "it is no JSON text at byte ") +
                       std::to_string(position),
                   is_encoding ? "convert the file to UTF-8" : copy_again_fix};
  return false;
}

expected<squad_file> squad_reader::take() {
  if (made_.questions.empty()) {
    return fail(error_code::data_empty, path_, "it has no question", "give a file with questions");
  }
  const bool is_v2 = says_impossible_ || version_.starts_with("v2") || version_.starts_with("2");
  made_.version = is_v2 ? squad_version::v2 : squad_version::v1;
  std::vector<std::size_t> order(made_.questions.size());
  std::iota(order.begin(), order.end(), 0);
  const auto id_of = [&](std::size_t at) -> const std::string& { return made_.questions[at].id; };
  std::ranges::sort(order, {}, id_of);
  if (const auto twice = std::ranges::adjacent_find(order, {}, id_of); twice != order.end()) {
    return fail(error_code::data_bad_format, path_, "two questions have the id " + shown(id_of(*twice)),
                "give each question an id of its own: predictions are found by it");
  }
  for (const squad_question& each : made_.questions) {
    if (each.answers.empty() && !is_v2) {
      return fail(error_code::data_bad_format, path_, "question " + shown(each.id) + " has no answer",
                  "give it one, or write \"version\": \"v2.0\" if questions may have none");
    }
  }
  return std::move(made_);
}

}  // namespace troupe
