#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>
#include <troupe/named_tensors.hpp>

namespace troupe {

/// What result_table() says beside the numbers of a metric; result.json has the fields alone.
enum class metric_form : std::uint8_t {
  plain,      ///< nothing; lists are numbered
  share,      ///< the first field is the share that the fields `correct` and `total` make: "9904 of 10000"
  mean,       ///< the first field is the mean over as many as the field `count` says: "mean over 10000"
  per_class,  ///< lists have one entry per class
  matrix,     ///< a list of counts per true class; a last list counts predictions that are no class
};

/// The final values of one metric, under the names and in the order of result.json (docs/metrics.md). Look-ups throw
/// error_exception (E0102) for a field that does not exist or has another form; its text lists the fields.
struct metric_value {
  std::string name;
  /// Exact counts and real numbers keep their kinds, so that JSON shows 9904 and 0.9904.
  struct field {
    std::string name;
    bool is_list = false;
    bool is_count = false;
    std::vector<double> reals;
    std::vector<std::uint64_t> counts;
  };
  std::vector<field> fields;
  metric_form form = metric_form::plain;

  /// The first field: the share of an accuracy, the mean of a loss, the macro average of f1.
  [[nodiscard]] double value() const;
  /// A number; a count is converted.
  [[nodiscard]] double value(const std::string& field_name) const;
  /// A count, exact.
  [[nodiscard]] std::uint64_t count(const std::string& field_name) const;
  /// A list, one entry per class; counts are converted.
  [[nodiscard]] std::vector<double> column(const std::string& field_name) const;
  /// A list of counts, exact.
  [[nodiscard]] const std::vector<std::uint64_t>& counts(const std::string& field_name) const;
};

// For the compute() of a metric.
metric_value::field real_field(std::string name, double real);
metric_value::field count_field(std::string name, std::uint64_t count);
metric_value::field real_list(std::string name, std::vector<double> reals);
metric_value::field count_list(std::string name, std::span<const std::uint64_t> counts);
/// part / total. NaN if total is 0, since 0 would mean that all samples were wrong.
double share(std::uint64_t part, std::uint64_t total) noexcept;

/// Which of several outputs is scored against which of several labels; empty: the only one.
struct scored_names {
  std::string output = {};
  std::string label = {};
};

/// What a metric sees: the samples of one micro-batch that reach its sink, which behind a route may be some of them.
/// All tensors are on the CPU, in any strides, with these samples as dimension 0. They are shared: a metric must not
/// change them in place.
class scored_part {
 public:
  /// For tests of a metric: the samples are numbered from 0.
  scored_part(named_tensors outputs, named_tensors labels, scored_names names = {});
  /// `positions`: which of `samples`, counted from the first of them; null: all.
  scored_part(named_tensors outputs, named_tensors labels, scored_names names, sample_range samples,
              row_set_ptr positions);

  /// What the model gave, by name.
  [[nodiscard]] const named_tensors& outputs() const noexcept { return outputs_; }
  /// What the data have beside the inputs, by name. Empty where they have none.
  [[nodiscard]] const named_tensors& labels() const noexcept { return labels_; }
  /// The output that was chosen for the sink, or the only one, never null. E0603, which lists the outputs, where there
  /// are several and none is chosen, or none of that name.
  [[nodiscard]] expected<const at::Tensor*> output() const;
  /// The same of the labels.
  [[nodiscard]] expected<const at::Tensor*> label() const;

  /// How many samples.
  [[nodiscard]] std::size_t size() const noexcept;
  /// The position in the data of sample `row`, which is below size(): equal for every layout of the run.
  [[nodiscard]] std::uint64_t sample(std::size_t row) const noexcept;

