#include "runtime/stage/route_body.hpp"

#include <algorithm>
#include <exception>

#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/stage/rows.hpp"
#include "runtime/tensor/named_payload.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

expected<std::vector<bool>> ask(const route_case& which, const named_tensors& given, std::size_t rows,
                                const std::string& where) {
  at::Tensor answer;
  try {
    answer = which.predicate(given);
  } catch (...) {
    return fail(error_code::forward_failed, where,
                "the predicate of case \"" + which.name + "\" threw: " + current_exception_text(),
                "check the predicate with such an input, outside the pipeline");
  }
  if (!answer.defined() || answer.scalar_type() != at::kBool || answer.dim() != 1 ||
      answer.size(0) != static_cast<std::int64_t>(rows)) {
    return fail(error_code::forward_failed, where,
                "the predicate of case \"" + which.name + "\" must answer with bool [" + std::to_string(rows) + "]",
                "compare row by row, as in logits.amax(1) > 0.9");
  }
  const at::Tensor flat = answer.contiguous();
  const bool* values = flat.const_data_ptr<bool>();
  return std::vector<bool>(values, values + rows);
}

/// The rows `picked` of a part, as a part.
void set_part(activation& output, const activation& input, const named_tensors& given, const row_set& picked) {
  const row_set places = rows_of(input);
  if (picked.size() < places.size()) {
    auto rows = std::make_shared<row_set>();
    for (const std::uint32_t each : picked) rows->push_back(places[each]);
    output.rows = std::move(rows);
  }
  if (picked.empty()) {
    output.labels = nullptr;
    return;
  }
  output.tensors = to_payload(pick_rows(given, picked));
  if (input.labels != nullptr) output.labels = to_payload(pick_rows(to_named(input.labels), picked));
}

}  // namespace

route_predicate for_each_sample(std::function<bool(const named_tensors&)> predicate) {
  return [predicate = std::move(predicate)](const named_tensors& inputs) {
    const std::int64_t rows = inputs.begin()->second.size(0);
    at::Tensor answer = at::empty({rows}, at::kBool);
    for (std::int64_t row = 0; row < rows; ++row) {
      named_tensors sample;
      for (const auto& [name, tensor] : inputs) sample.set(name, tensor.select(0, row));
      answer.mutable_data_ptr<bool>()[row] = predicate(sample);
    }
    return answer;
  };
}

route_body::route_body(std::string name, std::vector<route_case> cases)
    : name_(std::move(name)), cases_(std::move(cases)) {
  TROUPE_CHECK(!cases_.empty() && !cases_.back().predicate, "the topology was checked: the last case takes the rest");
}

expected<void> route_body::run(std::span<const activation> inputs, std::span<activation> outputs) try {
  const c10::InferenceMode inference;
  const activation& input = inputs.front();
  TROUPE_TRY(check_row_counts(input, name_));
  const named_tensors given = to_named(input.tensors);
  const auto parts = TROUPE_TRY(split(given, input.row_count()));
  for (std::size_t port = 0; port < outputs.size(); ++port) set_part(outputs[port], input, given, parts[port]);
  return {};
} catch (const std::exception& e) {
  return fail(error_code::forward_failed, name_, libtorch_message(e), "check the predicates of the route");
}

expected<std::vector<std::vector<std::uint32_t>>> route_body::split(const named_tensors& given,
                                                                    std::size_t rows) const {
  std::vector<std::vector<std::uint32_t>> parts(cases_.size());
  std::vector<bool> taken(rows, false);
  for (std::size_t number = 0; number < cases_.size(); ++number) {
    std::vector<bool> takes(rows, true);
    if (cases_[number].predicate) {
      takes = TROUPE_TRY(ask(cases_[number], given, rows, name_));
    }
    for (std::size_t row = 0; row < rows; ++row) {
      if (taken[row] || !takes[row]) continue;
      taken[row] = true;
      parts[number].push_back(static_cast<std::uint32_t>(row));
    }
  }
  return parts;
}

expected<void> join_body::run(std::span<const activation> inputs, std::span<activation> outputs) try {
  const c10::InferenceMode inference;
  std::vector<named_tensors> tensors;
  std::vector<named_tensors> labels;
  std::vector<row_set> rows;
  row_set all;
  for (const activation& part : inputs) {
    if (part.is_empty_part()) continue;
    TROUPE_TRY(check_row_counts(part, name_));
    tensors.push_back(to_named(part.tensors));
    if (part.labels != nullptr) labels.push_back(to_named(part.labels));
    rows.push_back(rows_of(part));
    all.insert(all.end(), rows.back().begin(), rows.back().end());
  }
  std::ranges::sort(all);
  if (std::ranges::adjacent_find(all) != all.end()) {
    return fail(error_code::forward_failed, name_, "two of its inputs hold the same sample",
                "a join puts the parts of a route together; use a stage with several inputs for branches that all got "
                "every sample");
  }
  auto whole = TROUPE_TRY(interleave_rows(tensors, rows));
  activation& output = outputs.front();
  output.rows = all.size() == output.samples.size() ? nullptr : std::make_shared<const row_set>(std::move(all));
  output.labels = nullptr;
  if (!labels.empty()) {
    auto all_labels = TROUPE_TRY(interleave_rows(labels, rows));
    output.labels = to_payload(all_labels);
  }
  const payload_ptr made = to_payload(whole);
  for (activation& each : outputs) {
    each.rows = output.rows;
    each.labels = output.labels;
    each.tensors = made;
  }
  return {};
} catch (const std::exception& e) {
  return fail(error_code::forward_failed, name_, libtorch_message(e), "check what the stages before the join return");
}

}  // namespace troupe
