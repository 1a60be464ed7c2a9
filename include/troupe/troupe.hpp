#pragma once

/// All that a program needs: the DeepSpeed-shaped engine, an evaluation as `troupe eval` does it, data sets, metrics,
/// results. docs/README.md lists the pages that explain them.
#include "messages/error.hpp"
#include "messages/exit_status.hpp"
#include "program/evaluator.hpp"
#include "program/pipeline_engine.hpp"
#include "program/pipeline_module.hpp"
#include "program/program.hpp"
#include "program/topology.hpp"
#include "runtime/config/eval_options.hpp"
#include "runtime/data/data_iterator.hpp"
#include "runtime/data/data_set.hpp"
#include "runtime/metric/metric_of.hpp"
#include "runtime/report/json_report.hpp"
#include "runtime/report/result_table.hpp"
#include "runtime/report/run_result.hpp"
#include "runtime/stage/module_stage.hpp"
#include "runtime/stage/stage_function.hpp"
