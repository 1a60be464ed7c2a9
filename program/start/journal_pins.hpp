#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "program/topology/checked_run.hpp"
#include "runtime/journal/journal_format.hpp"
#include <troupe/data_set.hpp>
#include <troupe/error.hpp>
#include <troupe/options.hpp>
#include <troupe/topology.hpp>

namespace troupe {

/// All that the bits of a run depend on, for the header of its journal: the content of models and data, the options,
/// LibTorch, the processor and the kernels that it makes LibTorch choose; where there is more than one model and one
/// sink the shape of the topology. What callables do cannot be seen. `plain`: started_run::plain_pipelines.
/// `options.threads` is resolved. Reads the files once, and builds models that come from no file. Errors: E0210 and
/// E0307; those of model_source::open(); E0104 for data that does not say which files it comes from.
[[nodiscard]] expected<journal_pins> pins_of(const checked_run& run, const data_set& data,
                                             const std::vector<std::string>& plain);

/// Those of LibTorch, the processor and its kernels.
[[nodiscard]] journal_pins pins_of_machine();

/// The kind of the data and SHA-256 of their files; the name, where they do not say which files they come from. E0307.
[[nodiscard]] expected<std::string> identity_of_data(const data_set& data);

/// By pipeline, rewrite_choice::runs_plain as the journal of a resumed run has it; empty where it says nothing.
[[nodiscard]] std::map<std::string, bool> journaled_plain(const topology& what, const journal_options& journal);

/// Intra-op threads of stages that do not say otherwise: those that the user asked for; else, of a run that is resumed,
/// those of its journal, whatever stages, replicas and cores are now; else max(1, cores / stage replicas).
[[nodiscard]] std::uint32_t threads_of(const topology& what, const run_options& options, std::uint32_t cores);

}  // namespace troupe
