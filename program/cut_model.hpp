#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/error.hpp"
#include "messages/ids.hpp"
#include "messages/payload.hpp"
#include "runtime/config/eval_options.hpp"
#include "runtime/engine/stage_body.hpp"
#include "runtime/model/layer_chain.hpp"
#include "runtime/partition/partition_layers.hpp"

namespace troupe {

struct cut_request {
  std::uint32_t stages = 1;
  /// Intra-op threads per stage, resolved.
  std::uint32_t threads = 1;
  optimize_mode optimize = optimize_mode::layer;
  std::string partition = "parameters";
};

/// A chain of layers, cut into stages and optimized. Replicas share its weights.
struct cut_model {
  cut_request request;
  /// With optimize_mode::layer its layers are optimized; after cut_again() those of the one part.
  layer_chain chain;
  part_boundaries boundaries;
  /// By stage; undefined without a sample.
  std::vector<at::Tensor> warm_up;
  /// The most that passes from one stage to the next for a micro-batch like the sample; 0: not known.
  std::uint64_t activation_bytes = 0;

  /// "0 Conv2d" for each layer of the stage.
  [[nodiscard]] std::vector<std::string> layer_names(std::size_t part) const;
  /// The body of one replica; `stage` is its number in errors.
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_body(std::size_t part, stage_index stage) const;
};

/// `sample`: a real micro-batch [N, ...] that goes through all layers (E0209), warms the stages up and is what
/// partition = "profile" times; undefined: none of these. Errors: E0106 more stages than layers, E05xx partition,
/// E0211; E0607 if it is told to stop between layers or rounds. Sets the calling thread's intra-op threads, and keeps a
/// team of them: call it on a thread that ends.
expected<cut_model> cut(const layer_chain& chain, const cut_request& request, const at::Tensor& sample,
                        const std::stop_token& stop = {});

/// The same cut again, in a process that needs one part of it alone: where it was cut and what the part is warmed up
/// with (undefined: nothing) come from whoever made it. `is_optimized`: the chain comes from load_optimized(). E0617
/// for boundaries that this chain cannot have; E0211.
expected<cut_model> cut_again(layer_chain chain, const cut_request& request, part_boundaries boundaries,
                              std::size_t part, const at::Tensor& warm_up, bool is_optimized = false);

/// The same cut again for all parts, in the process that runs them, where another one has tried it out.
expected<cut_model> cut_as(const layer_chain& chain, const cut_request& request, part_boundaries boundaries,
                           std::vector<at::Tensor> warm_up, const std::stop_token& stop = {});

/// A model's file as cut_again() wants it where no time is left: with optimize_mode::layer all layers are optimized.
expected<layer_chain> load_optimized(const std::string& file, optimize_mode optimize, const model_loading& how = {});

/// Of the input that the driver sends: a replacement, for which all wait, gets less of it.
[[nodiscard]] at::Tensor warm_up_of(const at::Tensor& sent, bool is_replacement);
/// The same of what a worker was sent: an undefined tensor for null; E0702 for anything but one tensor.
[[nodiscard]] expected<at::Tensor> warm_up_of(const payload_ptr& sent, bool is_replacement);

}  // namespace troupe
