#pragma once

#include <cstdint>

#include "program/run/trained_state.hpp"
#include "runtime/checkpoint/load_files.hpp"
#include "runtime/checkpoint/save_files.hpp"
#include <troupe/error.hpp>
#include <troupe/training_engine.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// A training as the files of a checkpoint have it: layers as pipeline_engine saves them, and beside them
/// optimizer_name (checkpoint_layout.hpp). It shares the snapshot's tensors.
[[nodiscard]] checkpoint_content content_of(const training_snapshot& from, const trained_pipeline& model,
                                            std::uint64_t seed, client_state state);

/// Takes of a checkpoint what the options ask for; the rest of `into`, which is what an engine has, stays. `layers`: of
/// code; null for a model from a file. Errors: load_layers(), fitted_state(); E0201 no file of an optimizer; E0210 one
/// with other content; E0104 another seed.
[[nodiscard]] expected<void> read_training_files(const tag_folder& from, const trained_pipeline& model,
                                                 const std::vector<layer_spec>* layers, std::uint64_t seed,
                                                 const load_checkpoint_options& how, training_snapshot& into);

}  // namespace troupe
