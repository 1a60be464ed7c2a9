// choices: as samples for a language model, one for each choice.
#include <algorithm>
#include <span>
#include <utility>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/data/choice_request.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/table_source.hpp"
#include "runtime/data/table_text.hpp"
#include "runtime/data/token_set.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t choice_lines_at_a_time = 64;
const std::vector<std::string> choice_columns = {"context", "choices", "gold"};

/// One choice, beside its tokens.
struct choice_row {
  std::uint64_t question = 0;
  std::uint32_t choice = 0;
  std::uint32_t choices = 0;
  std::uint32_t gold = 0;
  std::uint32_t bytes = 0;
  std::uint32_t characters = 0;
  /// Tokens at the end that are scored.
  std::uint32_t scored = 0;
};

/// The tokens are those before the last one.
struct choice_parts : token_parts {
  /// The last token of each choice: an input has no use for it.
  std::vector<token_id> last;
  std::vector<choice_row> rows;
};

class choice_set final : public token_set<choice_parts> {
 public:
  explicit choice_set(choice_parts parts) : token_set(std::move(parts)) {}

  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }

  [[nodiscard]] metric_advice advice() const override {
    return {{"multiple_choice"}, "choose the metric of these data: --metrics multiple_choice"};
  }
  [[nodiscard]] std::map<std::string, std::int64_t> padding() const override {
    auto of_all = token_set::padding();
    of_all.emplace("labels", not_scored);
    return of_all;
  }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    sample_block block;
    block.inputs = TROUPE_TRY(inputs_of(range));
    block.labels.set("labels", TROUPE_TRY(targets(range, static_cast<std::int64_t>(length_of(range)))));
    const auto add = [&](const char* label, auto value) -> expected<void> {
      at::Tensor made = TROUPE_TRY(new_tensor({static_cast<std::int64_t>(range.size())}, at::kLong, parts().name));
      auto* into = made.mutable_data_ptr<std::int64_t>();
      for (std::uint64_t i = range.begin; i < range.end; ++i)
        *into++ = static_cast<std::int64_t>(parts().rows[i].*value);
      block.labels.set(label, std::move(made));
      return {};
    };
    TROUPE_TRY(add("question", &choice_row::question));
    TROUPE_TRY(add("choice", &choice_row::choice));
    TROUPE_TRY(add("choices", &choice_row::choices));
    TROUPE_TRY(add("gold", &choice_row::gold));
    TROUPE_TRY(add("bytes", &choice_row::bytes));
    TROUPE_TRY(add("characters", &choice_row::characters));
    return block;
  }

 private:
  /// The token behind each place, where it belongs to the choice.
  [[nodiscard]] expected<at::Tensor> targets(sample_range range, std::int64_t length) const {
    at::Tensor made = TROUPE_TRY(new_tensor(with_rows(range.size(), {length}), at::kLong, parts().name));
    std::span<std::int64_t> room(made.mutable_data_ptr<std::int64_t>(), static_cast<std::size_t>(made.numel()));
    std::ranges::fill(room, not_scored);
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      const std::span<const token_id> ids = parts().tokens.ids(i);
      for (std::size_t place = ids.size() - parts().rows[i].scored; place < ids.size(); ++place) {
        room[place] = place + 1 < ids.size() ? ids[place + 1] : parts().last[i];
      }
      room = room.subspan(static_cast<std::size_t>(length));
    }
    return made;
  }
};

class choice_reader {
 public:
  choice_reader(const data_request& request, choice_parts& into)
      : into_(into), delimiter_(delimiter_of(request)), reader_(*into.folder.reader) {}

  expected<void> read(const table_source& table) {
    for (std::uint64_t begin = 0; begin < table.rows(); begin += choice_lines_at_a_time) {
      const table_rows rows =
          TROUPE_TRY(table.read({begin, std::min(table.rows(), begin + choice_lines_at_a_time)}, choice_columns));
      for (std::size_t row = 0; row < rows.lines.size(); ++row) {
        place_ = table_place(table.path(), rows.lines[row]);
        const choice_question read =
            TROUPE_TRY(read_question(rows.cells[0][row], rows.cells[1][row], rows.cells[2][row], place_));
        TROUPE_TRY(add(read, rows.first + row));
      }
    }
    return {};
  }

