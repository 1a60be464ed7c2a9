// csv: and jsonl: as data sets of numbers.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/kept_rows.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/table_classes.hpp"
#include "runtime/data/table_ids.hpp"
#include "runtime/data/table_numbers.hpp"
#include "runtime/data/table_options.hpp"
#include "runtime/data/table_roles.hpp"
#include "runtime/data/table_source.hpp"
#include "runtime/data/table_text.hpp"
#include "runtime/data/text_options.hpp"
#include "runtime/data/text_table.hpp"

namespace troupe {

namespace {

/// Rows in memory at a time while they are texts.
constexpr std::uint64_t rows_at_a_time = 64;

/// A table with what its columns are for, and what all its rows have shown.
struct table_plan {
  std::string name;
  std::string reading;
  table_source_ptr table;
  table_roles roles;
  std::vector<std::string> columns;
  /// By input and by label: which of `columns` they have.
  std::vector<std::vector<std::size_t>> inputs;
  std::vector<std::vector<std::size_t>> labels;
  /// By column: numbers in a cell, 0 for one that is no array. -1: not yet known.
  std::vector<std::int64_t> widths;
  /// By label; without one of targets.
  std::vector<table_classes> classes;
};

std::vector<std::size_t> places_of(const std::vector<std::string>& columns,
                                   const std::unordered_map<std::string_view, std::size_t>& places) {
  std::vector<std::size_t> found;
  for (const std::string& each : columns) found.push_back(places.at(each));
  return found;
}

void place_columns(table_plan& plan) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t at = 0; at < plan.columns.size(); ++at) places.emplace(plan.columns[at], at);
  for (const table_input& each : plan.roles.inputs) plan.inputs.push_back(places_of(each.columns, places));
  for (const table_label& each : plan.roles.labels) plan.labels.push_back(places_of(each.columns, places));
}

/// Numbers of these columns in one row.
std::int64_t numbers_in(const table_plan& plan, const std::vector<std::size_t>& columns) {
  std::int64_t numbers = 0;
  for (const std::size_t at : columns) numbers += std::max<std::int64_t>(1, plan.widths[at]);
  return numbers;
}

std::vector<std::int64_t> shape_of(const table_plan& plan, const std::vector<std::size_t>& columns, bool is_group) {
  if (!is_group && plan.widths[columns.front()] == 0) return {};
  return {numbers_in(plan, columns)};
}

std::vector<std::int64_t> shape_of_label(const table_plan& plan, std::size_t i) {
  if (!plan.roles.labels[i].is_target) return {};
  return shape_of(plan, plan.labels[i], plan.labels[i].size() > 1);
}

/// Writes the numbers of these columns, row by row, where `into` points.
template <class Number>
expected<void> fill_numbers(const table_plan& plan, const std::vector<std::size_t>& columns, const table_rows& rows,
                            Number* into) {
  for (std::size_t row = 0; row < rows.lines.size(); ++row) {
    for (const std::size_t at : columns) {
      const auto wide = static_cast<std::size_t>(std::max<std::int64_t>(1, plan.widths[at]));
      const cell_place place{plan.table->path(), rows.lines[row], plan.columns[at]};
      TROUPE_TRY(read_cell(rows.cells[at][row], plan.widths[at], place, std::span<Number>(into, wide)));
      into += wide;
    }
  }
  return {};
}

