#include "runtime/data/text_table.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "messages/try.hpp"
#include "runtime/data/kept_rows.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/table_ids.hpp"
#include "runtime/data/table_options.hpp"
#include "runtime/data/table_roles.hpp"
#include "runtime/data/table_text.hpp"
#include "runtime/data/text_labels.hpp"
#include "runtime/data/token_set.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t text_rows_at_a_time = 64;

/// What the columns are for. An empty name: there is none.
struct text_columns {
  std::string text;
  std::string pair;
  /// Those of the label, of numbers perhaps several.
  std::vector<std::string> label;
  bool are_numbers = false;
  bool are_alone = false;

  [[nodiscard]] std::vector<std::string> used() const {
    std::vector<std::string> names;
    const auto add = [&](const std::string& each) {
      if (!each.empty() && std::ranges::find(names, each) == names.end()) names.push_back(each);
    };
    add(text);
    add(pair);
    std::ranges::for_each(label, add);
    return names;
  }
};

struct text_parts : token_parts {
  text_columns columns;
  std::optional<text_labels> labels = {};
  table_source_ptr table = {};
  std::uint64_t left_out = 0;
  /// The column that names the samples, and which rows they are.
  std::optional<std::string> id = {};
  kept_rows rows{0};
};

class text_set final : public token_set<text_parts> {
 public:
  explicit text_set(text_parts parts) : token_set(std::move(parts)) {}

  [[nodiscard]] std::uint64_t left_out() const noexcept override { return parts().left_out; }
  [[nodiscard]] std::uint32_t classes() const noexcept override {
    return parts().labels ? parts().labels->classes() : 0;
  }

  [[nodiscard]] expected<std::vector<std::string>> ids(sample_range range) const override {
    if (!parts().id) return std::vector<std::string>();
    if (!parts().columns.are_alone) return read_ids(*parts().table, parts().rows, range, *parts().id);
    const sample_range pairs{range.begin / 2, (range.end + 1) / 2};
    const auto of_pairs = TROUPE_TRY(read_ids(*parts().table, parts().rows, pairs, *parts().id));
    std::vector<std::string> ids;
    for (std::uint64_t i = range.begin; i < range.end && i / 2 - pairs.begin < of_pairs.size(); ++i) {
      ids.push_back(of_pairs[i / 2 - pairs.begin]);
    }
    return ids;
  }
  [[nodiscard]] metric_advice advice() const override {
    if (parts().columns.are_alone) {
      return {{"sentence_similarity"},
              "choose the metric of these data: --metrics sentence_similarity, with --score-output sentence_embedding "
              "where the model has such an output"};
    }
    std::vector<table_label> label;
    if (parts().labels) label.push_back({.columns = parts().columns.label, .is_target = parts().labels->are_numbers()});
    return advice_for_table(*parts().table, label, parts().labels ? parts().labels->numbers_in_row() : 0);
  }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    sample_block block;
    block.inputs = TROUPE_TRY(inputs_of(range));
    if (!parts().columns.are_alone) {
      if (parts().labels) block.labels.set("", TROUPE_TRY(labels(range, 1)));
      return block;
    }
    block.labels.set("pair", TROUPE_TRY(whole_numbers(range, [](std::uint64_t i) { return i / 2; })));
    block.labels.set("side", TROUPE_TRY(whole_numbers(range, [](std::uint64_t i) { return i % 2; })));
    if (parts().labels) block.labels.set("score", TROUPE_TRY(labels(range, 2)));
    return block;
  }

 private:
  template <class Value>
  expected<at::Tensor> whole_numbers(sample_range range, const Value& value) const {
    at::Tensor made = TROUPE_TRY(new_tensor(with_rows(range.size(), {}), at::kLong, parts().name));
    auto* into = made.mutable_data_ptr<std::int64_t>();
    for (std::uint64_t i = range.begin; i < range.end; ++i) *into++ = static_cast<std::int64_t>(value(i));
    return made;
  }

  expected<at::Tensor> labels(sample_range range, std::uint64_t samples_per_row) const {
    const text_labels& all = *parts().labels;
    if (!all.are_numbers()) {
      return whole_numbers(range, [&](std::uint64_t i) { return all.class_of(i / samples_per_row); });
    }
    at::Tensor made = TROUPE_TRY(new_tensor(with_rows(range.size(), all.shape()), at::kFloat, parts().name));
    auto* into = made.mutable_data_ptr<float>();
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      for (std::int64_t k = 0; k < all.numbers_in_row(); ++k) *into++ = all.number_of(i / samples_per_row, k);
    }
    return made;
  }
};

