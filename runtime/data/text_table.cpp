#include "runtime/data/text_table.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "messages/try.hpp"
#include "runtime/data/new_tensor.hpp"
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
  std::string label;
  bool are_numbers = false;
  bool are_alone = false;

  [[nodiscard]] std::vector<std::string> used() const {
    std::vector<std::string> names;
    for (const std::string* each : {&text, &pair, &label}) {
      if (!each->empty() && std::ranges::find(names, *each) == names.end()) names.push_back(*each);
    }
    return names;
  }
};

struct text_parts : token_parts {
  text_columns columns;
  std::optional<text_labels> labels = {};
  std::uint64_t left_out = 0;
};

class text_set final : public token_set<text_parts> {
 public:
  explicit text_set(text_parts parts) : token_set(std::move(parts)) {}

  [[nodiscard]] std::uint64_t left_out() const noexcept override { return parts().left_out; }
  [[nodiscard]] std::uint32_t classes() const noexcept override {
    return parts().labels ? parts().labels->classes() : 0;
  }

  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    sample_block block;
    block.inputs = TROUPE_TRY(inputs_of(range));
    if (!parts().columns.are_alone) {
      if (parts().labels) block.labels.set("", TROUPE_TRY(labels(range, 1)));
      return block;
    }
    block.labels.set("pair", TROUPE_TRY(numbers<std::int64_t>(range, [](std::uint64_t i) { return i / 2; })));
    block.labels.set("side", TROUPE_TRY(numbers<std::int64_t>(range, [](std::uint64_t i) { return i % 2; })));
    if (parts().labels) block.labels.set("score", TROUPE_TRY(labels(range, 2)));
    return block;
  }

 private:
  template <class Number, class Value>
  expected<at::Tensor> numbers(sample_range range, const Value& value) const {
    const auto type = std::is_same_v<Number, float> ? at::kFloat : at::kLong;
    at::Tensor made = TROUPE_TRY(new_tensor({static_cast<std::int64_t>(range.size())}, type, parts().name));
    auto* into = made.mutable_data_ptr<Number>();
    for (std::uint64_t i = range.begin; i < range.end; ++i) *into++ = static_cast<Number>(value(i));
    return made;
  }

  expected<at::Tensor> labels(sample_range range, std::uint64_t samples_per_row) const {
    if (parts().labels->are_numbers()) {
      return numbers<float>(range, [&](std::uint64_t i) { return parts().labels->number_of(i / samples_per_row); });
    }
    return numbers<std::int64_t>(range, [&](std::uint64_t i) { return parts().labels->class_of(i / samples_per_row); });
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
  std::vector<std::string> named = options.names("label");
  const std::vector<std::string> targets = options.names("target");
  named.insert(named.end(), targets.begin(), targets.end());
  if (named.size() > 1)
    return not_for_texts(request, "texts have one label", "name one column, with label= or target=");
  made.are_numbers = !targets.empty();
  if (!named.empty()) made.label = named.front();
  for (const char* name : {"label", "labels"}) {
    if (made.label.empty() && is_table_column(table, name)) made.label = name;
  }
  for (const std::string& each : made.used()) {
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
      if (skips_empty_) return leave_out();
      return fail(error_code::data_bad_format, table_place(table_.path(), rows.lines[row], each), "there is no value",
                  "fill it, or leave out such rows, with the option skip-empty");
    }
    if (!columns.label.empty()) {
      const table_cell& label = cell(rows, row, columns.label);
      if (ignored_ && table_number<std::int64_t>(*label) == ignored_) return leave_out();
      TROUPE_TRY(into_.labels->add(label, table_place(table_.path(), rows.lines[row], columns.label)));
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

  expected<void> leave_out() {
    ++into_.left_out;
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
  parts.folder = TROUPE_TRY(open_text_folder(request));
  parts.lengths = TROUPE_TRY(lengths_of(request, parts.folder));
  if (!parts.columns.label.empty()) {
    parts.labels.emplace(parts.columns.are_numbers, request.options.names("classes"), parts.folder.classes);
  }
  TROUPE_TRY(text_rows_reader(*table, request, parts).read());
  return std::make_shared<const text_set>(std::move(parts));
}

}  // namespace troupe