class table_set final : public data_set {
 public:
  table_set(table_plan plan, kept_rows rows) : plan_(std::move(plan)), rows_(std::move(rows)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return rows_.size(); }
  [[nodiscard]] std::uint64_t left_out() const noexcept override { return rows_.left_out(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override {
    std::int64_t most = 0;
    for (const std::vector<std::size_t>& each : plan_.inputs) most = std::max(most, numbers_in(plan_, each));
    return {most};
  }
  [[nodiscard]] std::uint32_t classes() const noexcept override {
    std::uint32_t most = 0;
    for (const table_classes& each : plan_.classes) most = std::max(most, each.count());
    return most;
  }
  [[nodiscard]] std::string name() const override { return plan_.name; }
  [[nodiscard]] std::string reading() const override { return plan_.reading; }
  [[nodiscard]] std::vector<std::string> files() const override { return {plan_.table->path()}; }

  [[nodiscard]] expected<std::vector<std::string>> ids(sample_range range) const override {
    if (!plan_.roles.id) return std::vector<std::string>();
    return read_ids(*plan_.table, rows_, range, *plan_.roles.id);
  }
  [[nodiscard]] metric_advice advice() const override {
    const std::vector<table_label>& labels = plan_.roles.labels;
    const bool has_numbers = !labels.empty() && labels.front().is_target;
    return advice_for_table(*plan_.table, labels, has_numbers ? numbers_in(plan_, plan_.labels.front()) : 0);
  }

  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    sample_block block;
    for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
      const table_input& input = plan_.roles.inputs[i];
      block.inputs.set(input.name,
                       TROUPE_TRY(new_tensor(with_rows(range.size(), shape_of(plan_, plan_.inputs[i], input.is_group)),
                                             input.is_integer ? at::kLong : at::kFloat, plan_.name)));
    }
    for (std::size_t i = 0; i < plan_.labels.size(); ++i) {
      const table_label& label = plan_.roles.labels[i];
      block.labels.set(label.name, TROUPE_TRY(new_tensor(with_rows(range.size(), shape_of_label(plan_, i)),
                                                         label.is_target ? at::kFloat : at::kLong, plan_.name)));
    }
    std::int64_t done = 0;
    for (const sample_range& run : rows_.runs(range)) {
      for (std::uint64_t begin = run.begin; begin < run.end; begin += rows_at_a_time) {
        const auto rows =
            TROUPE_TRY(plan_.table->read({begin, std::min(run.end, begin + rows_at_a_time)}, plan_.columns));
        TROUPE_TRY(fill(rows, done, block));
        done += static_cast<std::int64_t>(rows.lines.size());
      }
    }
    return block;
  }

 private:
  expected<void> fill(const table_rows& rows, std::int64_t done, sample_block& into) const {
    for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
      const table_input& input = plan_.roles.inputs[i];
      const at::Tensor& tensor = into.inputs.at(input.name);
      const std::int64_t from = done * numbers_in(plan_, plan_.inputs[i]);
      TROUPE_TRY(input.is_integer
                     ? fill_numbers(plan_, plan_.inputs[i], rows, tensor.mutable_data_ptr<std::int64_t>() + from)
                     : fill_numbers(plan_, plan_.inputs[i], rows, tensor.mutable_data_ptr<float>() + from));
    }
    for (std::size_t i = 0; i < plan_.roles.labels.size(); ++i) {
      const table_label& label = plan_.roles.labels[i];
      const at::Tensor& tensor = into.labels.at(label.name);
      if (label.is_target) {
        float* const to = tensor.mutable_data_ptr<float>() + done * numbers_in(plan_, plan_.labels[i]);
        TROUPE_TRY(fill_numbers(plan_, plan_.labels[i], rows, to));
      } else {
        TROUPE_TRY(fill_classes(plan_.labels[i].front(), plan_.classes[i], rows,
                                tensor.mutable_data_ptr<std::int64_t>() + done));
      }
    }
    return {};
  }

  expected<void> fill_classes(std::size_t at, const table_classes& classes, const table_rows& rows,
                              std::int64_t* into) const {
    for (std::size_t row = 0; row < rows.lines.size(); ++row) {
      const table_cell& cell = rows.cells[at][row];
      const auto found = cell ? classes.class_of(*cell) : std::nullopt;
      if (!found) return changed({plan_.table->path(), rows.lines[row], plan_.columns[at]});
      *into++ = *found;
    }
    return {};
  }

  table_plan plan_;
  kept_rows rows_;
};

/// Looks at all rows: their values, and which of them are samples.
class table_check {
 public:
  /// `guesses`: the user named neither inputs nor labels, so an input may be a label.
  table_check(table_plan& plan, bool guesses) : plan_(plan), guesses_(guesses), rows_(plan.table->rows()) {}

  expected<kept_rows> run() {
    for (std::uint64_t begin = 0; begin < plan_.table->rows(); begin += rows_at_a_time) {
      const sample_range range{begin, std::min(plan_.table->rows(), begin + rows_at_a_time)};
      const table_rows rows = TROUPE_TRY(plan_.table->read(range, plan_.columns));
      for (std::size_t row = 0; row < rows.lines.size(); ++row) TROUPE_TRY(check(rows, row));
    }
    if (rows_.size() == 0) {
      return fail(error_code::data_empty, plan_.name, "all " + std::to_string(rows_.left_out()) + " rows are left out",
                  "fill the empty cells, or name columns that have values");
    }
    for (table_classes& each : plan_.classes) {
      if (plan_.roles.labels[static_cast<std::size_t>(&each - plan_.classes.data())].is_target) continue;
      TROUPE_TRY(each.decide(plan_.table->path()));
    }
    return std::move(rows_);
  }

