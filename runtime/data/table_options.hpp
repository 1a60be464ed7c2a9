#pragma once

#include <array>

#include "runtime/data/array_options.hpp"
#include "runtime/data/data_option.hpp"
#include "runtime/data/table_source.hpp"
#include "runtime/data/text_options.hpp"

namespace troupe {

/// The options of tables.
inline constexpr data_option columns_option{
    .name = "columns",
    .form = data_value::names,
    .value_name = "NAMES",
    .example = "age,height",
    .help = "columns that are one input together, or GROUP:NAME,... for an input with a name"};
inline constexpr data_option integers_option{.name = "integers",
                                             .form = data_value::names,
                                             .value_name = "NAMES",
                                             .example = "input_ids",
                                             .help = "inputs that are int64, and not float32"};
inline constexpr data_option target_option{
    .name = "target",
    .form = data_value::names,
    .value_name = "NAMES",
    .example = "price",
    .help = "columns of numbers that are one float32 label together, or GROUP:NAME,... for a label with a name"};
inline constexpr data_option classes_option{.name = "classes",
                                            .form = data_value::names,
                                            .value_name = "NAMES",
                                            .example = "cat,dog",
                                            .help = "names of the classes in the column of labels, from class 0 on"};
inline constexpr data_option id_option{.name = "id",
                                       .form = data_value::text,
                                       .value_name = "NAME",
                                       .example = "id",
                                       .help = "a column that names the samples in predictions, and is no input"};
inline constexpr data_option skip_empty_option{
    .name = "skip-empty", .form = data_value::toggle, .help = "leave out rows that lack a value which is used"};
inline constexpr data_option separator_option{.name = "separator",
                                              .form = data_value::text,
                                              .value_name = "CHARACTER",
                                              .example = ";",
                                              .help = "what stands between cells, or the word tab; a comma without it"};
inline constexpr std::array<std::string_view, 2> yes_or_no = {"yes", "no"};
inline constexpr data_option header_option{
    .name = "header",
    .form = data_value::choice,
    .value_name = "yes|no",
    .example = "no",
    .help = "whether the first row names the columns; without names they are numbers from 0",
    .choices = yes_or_no};

inline constexpr std::array csv_options = {
    columns_option,    inputs_option,  integers_option,   label_option,     target_option,     classes_option,
    id_option,         ignore_option,  text_option,       pair_option,      each_alone_option, tokenizer_option,
    max_length_option, padding_option, skip_empty_option, separator_option, header_option};
inline constexpr std::array jsonl_options = {columns_option,    inputs_option,  integers_option,   label_option,
                                             target_option,     classes_option, id_option,         ignore_option,
                                             text_option,       pair_option,    each_alone_option, tokenizer_option,
                                             max_length_option, padding_option, skip_empty_option};

/// separator and header. Errors: E0103 for a separator that is not one character, or is a quote or a line end.
expected<csv_form> read_csv_form(const data_request& request);

}  // namespace troupe
