#pragma once

/// All that a program needs: the DeepSpeed-shaped engine, an evaluation as `troupe eval` does it, data sets, metrics,
/// results. docs/README.md lists the pages that explain them.
#include <troupe/actors/evaluator.hpp>
#include <troupe/actors/pipeline_engine.hpp>
#include <troupe/actors/pipeline_module.hpp>
#include <troupe/actors/program.hpp>
#include <troupe/actors/topology.hpp>
#include <troupe/messages/error.hpp>
#include <troupe/messages/exit_status.hpp>
#include <troupe/runtime/config/eval_options.hpp>
#include <troupe/runtime/data/data_set.hpp>
#include <troupe/runtime/data/iterator_source.hpp>
#include <troupe/runtime/metric/metric.hpp>
#include <troupe/runtime/report/json_report.hpp>
#include <troupe/runtime/report/result_table.hpp>
#include <troupe/runtime/report/run_result.hpp>
#include <troupe/runtime/stage/module_stage.hpp>
#include <troupe/runtime/stage/stage_function.hpp>
