#pragma once

/// All that a program needs: the DeepSpeed-shaped engine, an evaluation as `troupe eval` does it, topologies, data
/// sets, metrics, results. docs/README.md lists the pages that explain them.
#include <troupe/evaluator.hpp>
#include <troupe/fault_plan.hpp>
#include <troupe/metric_of.hpp>
#include <troupe/pipeline_engine.hpp>
#include <troupe/program.hpp>
#include <troupe/result.hpp>
