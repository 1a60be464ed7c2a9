#include "runtime/config/option_names.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "messages/check.hpp"
#include "runtime/data/data_specification.hpp"
#include "runtime/device/device_name.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/partition/partition_method.hpp"
#include "runtime/predictions/prediction_rows.hpp"
#include "runtime/suggest/suggest.hpp"
#include <troupe/fault_plan.hpp>
#include <troupe/metric.hpp>

namespace troupe {
namespace {

/// Only the name is judged here; whether it suits the data is seen when they are open.
constexpr std::uint32_t any_classes = 10;
const std::vector<std::string> optimize_names = {"graph", "none"};
/// Names of earlier versions, for graph.
const std::vector<std::string> former_optimize_names = {"layer", "stage"};
const std::vector<std::string> layer_names = {"modules", "operators"};
const std::vector<std::string> prediction_extras = {"none", "probabilities", "outputs"};
const std::vector<std::string> transport_names = {"auto", "inproc", "shm", "tcp", "nccl"};
const std::vector<std::string> log_formats = {"text", "json"};
const std::vector<std::string> log_levels = {"debug", "info", "warning", "error"};
const std::vector<std::string> partition_methods = {"auto", "uniform", "parameters", "profile"};

value_problem unknown(const std::string& what, const std::string& found, const std::vector<std::string>& known) {
  return {fmt::format("there is no {} \"{}\"", what, found), suggest_fix(found, known), error_code::unknown_name};
}

bool is_known(const std::string& name, const std::vector<std::string>& known) {
  return std::find(known.begin(), known.end(), name) != known.end();
}

}  // namespace

void check_name(const option_value& value, const std::string& what, const std::vector<std::string>& known,
                std::vector<value_problem>& problems) {
  const auto& name = std::get<std::string>(value);
  if (!is_known(name, known)) problems.push_back(unknown(what, name, known));
}

void check_data_kind(const option_value& value, std::vector<value_problem>& problems) {
  const auto& text = std::get<std::string>(value);
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    problems.push_back(
        {fmt::format("\"{}\" does not say which kind of data it is", text),
         text.ends_with(".npz") ? "write npz:" + text : fmt::format("write KIND:PATH, one of {}", data_forms()),
         error_code::unknown_name});
    return;
  }
  const std::string kind = text.substr(0, colon);
  const std::vector<std::string> kinds = data_kind_names();
  if (!is_known(kind, kinds)) problems.push_back(unknown("kind of data", kind, kinds));
  if (colon + 1 == text.size()) problems.push_back({fmt::format("no path after \"{}\"", text), {}});
  if (!problems.empty()) return;
  if (const auto read = parse_data(text); !read) {
    problems.push_back({read.error().cause, read.error().fix, read.error().code});
  }
}

void check_optimize_mode(const option_value& value, std::vector<value_problem>& problems) {
  if (!is_known(std::get<std::string>(value), former_optimize_names))
    check_name(value, "optimize mode", optimize_names, problems);
}

void check_layers(const option_value& value, std::vector<value_problem>& problems) {
  check_name(value, "kind of layers", layer_names, problems);
}

void check_transport(const option_value& value, std::vector<value_problem>& problems) {
  check_name(value, "transport", transport_names, problems);
}

void check_log_format(const option_value& value, std::vector<value_problem>& problems) {
  check_name(value, "format of the log", log_formats, problems);
}

void check_log_level(const option_value& value, std::vector<value_problem>& problems) {
  check_name(value, "level of the log", log_levels, problems);
}

void check_device_name(const option_value& value, std::vector<value_problem>& problems) {
  const auto read = parse_device(std::get<std::string>(value), {});
  if (!read) problems.push_back({read.error().cause, read.error().fix, read.error().code});
}

void check_partition_method(const option_value& value, std::vector<value_problem>& problems) {
  const auto method = parse_partition_method(std::get<std::string>(value));
  if (!method) {
    const auto near = suggest(std::get<std::string>(value), partition_methods);
    problems.push_back(
        {method.error().cause, near ? fmt::format("write {}", *near) : method.error().fix, method.error().code});
  } else if (method->kind == partition_kind::balanced) {
    problems.push_back({"balanced is for a list of weights", "write parameters or profile", error_code::unknown_name});
  }
}

