#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "program/models/layered_model.hpp"
#include "program/models/rewrite_choice.hpp"
#include <troupe/options.hpp>

namespace troupe {

struct cut_request {
  std::uint32_t stages = 1;
  /// Intra-op threads per stage, resolved.
  std::uint32_t threads = 1;
  optimize_mode optimize = optimize_mode::graph;
  std::string partition = "auto";
  /// The parts run on another device than the CPU.
  bool is_for_device = false;
  /// See rewrite_choice_request.
  bool allow_random = false;
  std::optional<bool> journaled_plain = std::nullopt;
  /// The model is trained: as it stands, and with draws that have keys, so that it is repeatable.
  bool trains = false;
  /// The layers are timed also where the method needs no times, if there is a sample.
  bool times_layers = false;
  double cut_cost_seconds_per_byte = cut_cost::in_process;
};

/// See cut_cost; `spans_nodes`: the workers of the run are on several machines.
double cut_cost_of(const worker_options& workers, bool spans_nodes = false);

/// Where a model is to be cut, and what passes there.
struct cut_places {
  part_boundaries boundaries;
  /// The method that gave them: the one asked for, or what "auto" became.
  std::string cut_by = {};
  /// layered_model::bit_dependence().
  std::string bits_depend_on = {};
  /// Names of the inputs that the data give.
  std::vector<std::string> inputs = {};
  /// By stage: what it gets of a micro-batch like the sample, but of fewer samples. Empty without a sample.
  std::vector<graph_values> warm_up;
  /// The most that passes from one stage to the next for a micro-batch like the sample; 0: not known.
  std::uint64_t activation_bytes = 0;
  /// Whether the model runs as it stands, compared on the CPU also for a device.
  rewrite_choice choice = {};
  /// By layer, where they were timed.
  std::vector<double> seconds = {};
  /// What crosses the front of each layer, and the end of the model, for one sample. Empty without a sample.
  std::vector<passing_values> crossing = {};
};

/// The one way from a method to boundaries, by which runs and `troupe plan` cut. `sample`: a real micro-batch of the
/// data, by whose names the model's inputs are bound, that goes through all layers (E0209), warms the stages up and is
/// what partition = "profile" times; null: none of these, and "auto" is "parameters". A rewritten model is compared
/// with that of the file (rewrite_choice.hpp). Errors: E0106 more stages than the model can be cut into, E05xx
/// partition; E0216 not repeatable; E0607 if it is told to stop between layers or rounds.
expected<cut_places> find_places(layered_model& model, const cut_request& request, const payload_ptr& sample,
                                 const std::stop_token& stop = {});

/// A model, cut into stages.
struct cut_model {
  cut_request request;
  layered_model_ptr model;
  cut_places places;

  /// "0 Conv2d" for each layer of the stage.
  [[nodiscard]] std::vector<std::string> layer_names(std::size_t part) const;
  /// The body of one replica, with its weights on `device`; `stage` is its number in errors.
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_body(std::size_t part, stage_index stage,
                                                                c10::Device device) const;
};

/// Cuts. Errors: find_places(). Sets the calling thread's intra-op threads, and keeps a team of them: call it on a
/// thread that ends.
expected<cut_model> cut(layered_model_ptr model, const cut_request& request, const payload_ptr& sample,
                        const std::stop_token& stop = {});

/// The same cut again, where another process has found the places. E0617 for boundaries that this model cannot have.
expected<cut_model> cut_at(layered_model_ptr model, const cut_request& request, cut_places places);

/// A warm-up input, from what the driver sends: a replacement, for which all wait, gets fewer samples. Empty for null.
[[nodiscard]] graph_values warm_up_of(const payload_ptr& sent, bool is_replacement);

}  // namespace troupe