tl::unexpected<error> not_for_texts(const data_request& request, std::string cause, std::string fix) {
  return fail(error_code::value_out_of_range, request.specification, std::move(cause), std::move(fix));
}

bool is_table_column(const table_source& table, const std::string& name) {
  return std::ranges::find(table.columns(), name) != table.columns().end();
}

expected<text_columns> columns_of(const table_source& table, const data_request& request) {
  const data_options& options = request.options;
  for (const char* other : {"columns", "integers"}) {
    if (!options.has(other)) continue;
    return not_for_texts(request, std::string(other) + "= is for columns of numbers, and text= names one of texts",
                         "leave " + std::string(other) + "= out");
  }
  text_columns made{.text = options.text("text").value_or(""), .pair = options.text("pair").value_or("")};
  made.are_alone = options.toggle("each-alone");
  if (made.are_alone && made.pair.empty()) {
    return not_for_texts(request, "each-alone is for two texts in a row", "name the second one: pair=COLUMN");
  }
  made.label = options.names("label");
  std::vector<column_group> targets = TROUPE_TRY(read_groups(table, request, target_option));
  if (made.label.size() + targets.size() > 1) {
    return not_for_texts(
        request, "texts have one label",
        "name one column of classes, label=NAME, or columns of numbers that are one label, target=A+B");
  }
  made.are_numbers = !targets.empty();
  if (made.are_numbers) made.label = std::move(targets.front().columns);
  for (const char* name : {"label", "labels"}) {
    if (made.label.empty() && is_table_column(table, name)) made.label = {name};
  }
  if (options.has("ignore") && made.label.size() > 1) {
    return not_for_texts(request, "ignore= needs one label per sample that is a class", "leave ignore= out");
  }
  if (made.are_alone && made.label.size() > 1) {
    return not_for_texts(request, "a pair of texts has one score",
                         "name one column, as in target=" + made.label.front());
  }
  std::vector<std::string> named = made.used();
  if (const auto id = options.text("id")) named.push_back(*id);
  for (const std::string& each : named) {
    if (is_table_column(table, each)) continue;
    return fail(error_code::data_missing, table.path(), "there is no column \"" + shown_cell(each) + "\"",
                suggest_fix(each, table.columns()));
  }
  return made;
}

class text_rows_reader {
 public:
  text_rows_reader(const table_source& table, const data_request& request, text_parts& into)
      : table_(table),
        into_(into),
        columns_(into.columns.used()),
        skips_empty_(request.options.toggle("skip-empty")),
        ignored_(request.options.count("ignore")) {
    if (into.lengths.most) how_.truncate = truncation{.max_length = *into.lengths.most};
  }

  expected<void> read() {
    for (std::uint64_t begin = 0; begin < table_.rows(); begin += text_rows_at_a_time) {
      const sample_range range{begin, std::min(table_.rows(), begin + text_rows_at_a_time)};
      const table_rows rows = TROUPE_TRY(table_.read(range, columns_));
      for (std::size_t row = 0; row < rows.lines.size(); ++row) TROUPE_TRY(add(rows, row));
    }
    if (into_.tokens.size() == 0) {
      return fail(error_code::data_empty, into_.name, "all " + std::to_string(into_.left_out) + " rows are left out",
                  "fill the empty cells, or name columns that have values");
    }
    return into_.labels ? into_.labels->decide(table_.path()) : expected<void>{};
  }

