#include <array>
#include <cmath>
#include <cstring>

#include "messages/try.hpp"
#include "runtime/json/number_text.hpp"
#include "runtime/metric/choice_scores.hpp"
#include "runtime/metric/metric_table.hpp"
#include <troupe/metric_of.hpp>

namespace troupe {

namespace {

/// The standard error of a mean of zeros and ones, by the deviation of a sample.
double error_of_share(double share_right, std::uint64_t count) {
  return count < 2 ? std::nan("") : std::sqrt(share_right * (1 - share_right) / static_cast<double>(count - 1));
}

std::string line_of(const question_answer& answer) {
  std::string line = "{\"question\": " + std::to_string(answer.question);
  line.append(", \"gold\": ").append(std::to_string(answer.gold));
  line.append(", \"prediction\": ").append(std::to_string(answer.best));
  line.append(", \"prediction_norm\": ").append(std::to_string(answer.best_per_character));
  line.append(", \"prediction_bytes\": ").append(std::to_string(answer.best_per_byte));
  line.append(", \"log_likelihoods\": [");
  for (const double each : answer.log_likelihoods) {
    if (line.back() != '[') line += ", ";
    append_json_number(line, each);
  }
  return line + "]}";
}

class multiple_choice_metric final : public row_metric<choice_score> {
 public:
  explicit multiple_choice_metric(const std::string& asked) : row_metric(asked) {}

  [[nodiscard]] bool has_predictions() const noexcept override { return true; }
  [[nodiscard]] std::vector<prediction_document> predictions(const metric_total& total, bool) const override {
    std::string lines;
    question_answers answers;
    for (std::size_t at = 0; at + sizeof(choice_score) <= total.rows.size(); at += sizeof(choice_score)) {
      choice_score row;
      std::memcpy(&row, total.rows.data() + at, sizeof(row));
      if (answers.add(row)) lines += (lines.empty() ? "" : ",\n") + line_of(answers.answer());
    }
    return {{.suffix = "", .content = "[\n" + lines + "\n]\n"}};
  }

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<choice_score>& rows) const override {
    return append_choices(name(), part, rows);
  }

  [[nodiscard]] metric_value compute(std::span<const choice_score> rows) const override {
    question_answers answers;
    std::uint64_t questions = 0;
    std::array<std::uint64_t, 3> right = {};
    for (const choice_score& each : rows) {
      if (!answers.add(each)) continue;
      const question_answer& answer = answers.answer();
      ++questions;
      right[0] += answer.best == answer.gold ? 1U : 0U;
      right[1] += answer.best_per_character == answer.gold ? 1U : 0U;
      right[2] += answer.best_per_byte == answer.gold ? 1U : 0U;
    }
    std::array<double, 3> shares = {};
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = share(right[i], questions);
    return {name(),
            {real_field("acc", shares[0]), real_field("acc_norm", shares[1]), real_field("acc_bytes", shares[2]),
             real_field("acc_stderr", error_of_share(shares[0], questions)),
             real_field("acc_norm_stderr", error_of_share(shares[1], questions)),
             real_field("acc_bytes_stderr", error_of_share(shares[2], questions)), count_field("questions", questions),
             count_field("incomplete", answers.incomplete())}};
  }
};

}  // namespace

expected<metric_ptr> make_multiple_choice(const metric_request& asked) {
  return std::make_shared<const multiple_choice_metric>(asked.name);
}

}  // namespace troupe
