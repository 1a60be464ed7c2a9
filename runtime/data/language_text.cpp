// text: as samples for a language model.
#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/text_cut.hpp"
#include "runtime/data/text_folder.hpp"
#include "runtime/data/text_tokens.hpp"
#include "runtime/data/token_rows.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t block_default = 1024;

/// Which tokens the samples have. Each token is scored in the first sample that has it and a token before it.
struct sliding_windows {
  std::uint64_t tokens = 0;
  std::uint64_t block = 0;
  std::uint64_t stride = 0;

  struct window {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    /// The tokens [first_scored, end) are scored.
    std::uint64_t first_scored = 0;
  };

  [[nodiscard]] window at(std::uint64_t index) const {
    const std::uint64_t begin = index * stride;
    const std::uint64_t before = index == 0 ? 0 : std::min(tokens, begin - stride + block);
    return {begin, std::min(tokens, begin + block), std::max(before, begin + 1)};
  }
  /// The last one may have no token that is scored: then it is none.
  [[nodiscard]] std::uint64_t size() const {
    if (tokens < 2) return 0;
    const std::uint64_t all = tokens <= block ? 1 : (tokens - block + stride - 1) / stride + 1;
    const window last = at(all - 1);
    return last.first_scored < last.end ? all : all - 1;
  }
};

struct language_parts {
  std::string name;
  std::string path;
  std::string reading;
  text_folder folder;
  text_tokens text;
  sliding_windows windows;
};

class language_set final : public data_set {
 public:
  explicit language_set(language_parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return parts_.windows.size(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {length()}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return parts_.name; }
  [[nodiscard]] std::string reading() const override { return parts_.reading; }
  [[nodiscard]] std::vector<std::string> files() const override {
    std::vector<std::string> all = parts_.folder.files;
    all.insert(all.begin(), parts_.path);
    return all;
  }

  [[nodiscard]] metric_advice advice() const override {
    return {{"perplexity", "token_accuracy", "bits_per_byte"},
            "choose metrics of these data: --metrics perplexity,bits_per_byte --score-label labels"};
  }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    TROUPE_CHECK(range.begin < range.end && range.end <= size(), "only samples of the data set are read");
    sample_block block;
    for (const std::string& name : parts_.folder.inputs) block.inputs.set(name, TROUPE_TRY(input(name, range)));
    block.labels.set("labels", TROUPE_TRY(filled(range, [&](const sliding_windows::window& window,
                                                            std::uint64_t place) { return label(window, place); })));
    at::Tensor bytes = TROUPE_TRY(new_tensor({static_cast<std::int64_t>(range.size())}, at::kLong, name()));
    auto* into = bytes.mutable_data_ptr<std::int64_t>();
    for (std::uint64_t i = range.begin; i < range.end; ++i) *into++ = bytes_in(parts_.windows.at(i));
    block.labels.set("bytes", std::move(bytes));
    return block;
  }

 private:
  [[nodiscard]] std::int64_t length() const {
    return static_cast<std::int64_t>(std::min(parts_.windows.block, parts_.windows.tokens));
  }

  template <class Value>
  expected<at::Tensor> filled(sample_range range, const Value& value) const {
    at::Tensor made = TROUPE_TRY(new_tensor(with_rows(range.size(), {length()}), at::kLong, name()));
    auto* into = made.mutable_data_ptr<std::int64_t>();
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      const sliding_windows::window window = parts_.windows.at(i);
      for (std::uint64_t place = window.begin; place < window.begin + static_cast<std::uint64_t>(length()); ++place) {
        *into++ = value(window, place);
      }
    }
    return made;
  }

  [[nodiscard]] expected<at::Tensor> input(const std::string& name, sample_range range) const {
    using window = sliding_windows::window;
    if (name == "attention_mask") {
      return filled(range, [](const window& at, std::uint64_t place) { return place < at.end ? 1 : 0; });
    }
    if (name == "token_type_ids") return filled(range, [](const window&, std::uint64_t) { return 0; });
    const token_id padding = parts_.folder.reader->pad_id().value_or(0);
    return filled(range, [&](const window& at, std::uint64_t place) {
      return place < at.end ? parts_.text.ids[place] : padding;
    });
  }

  /// The token behind `place`, which the outputs there say.
  [[nodiscard]] std::int64_t label(const sliding_windows::window& window, std::uint64_t place) const {
    const std::uint64_t next = place + 1;
    return next < window.first_scored || next >= window.end ? not_scored : parts_.text.ids[next];
  }

  [[nodiscard]] std::int64_t bytes_in(const sliding_windows::window& window) const {
    return std::int64_t{parts_.text.ends[window.end - 1]} - parts_.text.ends[window.first_scored - 1];
  }

  language_parts parts_;
};

expected<sliding_windows> windows_of(const data_request& request, const text_folder& folder) {
  sliding_windows made;
  const std::uint64_t otherwise = std::min(block_default, folder.tokens_max().value_or(block_default));
  const auto block = request.options.count("block");
  made.block = block ? static_cast<std::uint64_t>(*block) : std::max<std::uint64_t>(2, otherwise);
  const auto stride = request.options.count("stride");
  made.stride = stride ? static_cast<std::uint64_t>(*stride) : made.block;
  if (made.stride == 0) {
    return fail(error_code::value_out_of_range, request.specification, "a stride of 0 tokens makes no second sample",
                "give a stride from 1 on");
  }
  if (made.stride <= made.block) return made;
  return fail(error_code::value_out_of_range, request.specification,
              "a stride of " + std::to_string(made.stride) + " tokens leaves tokens out between blocks of " +
                  std::to_string(made.block),
              "give a stride of " + std::to_string(made.block) + " or less");
}

}  // namespace

expected<data_set_ptr> open_text(const data_request& request) {
  language_parts parts{.name = request.specification,
                       .path = request.path(),
                       .reading = reading_of(request),
                       .folder = {},
                       .text = {},
                       .windows = {}};
  parts.folder = TROUPE_TRY(open_text_folder(request));
  parts.windows = TROUPE_TRY(windows_of(request, parts.folder));
  parts.text = TROUPE_TRY(read_text_tokens(parts.path, *parts.folder.reader));
  parts.windows.tokens = parts.text.ids.size();
  if (parts.windows.size() == 0) {
    return fail(error_code::data_empty, parts.path,
                "has " + std::to_string(parts.windows.tokens) + " tokens, and a language model is scored on 2 or more",
                "name a longer text");
  }
  return std::make_shared<const language_set>(std::move(parts));
}

}  // namespace troupe
