#include "runtime/data/squad_metric.hpp"

#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/json/json_number.hpp"
#include "runtime/metric/squad_spans.hpp"
#include "runtime/question_answering/final_answers.hpp"

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

json candidates_json(const final_answer& answer) {
  json list = json::array();
  for (const answer_candidate& each : answer.candidates) {
    list.push_back({{"text", each.text},
                    {"probability", json_number(each.probability)},
                    {"start_logit", json_number(static_cast<double>(each.start_logit))},
                    {"end_logit", json_number(static_cast<double>(each.end_logit))}});
  }
  return list;
}

std::string document(const json& object) {
  return object.dump(2) + "\n";
}

class squad_metric final : public squad_spans {
 public:
  squad_metric(std::shared_ptr<const squad_file> data, const squad_answering& how)
      : data_(std::move(data)), how_(how) {}

  [[nodiscard]] bool has_predictions() const noexcept override { return true; }
  [[nodiscard]] std::vector<prediction_document> predictions(const metric_total& total,
                                                             bool with_candidates) const override {
    json answers = json::object();
    json candidates = json::object();
    json null_odds = json::object();
    for_each_answer(rows_of(total.rows), [&](const squad_question& question, const final_answer& answer) {
      answers[question.id] = answer.text;
      if (with_candidates) candidates[question.id] = candidates_json(answer);
      if (answer.null_difference) null_odds[question.id] = json_number(static_cast<double>(*answer.null_difference));
    });
    std::vector<prediction_document> made = {{"", document(answers)}};
    if (with_candidates) made.push_back({"nbest", document(candidates)});
    if (with_candidates && data_->version == squad_version::v2) made.push_back({"null_odds", document(null_odds)});
    return made;
  }

 private:
  using use_answer = std::function<void(const squad_question&, const final_answer&)>;

  [[nodiscard]] metric_value compute(std::span<const squad_span_row> rows) const override {
    std::vector<scored_question> answered;
    std::vector<scored_question> best;
    for_each_answer(rows, [&](const squad_question& question, const final_answer& answer) {
      const auto score = [&](const std::string& text) {
        return scored_question{.score = score_answer(data_->version, text, question.answers),
                               .has_answer = !question.answers.empty(),
                               .is_answered = !text.empty(),
                               .no_answer = answer.null_difference};
      };
      answered.push_back(score(answer.text));
      answered.back().no_answer = {};  // null-threshold was applied
      best.push_back(score(answer.best_text));
    });
    squad_totals totals = total_of(data_->version, answered, 0);
    const squad_totals thresholds = total_of(data_->version, best, 0);
    totals.best_exact = thresholds.best_exact;
    totals.best_f1 = thresholds.best_f1;
    return squad_value(totals);
  }

  static std::vector<squad_span_row> rows_of(std::span<const std::byte> bytes) {
    std::vector<squad_span_row> rows(bytes.size() / sizeof(squad_span_row));
    if (!rows.empty()) std::memcpy(rows.data(), bytes.data(), rows.size() * sizeof(squad_span_row));
    return rows;
  }

  /// The rows of a question stand behind each other, as the windows do. Rows of no question come from a damaged worker.
  void for_each_answer(std::span<const squad_span_row> rows, const use_answer& use) const {
    for (std::size_t begin = 0; begin < rows.size();) {
      const std::uint64_t index = rows[begin].question;
      std::vector<answer_span> spans;
      std::size_t end = begin;
      for (; end < rows.size() && rows[end].question == index; ++end) {
        const squad_span_row& row = rows[end];
        spans.push_back({row.begin, row.end, static_cast<float>(row.start_logit), static_cast<float>(row.end_logit)});
      }
      begin = end;
      if (index >= data_->questions.size()) continue;
      const squad_question& question = data_->questions[index];
      use(question,
          choose_answer(data_->version, data_->contexts[question.context], spans, how_.n_best, how_.null_threshold));
    }
  }

  std::shared_ptr<const squad_file> data_;
  squad_answering how_;
};

}  // namespace

metric_ptr make_squad_metric(std::shared_ptr<const squad_file> data, const squad_answering& how) {
  return std::make_shared<squad_metric>(std::move(data), how);
}

}  // namespace troupe
