#pragma once

#include <cstddef>
#include <memory>

#include "runtime/question_answering/squad_file.hpp"
#include <troupe/metric.hpp>

namespace troupe {

struct squad_answering {
  std::size_t n_best = 20;
  double null_threshold = 0;
};

/// The metric "squad" with the texts: it takes the rows of squad_spans of all windows, chooses the answers, and scores
/// them. Questions without a window among the rows, of a run that was limited or interrupted, do not count. The best
/// thresholds of v2 are those of null-threshold. predictions(): {"id": "text"}; with candidates also NAME.nbest.json,
/// and of v2 NAME.null_odds.json.
metric_ptr make_squad_metric(std::shared_ptr<const squad_file> data, const squad_answering& how);

}  // namespace troupe
