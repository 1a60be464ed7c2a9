#pragma once

#include <string>
#include <vector>

#include "runtime/config/option_table.hpp"

namespace troupe {

/// The rules about names in the table of options: each appends the problems of a value of the right type.
/// One of `known`, which are the names of a `what`: E0102.
void check_name(const option_value& value, const std::string& what, const std::vector<std::string>& known,
                std::vector<value_problem>& problems);
void check_data_kind(const option_value& value, std::vector<value_problem>& problems);
void check_optimize_mode(const option_value& value, std::vector<value_problem>& problems);
void check_layers(const option_value& value, std::vector<value_problem>& problems);
void check_transport(const option_value& value, std::vector<value_problem>& problems);
void check_log_format(const option_value& value, std::vector<value_problem>& problems);
void check_log_level(const option_value& value, std::vector<value_problem>& problems);
void check_device_name(const option_value& value, std::vector<value_problem>& problems);
void check_partition_method(const option_value& value, std::vector<value_problem>& problems);
void check_metric_names(const option_value& value, std::vector<value_problem>& problems);
void check_prediction_file(const option_value& value, std::vector<value_problem>& problems);
void check_prediction_extra(const option_value& value, std::vector<value_problem>& problems);
void check_faults(const option_value& value, std::vector<value_problem>& problems);

std::string optimize_name(optimize_mode mode);
/// `name` is one of graph, none, and layer and stage, which earlier versions had for graph.
optimize_mode optimize_of(const std::string& name);
/// Whether it is one of those that earlier versions had.
bool is_former_optimize_name(const std::string& name);

std::string layers_name(layer_unit unit);
/// `name` is one of modules, operators.
layer_unit layers_of(const std::string& name);

std::string prediction_extra_name(prediction_extra extra);
/// `name` is one of none, probabilities, outputs.
prediction_extra prediction_extra_of(const std::string& name);

std::string transport_name(transport_kind kind);
/// `name` is one of auto, inproc, shm, tcp, nccl.
transport_kind transport_of(const std::string& name);

std::string log_format_name(log_format format);
/// `name` is one of text, json.
log_format log_format_of(const std::string& name);
/// `name` is one of debug, info, warning, error.
log_level log_level_of(const std::string& name);

}  // namespace troupe