 private:
  [[nodiscard]] const table_cell& cell(const table_rows& rows, std::size_t row, const std::string& column) const {
    const auto at = std::ranges::find(columns_, column) - columns_.begin();
    return rows.cells[static_cast<std::size_t>(at)][row];
  }

  expected<void> add(const table_rows& rows, std::size_t row) {
    const text_columns& columns = into_.columns;
    for (const std::string& each : columns_) {
      if (cell(rows, row, each)) continue;
      if (skips_empty_) return leave_out(rows, row);
      return fail(error_code::data_bad_format, table_place(table_.path(), rows.lines[row], each), "there is no value",
                  "fill it, or leave out such rows, with the option skip-empty");
    }
    if (!columns.label.empty()) {
      const std::string& label = *cell(rows, row, columns.label.front());
      if (ignored_ && table_number<std::int64_t>(label) == ignored_) return leave_out(rows, row);
      std::vector<const std::string*> cells;
      for (const std::string& each : columns.label) cells.push_back(&*cell(rows, row, each));
      TROUPE_TRY(into_.labels->add(cells, columns.label, table_.path(), rows.lines[row]));
    }
    const std::string place = table_place(table_.path(), rows.lines[row], columns.text);
    const std::string& text = *cell(rows, row, columns.text);
    if (columns.pair.empty()) return keep(into_.folder.reader->encode(text, how_), place);
    const std::string& pair = *cell(rows, row, columns.pair);
    if (!columns.are_alone) return keep(into_.folder.reader->encode_pair(text, pair, how_), place);
    TROUPE_TRY(keep(into_.folder.reader->encode(text, how_), place));
    return keep(into_.folder.reader->encode(pair, how_), table_place(table_.path(), rows.lines[row], columns.pair));
  }

  expected<void> keep(expected<std::vector<encoding>> windows, const std::string& place) {
    if (!windows) {
      error told = windows.error();
      told.where = place;
      return tl::make_unexpected(std::move(told));
    }
    const encoding& first = windows->front();
    if (into_.lengths.most && first.size() > *into_.lengths.most) {
      return fail(error_code::value_out_of_range, place,
                  "a text has " + std::to_string(first.size()) + " tokens where it is cut, and a sample has " +
                      std::to_string(*into_.lengths.most) + " at most",
                  "give a greater max-length=");
    }
    into_.lengths.count(windows->size() > 1);
    if (first.size() > 0) return into_.tokens.add(first.ids, first.type_ids, place);
    return fail(error_code::data_bad_format, place, "the text has no token", "leave the row out of the file");
  }

  expected<void> leave_out(const table_rows& rows, std::size_t row) {
    ++into_.left_out;
    if (!into_.id) return {};
    if (into_.left_out > rows_left_out_max) {
      return fail(error_code::data_bad_format, table_.path(),
                  "more than " + std::to_string(rows_left_out_max) + " rows are left out of samples with names",
                  "save the others alone");
    }
    into_.rows.leave_out(rows.first + row);
    return {};
  }

  const table_source& table_;
  text_parts& into_;
  const std::vector<std::string> columns_;
  const bool skips_empty_;
  const std::optional<std::int64_t> ignored_;
  encode_options how_ = {};
};

}  // namespace

expected<data_set_ptr> make_text_table(table_source_ptr table, const data_request& request) {
  text_parts parts;
  parts.name = request.specification;
  parts.path = table->path();
  parts.reading = reading_of(request);
  parts.columns = TROUPE_TRY(columns_of(*table, request));
  parts.id = request.options.text("id");
  parts.rows = kept_rows(table->rows());
  parts.folder = TROUPE_TRY(open_text_folder(request));
  parts.lengths = TROUPE_TRY(lengths_of(request, parts.folder));
  if (!parts.columns.label.empty()) {
    parts.labels.emplace(parts.columns.are_numbers, request.options.names("classes"), parts.folder.classes);
  }
  TROUPE_TRY(text_rows_reader(*table, request, parts).read());
  parts.table = std::move(table);
  return std::make_shared<const text_set>(std::move(parts));
}

}  // namespace troupe
