#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include <troupe/error.hpp>
#include <troupe/model.hpp>

namespace troupe {

/// A layer that LibTorch does not freeze, by its place in the chain, and LibTorch's words.
struct refused_layer {
  std::size_t index = 0;
  std::string why;
};

/// The chain with each layer frozen and fused on its own (optimize_mode::layer): same names, types and counts, new
/// code; those whose numbers stand in `plain`, which ascends, stay as they are. LibTorch also folds what it must not
/// (output_difference.hpp): compare before a run. Weights that fusing rewrites are new; stages that share
/// one such chain share them. E0211 names the layer that LibTorch refuses; E0607 if it is told to stop between layers.
/// Any thread.
expected<layer_chain> optimize_layers(const layer_chain& chain, const std::stop_token& stop = {},
                                      std::span<const std::size_t> plain = {});
/// The same for all layers, but that one which LibTorch refuses stays as it is and is added to `refused`: no E0211.
expected<layer_chain> optimize_what_can_be(const layer_chain& chain, const std::stop_token& stop,
                                           std::vector<refused_layer>& refused);

/// One module that runs `layers` in order, frozen and fused as a whole (optimize_mode::stage). Results move in the last
/// digits with the choice of layers. Layers that pass their input on are left out; that all do is a broken invariant.
/// E0211, whose place is `where`.
expected<torch::jit::Module> fuse_layers(std::span<const layer> layers, const std::string& where);

}  // namespace troupe