 private:
  expected<void> check(const table_rows& rows, std::size_t row) {
    for (std::size_t at = 0; at < plan_.columns.size(); ++at) {
      if (rows.cells[at][row] && !is_blank(*rows.cells[at][row])) continue;
      if (plan_.roles.skips_empty) return leave_out(rows.first + row);
      return fail(error_code::data_bad_format, table_place(plan_.table->path(), rows.lines[row], plan_.columns[at]),
                  "there is no value", "fill it, or leave out such rows, with the option skip-empty");
    }
    if (plan_.roles.ignored) {
      const std::string& label = *rows.cells[plan_.labels.front().front()][row];
      if (class_number(label) == plan_.roles.ignored) return leave_out(rows.first + row);
    }
    for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
      for (const std::size_t at : plan_.inputs[i]) {
        auto checked = check_numbers(rows, row, at, plan_.roles.inputs[i].is_integer, columns_option);
        if (!checked && guesses_) checked.error().fix = fix_of_guess(*plan_.table, plan_.columns[at]);
        TROUPE_TRY(std::move(checked));
      }
    }
    for (std::size_t i = 0; i < plan_.labels.size(); ++i) {
      const bool is_target = plan_.roles.labels[i].is_target;
      for (const std::size_t at : plan_.labels[i]) {
        TROUPE_TRY(is_target ? check_numbers(rows, row, at, false, target_option)
                             : check_class(rows, row, at, plan_.classes[i]));
      }
    }
    return {};
  }

  expected<void> check_class(const table_rows& rows, std::size_t row, std::size_t at, table_classes& into) {
    const cell_place place{plan_.table->path(), rows.lines[row], plan_.columns[at]};
    TROUPE_TRY(check_no_array(*rows.cells[at][row], place));
    return into.add(*rows.cells[at][row], table_place(place.path, place.line, place.column));
  }

  expected<void> check_numbers(const table_rows& rows, std::size_t row, std::size_t at, bool is_integer,
                               const data_option& option) {
    const cell_place place{plan_.table->path(), rows.lines[row], plan_.columns[at], option.name};
    std::int64_t& width = plan_.widths[at];
    if (width < 0) width = TROUPE_TRY(width_of_cell(*rows.cells[at][row], place));
    const auto wide = static_cast<std::size_t>(std::max<std::int64_t>(1, width));
    if (is_integer) {
      integers_.resize(wide);
      return read_cell(rows.cells[at][row], width, place, std::span<std::int64_t>(integers_));
    }
    reals_.resize(wide);
    return read_cell(rows.cells[at][row], width, place, std::span<float>(reals_));
  }

  expected<void> leave_out(std::uint64_t row) {
    if (rows_.left_out() == rows_left_out_max) {
      return fail(error_code::data_bad_format, plan_.table->path(),
                  "more than " + std::to_string(rows_left_out_max) + " rows are left out", "save the others alone");
    }
    rows_.leave_out(row);
    return {};
  }

  table_plan& plan_;
  const bool guesses_;
  kept_rows rows_;
  std::vector<std::int64_t> integers_;
  std::vector<float> reals_;
};

expected<data_set_ptr> make_table_set(table_source_ptr table, const data_request& request, const std::string& kind) {
  if (request.options.has(text_option.name)) return make_text_table(std::move(table), request);
  for (const data_option* each :
       {&pair_option, &each_alone_option, &tokenizer_option, &max_length_option, &padding_option}) {
    if (!request.options.has(each->name)) continue;
    return fail(error_code::value_out_of_range, request.specification,
                std::string(each->name) + " is for texts, and no column is named as one of texts",
                "name it: text=COLUMN");
  }
  table_plan plan{.name = kind + ":" + request.path() + request.options_text,
                  .reading = request.options_text,
                  .table = std::move(table),
                  .roles = {},
                  .columns = {},
                  .inputs = {},
                  .labels = {},
                  .widths = {},
                  .classes = {}};
  plan.roles = TROUPE_TRY(choose_columns(*plan.table, request));
  plan.columns = columns_used(plan.roles);
  place_columns(plan);
  plan.widths.assign(plan.columns.size(), -1);
  plan.classes.assign(plan.roles.labels.size(), table_classes(plan.roles.classes));
  const bool guesses = plan.roles.labels.empty() && !request.options.has(columns_option.name) &&
                       !request.options.has(inputs_option.name);
  kept_rows rows = TROUPE_TRY(table_check(plan, guesses).run());
  return std::make_shared<const table_set>(std::move(plan), std::move(rows));
}

}  // namespace

expected<data_set_ptr> open_csv(const data_request& request) {
  return make_table_set(TROUPE_TRY(open_csv_table(request)), request, "csv");
}

expected<data_set_ptr> open_jsonl(const data_request& request) {
  return make_table_set(TROUPE_TRY(open_jsonl_table(request)), request, "jsonl");
}

}  // namespace troupe
