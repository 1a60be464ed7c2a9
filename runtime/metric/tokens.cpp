#include <cmath>

#include "messages/try.hpp"
#include "runtime/metric/log_normalizer.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/sample_metric.hpp"

namespace troupe {

namespace {

/// What torch.nn.functional.cross_entropy and tokenizers have for padding.
constexpr std::int64_t ignored_default = -100;

/// Outputs [samples, positions, classes] and labels [samples, positions], or both without positions.
struct token_batch {
  at::Tensor outputs;
  at::Tensor labels;
  std::int64_t positions = 1;
  std::int64_t classes = 0;
  std::int64_t ignored = ignored_default;
  std::int64_t shift = 0;

  /// Calls `use(rows, sample, label)` for each token that is not left out.
  template <class Use>
  void for_each(const Use& use) const {
    const bool has_positions = outputs.dim() == 3;
    const std::int64_t output_stride = has_positions ? outputs.stride(1) : 0;
    const std::int64_t label_stride = has_positions ? labels.stride(1) : 0;
    const auto* const label = labels.const_data_ptr<std::int64_t>();
    with_elements_of(outputs, [&]<class T>(const T* data) {
      output_rows<T> rows{data, outputs.size(0), classes, outputs.stride(0), outputs.stride(outputs.dim() - 1)};
      for (std::int64_t i = 0; i < rows.samples; ++i) {
        for (std::int64_t t = 0; t + shift < positions; ++t) {
          const std::int64_t wanted = label[i * labels.stride(0) + (t + shift) * label_stride];
          if (wanted == ignored) continue;
          rows.data = data + t * output_stride;
          use(rows, i, wanted);
        }
      }
    });
  }
};

bool has_token_shapes(const at::Tensor& outputs, const at::Tensor& labels) {
  if (!is_on_cpu(outputs) || !is_on_cpu(labels) || !is_real(outputs) || labels.scalar_type() != at::kLong) return false;
  if (outputs.numel() == 0 || outputs.dim() < 2 || outputs.dim() > 3) return false;
  if (outputs.dim() == 2) return is_column(labels) && labels.size(0) == outputs.size(0);
  return labels.sizes() == outputs.sizes().slice(0, 2);
}

class token_metric : public sum_metric {
 protected:
  token_metric(const metric_request& asked, std::size_t reals, std::size_t counts)
      : sum_metric(asked.name, reals, counts),
        ignored_(asked.settings.whole("ignore_index").value_or(ignored_default)),
        shift_(asked.settings.whole("shift").value_or(0)) {}

  [[nodiscard]] expected<token_batch> read_part(const scored_part& part) const {
    token_batch made{.ignored = ignored_, .shift = shift_};
    made.outputs = *TROUPE_TRY(part.output());
    made.labels = *TROUPE_TRY(part.label());
    if (!has_token_shapes(made.outputs, made.labels)) {
      return fail(error_code::metric_failed, name(),
                  "expected outputs [samples, positions, classes] of real numbers and labels [samples, positions] of "
                  "type Long on the CPU, or both without positions, found outputs " +
                      described(made.outputs) + " and labels " + described(made.labels),
                  "use a model that gives each token one row of class scores, and one label for each");
    }
    if (made.outputs.dim() == 3) made.positions = made.outputs.size(1);
    made.classes = made.outputs.size(made.outputs.dim() - 1);
    TROUPE_TRY(check_labels(made));
    return made;
  }

  /// The sum of the losses of each sample, and the number of its tokens.
  void add_losses(const token_batch& batch, std::size_t loss, std::size_t tokens, std::vector<double>& numbers) const {
    batch.for_each([&](const auto& rows, std::int64_t i, std::int64_t label) {
      double* const sample = numbers.data() + static_cast<std::size_t>(i) * width();
      sample[loss] += log_sum_exp(rows, i).loss(static_cast<double>(rows.at(i, label)));
      sample[tokens] += 1;
    });
  }