 private:
  named_tensors outputs_;
  named_tensors labels_;
  scored_names names_;
  sample_range samples_;
  row_set_ptr positions_;
};

/// What a metric is computed from at the end: its merged state, and its rows of all micro-batches, one after another.
struct metric_total {
  std::span<const std::uint64_t> words;
  std::span<const std::byte> rows;
};

/// A file with the predictions of a task.
struct prediction_document {
  /// Empty for FILE.json itself; "nbest" for FILE.nbest.json.
  std::string suffix = {};
  std::string content = {};
};

/// A metric is a state, an update on the stage and a merge at the aggregator. Derive a metric of your own from
/// metric_of, part_metric_of, mean_metric or row_metric (metric_of.hpp). Derive from this class only if the size of the
/// state is unknown at compile time.
///
/// What a metric keeps of one micro-batch has two parts, and a metric has one of them or both. The words are a number
/// of 64-bit words that is always the same: counts as integers, sums as the bits of doubles. They are merged, so they
/// cost the same memory for any number of samples. The rows are any number of bytes: those of all micro-batches are
/// put one after another in the order of the micro-batches, so they grow with the samples, up to
/// limits::metric_rows_bytes_max; more end the call with E0603.
/// Words and rows of one micro-batch, of all metrics of a sink, are together at most 8 MiB where they come from a
/// worker process or go to a journal. One const object serves all replicas, so every function must be thread-safe.
class metric {
 public:
  metric() = default;
  metric(const metric&) = delete;
  metric& operator=(const metric&) = delete;
  virtual ~metric() = default;

  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  /// Number of words of a state; constant. A new state has zeros only.
  [[nodiscard]] virtual std::size_t words() const noexcept = 0;
  /// The rows of a micro-batch are a multiple of so many bytes; constant. 0: it keeps no rows.
  [[nodiscard]] virtual std::size_t row_bytes() const noexcept { return 0; }
  /// Adds one micro-batch to a zero state, and appends its rows to `rows`. For tensors that do not fit return E0603,
  /// with the sample if one is at fault; nothing is then kept. Of the first micro-batch the run makes it E0108, before
  /// the start. The metrics of this library loop over the memory in a fixed order: a LibTorch operation costs 6-8 us
  /// per micro-batch and may change the order of a sum.
  [[nodiscard]] virtual expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                                    std::vector<std::byte>& rows) const = 0;
  /// total += part. The caller merges in id order: floating-point sums depend on it.
  virtual void merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const = 0;
  /// Rows that come from another process have the right number of bytes, and may have any values.
  [[nodiscard]] virtual metric_value compute_total(const metric_total& total) const = 0;

  /// Called with the first micro-batch before a run, and when a call begins, after update_words() has accepted it for a
  /// state that is not counted. Return E0108 for values that can be computed but have no meaning, such as nll of
  /// outputs that are no log-probabilities.
  [[nodiscard]] virtual expected<void> judge([[maybe_unused]] const scored_part& part) const { return {}; }

  /// true: predictions() has files for --predictions FILE.json, in the form that the task has for them.
  [[nodiscard]] virtual bool has_predictions() const noexcept { return false; }
  /// The content of FILE.json, and of files beside it. `with_candidates`: --predictions-with probabilities.
  [[nodiscard]] virtual std::vector<prediction_document> predictions([[maybe_unused]] const metric_total& total,
                                                                     [[maybe_unused]] bool with_candidates) const {
    return {};
  }
};

using metric_ptr = std::shared_ptr<const metric>;

/// Confidence intervals of metrics by name (docs/metrics.md). They are computed at the end by resampling, for which a
/// metric keeps rows of each sample.
struct interval_options {
  /// Level, from 0.001 to 0.999999; 0: no intervals.
  double confidence = 0;
  /// From 10 to 100,000.
  std::uint32_t resamples = 1000;
  /// At most 2^53.
  std::uint64_t seed = 0;
};

/// A metric by name (docs/metrics.md has the list), which may have options: "fbeta:beta=2:average=macro". `classes` is
/// the data's. An unknown name or option is E0102 with a suggestion and the list; a K or a value out of range, classes
/// that the metric cannot count, or a metric that has no `intervals`, E0103.
/// metric::name() is the name with its options in one order and form.
expected<metric_ptr> make_metric(const std::string& name, std::uint32_t classes,
                                 const interval_options& intervals = {});
/// In the order of the table; "topK" stands for any K.
std::vector<std::string> metric_names();

/// A user's loss of one micro-batch. `outputs`: the last stage's only tensor; `labels`: the only tensor of labels; both
/// on the CPU, with the samples as dimension 0. Both are shared: the function must not change them in place.
/// Returns the loss as tensors of one element each: one for an ordinary loss, several for a loss function that returns
/// a tuple; the same number for every micro-batch. Each is stored as a double.
/// eval_batch_options::reduce_output says how micro-batches are combined.
/// After the death of a stage the function is called again for micro-batches that are sent again, so the same inputs
/// must give the same bits. Thread: the last stage's replicas share one function object and call it concurrently,
/// without gradients; in a worker process its own.
/// Errors, which end the call of eval_batch() with E0603: an exception, no tensor, a tensor of more or fewer elements
/// than one, another number of tensors than before, no labels, or several of which none is chosen
/// (pipeline_engine_options::score).
using loss_function = std::function<std::vector<at::Tensor>(const at::Tensor& outputs, const at::Tensor& labels)>;

}  // namespace troupe