void check_metric_names(const option_value& value, std::vector<value_problem>& problems) {
  const auto& names = std::get<std::vector<std::string>>(value);
  if (names.empty()) problems.push_back({"no metric named", {}});
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(canonical_metric_name(name)).second) {
      problems.push_back({fmt::format("metric \"{}\" is named twice", name), "name each metric once"});
    } else if (const auto made = make_metric(name, any_classes); !made) {
      problems.push_back(
          {fmt::format("{}: {}", made.error().where, made.error().cause), made.error().fix, made.error().code});
    }
  }
}

void check_prediction_file(const option_value& value, std::vector<value_problem>& problems) {
  const auto& file = std::get<std::string>(value);
  if (const auto format = prediction_format_of(file); !format) {
    problems.push_back({format.error().cause, format.error().fix, format.error().code});
  }
}

void check_prediction_extra(const option_value& value, std::vector<value_problem>& problems) {
  check_name(value, "value beside predictions", prediction_extras, problems);
}

void check_faults(const option_value& value, std::vector<value_problem>& problems) {
  fault_plan plan;
  for (const std::string& each : std::get<std::vector<std::string>>(value)) plan.add(each);
  if (const auto fine = plan.check(); !fine) {
    const error& wrong = fine.error();
    problems.push_back({fmt::format("{}: {}", wrong.where, wrong.cause), wrong.fix, wrong.code});
  }
}

std::string optimize_name(optimize_mode mode) {
  return optimize_names.at(static_cast<std::size_t>(mode));
}

bool is_former_optimize_name(const std::string& name) {
  return is_known(name, former_optimize_names);
}

optimize_mode optimize_of(const std::string& name) {
  if (is_former_optimize_name(name)) return optimize_mode::graph;
  const auto found = std::find(optimize_names.begin(), optimize_names.end(), name);
  TROUPE_CHECK(found != optimize_names.end(), "only checked values are set");
  return static_cast<optimize_mode>(found - optimize_names.begin());
}

std::string prediction_extra_name(prediction_extra extra) {
  return prediction_extras.at(static_cast<std::size_t>(extra));
}

prediction_extra prediction_extra_of(const std::string& name) {
  const auto found = std::find(prediction_extras.begin(), prediction_extras.end(), name);
  TROUPE_CHECK(found != prediction_extras.end(), "only checked values are set");
  return static_cast<prediction_extra>(found - prediction_extras.begin());
}

std::string layers_name(layer_unit unit) {
  return layer_names.at(static_cast<std::size_t>(unit));
}

layer_unit layers_of(const std::string& name) {
  const auto found = std::find(layer_names.begin(), layer_names.end(), name);
  TROUPE_CHECK(found != layer_names.end(), "only checked values are set");
  return static_cast<layer_unit>(found - layer_names.begin());
}

std::string transport_name(transport_kind kind) {
  return transport_names.at(static_cast<std::size_t>(kind));
}

transport_kind transport_of(const std::string& name) {
  const auto found = std::find(transport_names.begin(), transport_names.end(), name);
  TROUPE_CHECK(found != transport_names.end(), "only checked values are set");
  return static_cast<transport_kind>(found - transport_names.begin());
}

std::string log_format_name(log_format format) {
  return log_formats.at(static_cast<std::size_t>(format));
}

log_format log_format_of(const std::string& name) {
  const auto found = std::find(log_formats.begin(), log_formats.end(), name);
  TROUPE_CHECK(found != log_formats.end(), "only checked values are set");
  return static_cast<log_format>(found - log_formats.begin());
}

log_level log_level_of(const std::string& name) {
  const auto found = std::find(log_levels.begin(), log_levels.end(), name);
  TROUPE_CHECK(found != log_levels.end(), "only checked values are set");
  return static_cast<log_level>(found - log_levels.begin());
}

}  // namespace troupe