 private:
  [[nodiscard]] expected<void> check_labels(const token_batch& batch) const {
    expected<void> verdict;
    batch.for_each([&](const auto&, std::int64_t i, std::int64_t label) {
      if (!verdict || (label >= 0 && label < batch.classes)) return;
      verdict = fail(
          error_code::metric_failed, name() + ", sample " + std::to_string(i) + " of the micro-batch",
          "expected a label from 0 to " + std::to_string(batch.classes - 1) + " or " + std::to_string(ignored_) +
              ", which is left out, found " + std::to_string(label),
          "check that model and data belong together, or say which label is left out: " + name() + ":ignore_index=-1");
    });
    return verdict;
  }

  const std::int64_t ignored_;
  const std::int64_t shift_;
};

class perplexity_metric final : public token_metric {
 public:
  explicit perplexity_metric(const metric_request& asked) : token_metric(asked, 1, 1) {}

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const double mean = as_real(state[0]) / static_cast<double>(state[1]);
    return {name(),
            {real_field("value", std::exp(mean)), real_field("mean_loss", mean), count_field("count", state[1])}};
  }

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const override {
    const token_batch batch = TROUPE_TRY(read_part(part));
    numbers.assign(static_cast<std::size_t>(batch.outputs.size(0)) * width(), 0);
    add_losses(batch, 0, 1, numbers);
    return {};
  }
};

class token_accuracy_metric final : public token_metric {
 public:
  explicit token_accuracy_metric(const metric_request& asked) : token_metric(asked, 0, 2) {}

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    return {name(),
            {real_field("value", share(state[0], state[1])), count_field("correct", state[0]),
             count_field("total", state[1])},
            metric_form::share};
  }

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const override {
    const token_batch batch = TROUPE_TRY(read_part(part));
    numbers.assign(static_cast<std::size_t>(batch.outputs.size(0)) * width(), 0);
    batch.for_each([&](const auto& rows, std::int64_t i, std::int64_t label) {
      double* const sample = numbers.data() + static_cast<std::size_t>(i) * width();
      sample[0] += argmax(rows, i) == label ? 1 : 0;
      sample[1] += 1;
    });
    return {};
  }
};

/// It takes of a sample the sum of its losses, its tokens, its bytes.
class bits_per_byte_metric final : public token_metric {
 public:
  explicit bits_per_byte_metric(const metric_request& asked)
      : token_metric(asked, 1, 2), bytes_(asked.settings.word("bytes", "bytes")) {}

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const double bits = as_real(state[0]) / std::log(2.0);
    return {name(),
            {real_field("value", bits / static_cast<double>(state[2])), real_field("bits", bits),
             count_field("bytes", state[2]), count_field("count", state[1])}};
  }

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<double>& numbers) const override {
    const token_batch batch = TROUPE_TRY(read_part(part));
    const std::int64_t samples = batch.outputs.size(0);
    const at::Tensor* const bytes = part.labels().find(bytes_);
    if (bytes == nullptr || !is_on_cpu(*bytes) || bytes->scalar_type() != at::kLong || !is_column(*bytes) ||
        bytes->size(0) != samples) {
      return fail(error_code::metric_failed, name(),
                  "expected a label \"" + bytes_ + "\" [samples] of type Long with the bytes of each sample, found " +
                      (bytes == nullptr ? "the labels " + part.labels().names() : described(*bytes)),
                  "give the data such a label, and its name: bits_per_byte:bytes=NAME");
    }
    numbers.assign(static_cast<std::size_t>(samples) * width(), 0);
    add_losses(batch, 0, 1, numbers);
    const label_column column = labels_of(*bytes);
    for (std::int64_t i = 0; i < samples; ++i) {
      if (column.at(i) < 0) {
        return fail(error_code::metric_failed, name() + ", sample " + std::to_string(i) + " of the micro-batch",
                    "it has " + std::to_string(column.at(i)) + " bytes", "correct the label \"" + bytes_ + "\"");
      }
      numbers[static_cast<std::size_t>(i) * width() + 2] = static_cast<double>(column.at(i));
    }
    return {};
  }

  const std::string bytes_;
};

}  // namespace

expected<metric_ptr> make_perplexity(const metric_request& asked) {
  return std::make_shared<const perplexity_metric>(asked);
}
expected<metric_ptr> make_token_accuracy(const metric_request& asked) {
  return std::make_shared<const token_accuracy_metric>(asked);
}
expected<metric_ptr> make_bits_per_byte(const metric_request& asked) {
  return std::make_shared<const bits_per_byte_metric>(asked);
}

}  // namespace troupe
