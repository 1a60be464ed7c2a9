#include <algorithm>
#include <memory>
#include <utility>

#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/squad_metric.hpp"
#include "runtime/data/text_folder.hpp"
#include "runtime/metric/squad_spans.hpp"
#include "runtime/question_answering/answer_spans.hpp"
#include "runtime/question_answering/squad_file.hpp"
#include "runtime/text_metric/python_text.hpp"
#include <troupe/tokenizer.hpp>

namespace troupe {

namespace {

constexpr std::int64_t max_length_default = 384;
constexpr std::int64_t stride_default = 128;
/// Bounds the memory of the windows of one question.
constexpr std::uint64_t tokens_of_question_max = 1U << 21;

struct squad_reading {
  std::string specification = {};
  std::string reading = {};
  std::vector<std::string> files = {};
  std::vector<std::string> inputs = {};
  encode_options encode = {};
  bool pads_to_max = false;
  squad_answering answering = {};
  std::int64_t max_answer_length = 30;
};

/// Blanks in front of a question are left out, as in the scripts of transformers.
std::string_view question_text(const squad_question& question) {
  return python::left_strip(question.text);
}

error in_question(error found, const squad_question& question) {
  found.where += ", question \"" + printable(question.id, 60) + "\"";
  return found;
}

class squad_set final : public data_set {
 public:
  /// `first_windows`: the number of windows before each question, and of all.
  squad_set(std::shared_ptr<const squad_file> data, std::shared_ptr<const tokenizer> words, squad_reading how,
            std::vector<std::uint64_t> first_windows)
      : data_(std::move(data)), words_(std::move(words)), how_(std::move(how)), first_(std::move(first_windows)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return first_.back(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override {
    return {static_cast<std::int64_t>(how_.encode.truncate->max_length)};
  }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return how_.specification; }
  [[nodiscard]] std::string reading() const override { return how_.reading; }
  [[nodiscard]] std::vector<std::string> files() const override { return how_.files; }
  [[nodiscard]] bool has_varying_sizes() const noexcept override { return !how_.pads_to_max; }
  [[nodiscard]] std::shared_ptr<const metric> own_metric(const std::string& name) const override {
    return name == "squad" ? make_squad_metric(data_, how_.answering) : nullptr;
  }
  [[nodiscard]] metric_advice advice() const override {
    return {{"squad"}, "choose the metric of these data: --metrics squad"};
  }

  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    std::vector<encoding> windows;
    const auto count = static_cast<std::int64_t>(range.size());
    at::Tensor numbers = TROUPE_TRY(new_tensor({count, 4}, at::kLong, how_.specification));
    auto* next = numbers.data_ptr<std::int64_t>();
    auto question = static_cast<std::size_t>(std::ranges::upper_bound(first_, range.begin) - first_.begin() - 1);
    for (std::uint64_t sample = range.begin; sample < range.end; ++question) {
      auto all = TROUPE_TRY(windows_of(question));
      for (; sample < range.end && sample < first_[question + 1]; ++sample) {
        const std::uint64_t window = sample - first_[question];
        *next++ = static_cast<std::int64_t>(question);
        *next++ = static_cast<std::int64_t>(window);
        *next++ = static_cast<std::int64_t>(how_.answering.n_best);
        *next++ = how_.max_answer_length;
        windows.push_back(std::move(all[window]));
      }
    }
    return block_of(std::move(windows), std::move(numbers));
  }

 private:
  [[nodiscard]] expected<std::vector<encoding>> windows_of(std::size_t index) const {
    const squad_question& question = data_->questions[index];
    auto all = words_->encode_pair(question_text(question), data_->contexts[question.context], how_.encode);
    if (!all) return tl::make_unexpected(in_question(all.error(), question));
    if (all->size() == first_[index + 1] - first_[index]) return all;
    return fail(error_code::tokenizer_unusable,
                how_.specification + ", question \"" + printable(question.id, 60) + "\"",
                "its tokenizer gives a pair of texts other tokens than the two texts alone",
                "take a tokenizer that adds the same tokens to every pair");
  }

  [[nodiscard]] expected<sample_block> block_of(std::vector<encoding> windows, at::Tensor numbers) const {
    std::vector<std::size_t> lengths;
    lengths.reserve(windows.size());
    for (const encoding& each : windows) lengths.push_back(each.size());
    words_->pad(windows, {.length = how_.pads_to_max ? how_.encode.truncate->max_length : 0});
    const auto count = static_cast<std::int64_t>(windows.size());
    const auto tokens = static_cast<std::int64_t>(windows.front().size());
    sample_block made;
    for (const std::string& name : how_.inputs) {
      at::Tensor rows = TROUPE_TRY(new_tensor({count, tokens}, at::kLong, how_.specification));
      auto* next = rows.data_ptr<std::int64_t>();
      for (const encoding& each : windows) {
        if (name == "input_ids") next = std::ranges::copy(each.ids, next).out;
        if (name == "attention_mask") next = std::ranges::copy(each.attention_mask, next).out;
        if (name == "token_type_ids") next = std::ranges::copy(each.type_ids, next).out;
      }
      made.inputs.set(name, std::move(rows));
    }
    at::Tensor places = TROUPE_TRY(new_tensor({count, tokens, 2}, at::kInt, how_.specification));
    auto* next = places.data_ptr<std::int32_t>();
    for (std::size_t i = 0; i < windows.size(); ++i) {
      for (std::size_t token = 0; token < windows[i].size(); ++token) {
        const token_place place = place_of(windows[i], token, lengths[i]);
        *next++ = place.begin;
        *next++ = place.end;
      }
    }
    made.labels.set(window_label, std::move(numbers));
    made.labels.set(offsets_label, std::move(places));
    return made;
  }

