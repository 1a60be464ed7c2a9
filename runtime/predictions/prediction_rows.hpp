#pragma once

#include <string>

#include "runtime/metric/row_writer.hpp"
#include <troupe/data_set.hpp>
#include <troupe/error.hpp>
#include <troupe/metric.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// The files that predictions are written to, by the end of their names.
enum class prediction_format : std::uint8_t {
  jsonl,  ///< a line for each sample: {"sample": 3, "label": 7, "prediction": 7}
  npy,    ///< one array, a row for each sample
  json,   ///< the predictions of a task, in the form that the task has for them (metric::predictions)
};

/// E0103 for another name.
[[nodiscard]] expected<prediction_format> prediction_format_of(const std::string& file);

/// What a stage keeps of each sample for a file jsonl or npy, as the rows of a metric "predictions", which has no
/// value. jsonl: the lines. npy: an array of each micro-batch: its type as "<f4", the number of dimensions and each of
/// them in 64 bits, then the elements.
[[nodiscard]] metric_ptr make_prediction_rows(prediction_format format, prediction_extra with);

/// Writes these rows to `file`, which takes the place of an old one when it is whole. Lines get the ids that `data` has
/// for the samples, {"sample": 3, "id": "a7", ...}; null: none. E0611 where the file cannot be written; E0603 where
/// micro-batches have rows that do not make one array; E0604, or what data_set::ids() tells, where ids cannot be read;
/// E0702 for rows that are no lines.
[[nodiscard]] expected<std::shared_ptr<row_writer>> open_prediction_file(const std::string& file,
                                                                         prediction_format format, data_set_ptr data);

}  // namespace troupe
