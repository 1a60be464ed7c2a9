#include "runtime/metric/choice_scores.hpp"

#include <cmath>

#include "messages/try.hpp"
#include "runtime/metric/log_normalizer.hpp"
#include "runtime/metric/output_rows.hpp"

namespace troupe {

namespace {

tl::unexpected<error> no_choices(const std::string& metric, std::string cause) {
  return fail(error_code::metric_failed, metric, std::move(cause),
              "evaluate a language model, whose outputs are logits of the next token, on choices:FILE");
}

expected<const std::int64_t*> column_named(const std::string& metric, const scored_part& part, const char* name) {
  const at::Tensor* const found = part.labels().find(name);
  const bool is_column = found != nullptr && found->scalar_type() == at::kLong && found->is_contiguous() &&
                         found->dim() == 1 && static_cast<std::size_t>(found->size(0)) == part.size();
  if (is_column) return found->const_data_ptr<std::int64_t>();
  return no_choices(metric, "expected a label \"" + std::string(name) + "\" int64 [samples], as choices:FILE has it");
}

struct likelihood_rows {
  at::Tensor outputs;
  at::Tensor labels;

  /// The log-likelihood that one sample has.
  [[nodiscard]] expected<double> sum(const std::string& metric, std::int64_t sample) const {
    expected<double> total = 0;
    const auto* const target = labels.const_data_ptr<std::int64_t>() + sample * labels.stride(0);
    with_elements_of(outputs, [&]<class T>(const T* data) {
      const output_rows<T> places{data + sample * outputs.stride(0), outputs.size(1), outputs.size(2),
                                  outputs.stride(1), outputs.stride(2)};
      for (std::int64_t place = 0; place < places.samples && total; ++place) {
        const std::int64_t token = target[place * labels.stride(1)];
        if (token < 0) continue;
        if (token >= places.classes) {
          total = no_choices(metric, "a choice has the token " + std::to_string(token) + ", and the outputs have " +
                                         std::to_string(places.classes) + " of them");
          return;
        }
        *total -= log_sum_exp(places, place).loss(static_cast<double>(places.at(place, token)));
      }
    });
    return total;
  }
};

expected<likelihood_rows> tensors_in(const std::string& metric, const scored_part& part) {
  likelihood_rows made;
  made.outputs = *TROUPE_TRY(part.output());
  const at::Tensor* const labels = part.labels().find("labels");
  if (labels == nullptr) return no_choices(metric, "there is no label \"labels\"");
  made.labels = *labels;
  const at::Tensor& outputs = made.outputs;
  const bool fits = is_on_cpu(outputs) && is_on_cpu(made.labels) && is_real(outputs) && outputs.dim() == 3 &&
                    outputs.size(2) > 0 && made.labels.scalar_type() == at::kLong &&
                    made.labels.sizes() == outputs.sizes().slice(0, 2) &&
                    static_cast<std::size_t>(outputs.size(0)) == part.size();
  if (fits) return made;
  return no_choices(
      metric,
      "expected outputs [samples, places, vocabulary] of real numbers and labels int64 [samples, places], found " +
          described(outputs) + " and " + described(made.labels));
}

template <class Value>
std::uint64_t best_of(const std::vector<choice_score>& rows, const Value& value) {
  std::uint64_t best = 0;
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    const double here = value(rows[i]);
    if (std::isnan(here)) return i;
    if (here > value(rows[best])) best = i;
  }
  return best;
}

}  // namespace

expected<void> append_choices(const std::string& metric, const scored_part& part, std::vector<choice_score>& into) {
  const likelihood_rows tensors = TROUPE_TRY(tensors_in(metric, part));
  const std::int64_t* const question = TROUPE_TRY(column_named(metric, part, "question"));
  const std::int64_t* const choice = TROUPE_TRY(column_named(metric, part, "choice"));
  const std::int64_t* const choices = TROUPE_TRY(column_named(metric, part, "choices"));
  const std::int64_t* const gold = TROUPE_TRY(column_named(metric, part, "gold"));
  const std::int64_t* const characters = TROUPE_TRY(column_named(metric, part, "characters"));
  const std::int64_t* const bytes = TROUPE_TRY(column_named(metric, part, "bytes"));
  const auto count = [](std::int64_t number) { return static_cast<std::uint64_t>(number); };
  for (std::size_t i = 0; i < part.size(); ++i) {
    const double likelihood = TROUPE_TRY(tensors.sum(metric, static_cast<std::int64_t>(i)));
    into.push_back({count(question[i]), count(choice[i]), count(choices[i]), count(gold[i]), count(characters[i]),
                    count(bytes[i]), likelihood});
  }
  return {};
}

bool question_answers::add(const choice_score& row) {
  const bool is_next = !rows_.empty() && row.question == rows_.front().question && row.choice == rows_.size();
  if (!is_next) {
    rows_.clear();
    ++begun_;
    if (row.choice != 0) return false;
  }
  rows_.push_back(row);
  if (rows_.size() != row.choices) return false;
  ++complete_;
  answer_ = {.question = row.question, .gold = row.gold};
  answer_.best = best_of(rows_, [](const choice_score& each) { return each.log_likelihood; });
  answer_.best_per_character = best_of(
      rows_, [](const choice_score& each) { return each.log_likelihood / static_cast<double>(each.characters); });
  answer_.best_per_byte =
      best_of(rows_, [](const choice_score& each) { return each.log_likelihood / static_cast<double>(each.bytes); });
  for (const choice_score& each : rows_) answer_.log_likelihoods.push_back(each.log_likelihood);
  rows_.clear();
  return true;
}

}  // namespace troupe
