#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>

#include <torch/csrc/jit/api/module.h>

#include <troupe/error.hpp>
#include <troupe/model.hpp>

namespace troupe {

/// The chain with each layer frozen and fused on its own (optimize_mode::layer): same names, types and counts, new
/// code; those whose numbers stand in `plain`, which ascends, stay as they are. LibTorch also folds what it must not
/// (output_difference.hpp): compare before a run. Weights that fusing rewrites are new; stages that share
/// one such chain share them. E0211 names the layer that LibTorch refuses; E0607 if it is told to stop between layers.
/// Any thread.
expected<layer_chain> optimize_layers(const layer_chain& chain, const std::stop_token& stop = {},
                                      std::span<const std::size_t> plain = {});

/// One module that runs `layers` in order, frozen and fused as a whole (optimize_mode::stage). Results move in the last
/// digits with the choice of layers. Layers that pass their input on are left out; that all do is a broken invariant.
/// E0211, whose place is `where`.
expected<torch::jit::Module> fuse_layers(std::span<const layer> layers, const std::string& where);

}  // namespace troupe
