#include "runtime/predictions/prediction_rows.hpp"

#include <utility>

#include "messages/try.hpp"
#include "runtime/predictions/array_rows.hpp"
#include "runtime/predictions/json_values.hpp"
#include "runtime/predictions/predicted_values.hpp"

namespace troupe {
namespace {

void append_text(std::vector<std::byte>& rows, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  rows.insert(rows.end(), bytes.begin(), bytes.end());
}

/// The tensors of one micro-batch that the file has; all have a row for each sample.
struct predicted_part {
  at::Tensor output;
  /// Not defined where the data have no labels.
  at::Tensor label;

  [[nodiscard]] const at::Tensor* label_or_null() const { return label.defined() ? &label : nullptr; }
};

expected<predicted_part> tensors_of(const scored_part& part) {
  predicted_part found;
  found.output = *TROUPE_TRY(part.output());
  if (!part.labels().empty()) found.label = *TROUPE_TRY(part.label());
  const auto samples = static_cast<std::int64_t>(part.size());
  if (!found.label.defined() || (found.label.dim() > 0 && found.label.size(0) == samples)) return found;
  return fail(error_code::metric_failed, "predictions", "the labels have no row for each sample",
              "choose other labels with --score-label");
}

class prediction_rows : public metric {
 public:
  explicit prediction_rows(prediction_extra with) : with_(with) {}
  [[nodiscard]] const std::string& name() const noexcept final { return name_; }
  [[nodiscard]] std::size_t words() const noexcept final { return 0; }
  [[nodiscard]] std::size_t row_bytes() const noexcept final { return 1; }
  void merge_words(std::span<std::uint64_t>, std::span<const std::uint64_t>) const final {}
  [[nodiscard]] metric_value compute_total(const metric_total&) const final { return {name_, {}}; }

 protected:
  /// What stands beside the prediction; not defined where nothing does.
  [[nodiscard]] expected<at::Tensor> extra_of(const predicted_part& of) const {
    if (with_ == prediction_extra::probabilities) return probabilities_of(of.output, of.label_or_null());
    if (with_ == prediction_extra::outputs) return of.output.contiguous();
    return at::Tensor();
  }
  [[nodiscard]] prediction_extra with() const noexcept { return with_; }

 private:
  const std::string name_ = "predictions";
  prediction_extra with_;
};

class line_rows final : public prediction_rows {
 public:
  using prediction_rows::prediction_rows;

  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t>,
                                            std::vector<std::byte>& rows) const override {
    const predicted_part found = TROUPE_TRY(tensors_of(part));
    at::Tensor extra = TROUPE_TRY(extra_of(found));
    if (extra.defined()) extra = json_values(extra);
    const at::Tensor prediction = json_values(predictions_of(found.output, found.label_or_null()));
    const at::Tensor label = found.label.defined() ? json_values(found.label) : found.label;
    std::string line;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      line = "{\"sample\": " + std::to_string(part.sample(i));
      if (label.defined()) append_json(line += ", \"label\": ", label, row);
      append_json(line += ", \"prediction\": ", prediction, row);
      const char* name = with() == prediction_extra::probabilities ? ", \"probabilities\": " : ", \"outputs\": ";
      if (extra.defined()) append_json(line += name, extra, row);
      append_text(rows, line += "}\n");
    }
    return {};
  }
};

class array_part_rows final : public prediction_rows {
 public:
  using prediction_rows::prediction_rows;

  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t>,
                                            std::vector<std::byte>& rows) const override {
    const predicted_part found = TROUPE_TRY(tensors_of(part));
    const at::Tensor extra = TROUPE_TRY(extra_of(found));
    append_array(rows, extra.defined() ? extra : predictions_of(found.output, found.label_or_null()));
    return {};
  }
};

}  // namespace

expected<prediction_format> prediction_format_of(const std::string& file) {
  if (file.ends_with(".jsonl")) return prediction_format::jsonl;
  if (file.ends_with(".npy")) return prediction_format::npy;
  if (file.ends_with(".json")) return prediction_format::json;
  return fail(error_code::value_out_of_range, "predictions",
              "the name \"" + file + "\" does not say what to write, expected one that ends in .jsonl, .npy or .json",
              "write predictions.jsonl, or predictions.npy");
}

metric_ptr make_prediction_rows(prediction_format format, prediction_extra with) {
  if (format == prediction_format::jsonl) return std::make_shared<const line_rows>(with);
  return std::make_shared<const array_part_rows>(with);
}

}  // namespace troupe