 private:
  expected<void> add(const choice_question& question, std::uint64_t number) {
    for (std::size_t i = 0; i < question.choices.size(); ++i) {
      const std::string& choice = question.choices[i];
      choice_row made{.question = number,
                      .choice = static_cast<std::uint32_t>(i),
                      .choices = static_cast<std::uint32_t>(question.choices.size()),
                      .gold = question.gold,
                      .bytes = static_cast<std::uint32_t>(choice.size()),
                      .characters = static_cast<std::uint32_t>(utf8::count(choice))};
      auto asked = TROUPE_TRY(request_of(question.context, delimiter_ + choice));
      TROUPE_TRY(cut(asked.ids, asked.scored));
      made.scored = static_cast<std::uint32_t>(asked.scored);
      into_.last.push_back(asked.ids.back());
      asked.ids.pop_back();
      TROUPE_TRY(into_.tokens.add(asked.ids, {}, place_));
      into_.rows.push_back(made);
    }
    return {};
  }

  struct tokens_of_choice {
    std::vector<token_id> ids;
    std::size_t scored = 0;
  };

  /// As lm-evaluation-harness: spaces at the end of the context belong to the choice, and the tokens of the choice are
  /// those of both together that the context alone does not have.
  expected<tokens_of_choice> request_of(std::string context, std::string choice) const {
    tokens_of_choice made;
    if (context.empty()) {
      if (!into_.folder.begin_id) {
        return fail(error_code::data_bad_format, place_,
                    "the context is empty, and the model's folder names no token for the beginning of a text",
                    "give the context a text");
      }
      made.ids = TROUPE_TRY(ids_of(reader_, choice));
      made.scored = made.ids.size();
      made.ids.insert(made.ids.begin(), *into_.folder.begin_id);
    } else {
      const std::size_t end = context_end(context);
      choice.insert(0, context, end, std::string::npos);
      context.resize(end);
      made.ids = TROUPE_TRY(ids_of(reader_, context + choice));
      const std::size_t before = TROUPE_TRY(ids_of(reader_, context)).size();
      made.scored = made.ids.size() - std::min(before, made.ids.size());
      if (before == 0) {
        return fail(error_code::data_bad_format, place_, "the context has no token",
                    "give the context a text, or none");
      }
    }
    if (made.scored > 0) return made;
    return fail(error_code::data_bad_format, place_, "a choice has no token beside those of its context",
                "put the delimiter between context and choice, as in delimiter=space");
  }

  /// The context is cut at its beginning.
  expected<void> cut(std::vector<token_id>& ids, std::size_t scored) {
    const bool is_long = into_.lengths.most && ids.size() > *into_.lengths.most + 1;
    into_.lengths.count(is_long);
    if (!is_long) return {};
    if (scored > *into_.lengths.most) {
      return fail(error_code::data_bad_format, place_,
                  "a choice has " + std::to_string(scored) + " tokens, and a sample has " +
                      std::to_string(*into_.lengths.most) + " at most",
                  "shorten the choice, or give a greater max-length=");
    }
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(*into_.lengths.most + 1));
    return {};
  }

  choice_parts& into_;
  const std::string delimiter_;
  const tokenizer& reader_;
  std::string place_;
};

}  // namespace

expected<data_set_ptr> open_choices(const data_request& request) {
  const table_source_ptr table = TROUPE_TRY(open_jsonl_table(request.path()));
  choice_parts parts;
  parts.name = request.specification;
  parts.path = request.path();
  parts.reading = reading_of(request);
  parts.folder = TROUPE_TRY(open_text_folder(request));
  parts.lengths = TROUPE_TRY(lengths_of(request, parts.folder));
  TROUPE_TRY(choice_reader(request, parts).read(*table));
  return std::make_shared<const choice_set>(std::move(parts));
}

}  // namespace troupe
