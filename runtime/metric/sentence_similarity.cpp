#include <cmath>

#include "runtime/json/number_text.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/paired_numbers.hpp"
#include "runtime/metric/sentence_pairs.hpp"

namespace troupe {

namespace {

class sentence_similarity_metric final : public metric {
 public:
  explicit sentence_similarity_metric(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return 0; }
  [[nodiscard]] std::size_t row_bytes() const noexcept override { return sizeof(std::uint64_t); }
  [[nodiscard]] bool has_predictions() const noexcept override { return true; }
  [[nodiscard]] std::vector<prediction_document> predictions(const metric_total& total, bool) const override {
    std::string lines;
    for (const sentence_pair& each : sentence_pairs().add(total.rows)) {
      lines.append(lines.empty() ? "{\"pair\": " : ",\n{\"pair\": ").append(std::to_string(each.pair));
      if (!std::isnan(each.score)) append_json_number(lines += ", \"score\": ", static_cast<float>(each.score));
      append_json_number(lines += ", \"cosine\": ", each.cosine);
      lines += '}';
    }
    return {{.suffix = "", .content = "[\n" + lines + "\n]\n"}};
  }
  void merge_words(std::span<std::uint64_t>, std::span<const std::uint64_t>) const override {}
  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t>,
                                            std::vector<std::byte>& rows) const override {
    return append_embeddings(name_, part, rows);
  }

  [[nodiscard]] metric_value compute_total(const metric_total& total) const override {
    std::vector<double> numbers;
    co_moments moments;
    double cosines = 0;
    for (const sentence_pair& each : sentence_pairs().add(total.rows)) {
      numbers.insert(numbers.end(), {each.cosine, each.score});
      moments.add(each.cosine, each.score, 1);
      cosines += each.cosine;
    }
    const auto ranked = rank_pairs(numbers);
    const std::size_t count = ranked->size();
    return {name_,
            {real_field("pearson", moments.correlation()),
             real_field("spearman", ranked->value(std::vector<std::uint32_t>(count, 1))),
             real_field("mean_cosine", cosines / static_cast<double>(count)), count_field("count", count)}};
  }

 private:
  std::string name_;
};

}  // namespace

expected<metric_ptr> make_sentence_similarity(const metric_request& asked) {
  return std::make_shared<const sentence_similarity_metric>(asked.name);
}

}  // namespace troupe