  static token_place place_of(const encoding& window, std::size_t token, std::size_t length) {
    if (token >= length) return padding_place;
    if (window.sequence[token] != 1) return no_context;
    const text_span span = window.offsets[token];
    return {static_cast<std::int32_t>(span.begin), static_cast<std::int32_t>(span.end)};
  }

  std::shared_ptr<const squad_file> data_;
  std::shared_ptr<const tokenizer> words_;
  squad_reading how_;
  std::vector<std::uint64_t> first_;
};

expected<std::uint64_t> count_tokens(const tokenizer& words, std::string_view text) {
  return words.encode(text, {.add_special_tokens = false}).map([](const std::vector<encoding>& all) {
    return std::uint64_t{all.front().size()};
  });
}

/// How many windows each question has, without making them.
expected<std::vector<std::uint64_t>> count_windows(const squad_file& data, const tokenizer& words,
                                                   const squad_reading& how) {
  const truncation& cut = *how.encode.truncate;
  const auto added = TROUPE_TRY(words.encode_pair("", "", {}));
  std::vector<std::uint64_t> lengths;
  for (const std::string& each : data.contexts) {
    auto length = count_tokens(words, each);
    if (!length) return tl::make_unexpected(std::move(length.error()));
    lengths.push_back(*length);
  }
  std::vector<std::uint64_t> first = {0};
  for (const squad_question& each : data.questions) {
    const auto tokens = count_tokens(words, question_text(each));
    if (!tokens) return tl::make_unexpected(in_question(tokens.error(), each));
    const std::uint64_t taken = added.front().size() + *tokens;
    const std::uint64_t context = lengths[each.context];
    std::uint64_t windows = 1;
    if (taken + context > cut.max_length) {
      if (taken + cut.stride >= cut.max_length) {
        return fail(error_code::value_out_of_range, how.specification + ", question \"" + printable(each.id, 60) + "\"",
                    "with " + std::to_string(taken) + " tokens for the question, windows of " +
                        std::to_string(cut.max_length) + " tokens have no room for a stride of " +
                        std::to_string(cut.stride),
                    "raise max-length, as far as the model goes, or lower stride; or leave the question out");
      }
      const std::uint64_t room = cut.max_length - taken;
      const std::uint64_t step = room - cut.stride;
      windows = 1 + (context - room + step - 1) / step;
    }
    if (windows > tokens_of_question_max / cut.max_length) {
      return fail(error_code::value_out_of_range, how.specification + ", question \"" + printable(each.id, 60) + "\"",
                  "its context makes " + std::to_string(windows) + " windows, and at most " +
                      std::to_string(tokens_of_question_max / cut.max_length) + " of this length are taken",
                  "lower stride, or cut the context into several");
    }
    first.push_back(first.back() + windows);
  }
  return first;
}

squad_reading read_options(const data_request& request, const text_folder& folder) {
  squad_reading made{.specification = request.specification, .inputs = folder.inputs};
  const auto longest = static_cast<std::int64_t>(folder.tokens_max().value_or(max_length_default));
  const auto max_length = request.options.count("max-length").value_or(std::min(max_length_default, longest));
  const auto stride = request.options.count("stride").value_or(std::min(stride_default, max_length / 3));
  made.encode.truncate = truncation{.max_length = static_cast<std::size_t>(max_length),
                                    .strategy = truncation_strategy::only_second,
                                    .stride = static_cast<std::size_t>(stride)};
  made.pads_to_max = request.options.text("padding") == "max-length";
  made.answering.n_best = static_cast<std::size_t>(request.options.count("n-best").value_or(20));
  made.max_answer_length = request.options.count("max-answer-length").value_or(30);
  const std::vector<double> threshold = request.options.numbers("null-threshold");
  if (!threshold.empty()) made.answering.null_threshold = threshold.front();
  made.reading = "," + std::to_string(max_length) + "," + std::to_string(stride) +
                 (made.pads_to_max ? ",max-length" : ",longest") + "," + std::to_string(made.answering.n_best) + "," +
                 std::to_string(made.max_answer_length);
  for (const std::string& each : made.inputs) made.reading += "," + each;
  return made;
}

}  // namespace

expected<data_set_ptr> open_squad(const data_request& request) {
  const text_folder folder = TROUPE_TRY(open_text_folder(request));
  squad_reading how = read_options(request, folder);
  auto data = TROUPE_TRY(read_squad_file(request.path()).map([](squad_file&& read) {
    return std::make_shared<const squad_file>(std::move(read));
  }));
  auto first = TROUPE_TRY(count_windows(*data, *folder.reader, how));
  how.files = folder.files;
  how.files.insert(how.files.begin(), request.path());
  return std::make_shared<const squad_set>(std::move(data), folder.reader, std::move(how), std::move(first));
}

}  // namespace troupe
