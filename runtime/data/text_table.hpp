#pragma once

#include <string>

#include "runtime/data/data_option.hpp"
#include "runtime/data/table_source.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// The rows of a table as texts with a label: csv:FILE,text=COLUMN,tokenizer=FOLDER and the same of jsonl.
///
/// All texts become token ids when the set is opened, and are kept (token_rows). Samples are rows, with the inputs of
/// text_folder and one label; no label where the table has no such column. With each-alone each row is two samples,
/// its text and then its pair, with the labels pair (the row), side (0 or 1) and, where there is one, score.
/// Errors: as open_text_folder and table_source::read; E0301 for a column that is not there; E0103 for options that do
/// not fit each other; E0303 for a row without text and a text without tokens; E0306 where no row is left.
expected<data_set_ptr> make_text_table(table_source_ptr table, const data_request& request);

}  // namespace troupe
