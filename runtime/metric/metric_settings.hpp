#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

namespace troupe {

/// What the value of a metric's option is.
enum class setting_form : std::uint8_t {
  real,     ///< a finite number in [minimum, maximum]
  whole,    ///< a whole number in [minimum, maximum]
  word,     ///< one of the words that `value_form` lists with | between them
  text,     ///< a name without ':', ',' and '='
  numbers,  ///< finite numbers in [minimum, maximum] with + between them
};

/// An option that metrics may have: "fbeta:beta=2" has the option beta.
struct metric_setting {
  std::string_view name;
  setting_form form;
  /// As errors and docs/metrics.md show it: "macro|micro|weighted|none|binary".
  std::string_view value_form;
  double minimum;
  double maximum;
  /// A value that is right.
  std::string_view example;
  /// One line for docs/metrics.md (a test compares them).
  std::string_view help;
};

inline constexpr double any_number = 1.7976931348623157e308;
inline constexpr double whole_max = 9007199254740992.0;  // 2^53

/// In the order in which a canonical name has them.
inline constexpr std::array metric_settings_known = {
    metric_setting{"average", setting_form::word, "macro|micro|weighted|none|binary", 0, 0, "macro",
                   "how the values of the classes become one: their mean, their sums, their mean weighted by samples, "
                   "not at all, or class 1 alone"},
    metric_setting{"beta", setting_form::real, "X", 0, 1e6, "2", "weight of recall against precision"},
    metric_setting{"ignore_index", setting_form::whole, "LABEL", -whole_max, whole_max, "-100",
                   "samples (or tokens) with this label are left out"},
    metric_setting{"label_smoothing", setting_form::real, "X", 0, 1, "0.1",
                   "share of each target that is spread over all classes"},
    metric_setting{"weight", setting_form::numbers, "W0+W1+...", 0, any_number, "0.2+0.8", "a weight for each class"},
    metric_setting{"from", setting_form::word, "logits|probabilities", 0, 0, "probabilities",
                   "what the outputs are; logits become probabilities by softmax, or by sigmoid where a sample has one "
                   "output or several labels"},
    metric_setting{"threshold", setting_form::real, "X", -any_number, any_number, "0.5",
                   "an output above it predicts class 1, or the label"},
    metric_setting{"bins", setting_form::whole, "N", 1, 4096, "100", "number of bins of equal width from 0 to 1"},
    metric_setting{"labels", setting_form::whole, "N", 1, limits::metric_classes_max, "14",
                   "number of labels of a sample, needed with `bins` where a sample has several"},
    metric_setting{"weights", setting_form::word, "none|linear|quadratic", 0, 0, "quadratic",
                   "how far apart two classes are"},
    metric_setting{"bytes", setting_form::text, "NAME", 0, 0, "bytes",
                   "the label with the number of bytes of each sample"},
    metric_setting{"shift", setting_form::whole, "N", 0, 65536, "1",
                   "the output at a position is for the label so many positions later"},
    metric_setting{"confidence", setting_form::real, "X", limits::confidence_min, limits::confidence_max, "0.95",
                   "level of a confidence interval, see below"},
    metric_setting{"resamples", setting_form::whole, "N", limits::resamples_min, limits::resamples_max, "1000",
                   "resamples of a confidence interval"},
    metric_setting{"seed", setting_form::whole, "N", 0, whole_max, "0", "seed of the resamples"},
};

/// The options of one metric, read from its name: NAME:OPTION=VALUE:OPTION=VALUE.
class metric_settings {
 public:
  metric_settings() = default;

  /// Reads what stands behind the first ':' of `name`; `allowed` are the names of the options that this metric has,
  /// separated by spaces. E0102 for another option, E0103 for a value that is none; both name metric and option.
  [[nodiscard]] static expected<metric_settings> read(const std::string& name, std::string_view allowed);

  /// The options in the order of the table, numbers in their shortest form: ":beta=2:average=macro". Empty without any.
  [[nodiscard]] std::string text() const;

  [[nodiscard]] bool has(std::string_view option) const { return values_.contains(option); }
  [[nodiscard]] double real(std::string_view option, double otherwise) const;
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view option) const;
  [[nodiscard]] std::string word(std::string_view option, std::string_view otherwise) const;
  /// Empty where it is not given.
  [[nodiscard]] std::vector<double> numbers(std::string_view option) const;

 private:
  /// By name, as texts in their canonical form.
  std::map<std::string, std::string, std::less<>> values_;
};

/// "fbeta" of "fbeta:beta=2".
std::string_view base_name(std::string_view name);

}  // namespace troupe
