#include "runtime/model/layers_body.hpp"

#include <algorithm>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/model/expected_input.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/optimize.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_threads.hpp"

namespace troupe {
namespace {

constexpr auto forward_fix =
    "check that the model accepts such an input, with --stages 1 --optimize none; if memory ran out, use a smaller "
    "--micro-batch";

std::string range_name(const layer_chain& chain, std::size_t first, std::size_t last) {
  return chain.file + ", layers " + std::to_string(first) + " to " + std::to_string(last - 1);
}

expected<std::vector<layer_code>> compile(const layer_chain& chain, std::size_t first, std::size_t last,
                                          const layers_body_options& options) {
  const std::span layers = std::span(chain.layers).subspan(first, last - first);
  const optimize_mode mode = options.optimize;
  if (mode == optimize_mode::none || std::ranges::all_of(layers, &layer::passes_through)) return code_of(layers);
  if (mode == optimize_mode::stage) {
    const auto is_plain = [&](const layer& one) { return std::ranges::binary_search(options.plain, one.index); };
    if (std::ranges::any_of(layers, is_plain)) return code_of(layers);
    const auto fused = TROUPE_TRY(options.fused ? expected<torch::jit::Module>(*options.fused)
                                                : fuse_layers(layers, range_name(chain, first, last)));
    return std::vector{layer_code(fused)};
  }
  const auto optimized = TROUPE_TRY(optimize_layers({chain.file, {layers.begin(), layers.end()}}, {}, options.plain));
  return code_of(optimized.layers);
}

}  // namespace

expected<std::unique_ptr<layers_body>> layers_body::make(const layer_chain& chain, std::size_t first, std::size_t last,
                                                         layers_body_options options) {
  TROUPE_CHECK(first <= last && last <= chain.layers.size(), "a stage's layers lie in the chain");
  TROUPE_CHECK(options.threads >= 1, "thread counts are resolved before a stage is made");
  auto codes = TROUPE_TRY(compile(chain, first, last, options));
  std::vector<layer> layers(chain.layers.begin() + static_cast<std::ptrdiff_t>(first),
                            chain.layers.begin() + static_cast<std::ptrdiff_t>(last));
  return std::unique_ptr<layers_body>(new layers_body(std::move(layers), std::move(codes), std::move(options)));
}

layers_body::layers_body(std::vector<layer> layers, std::vector<layer_code> codes, layers_body_options options)
    : layers_(std::move(layers)), codes_(std::move(codes)), options_(std::move(options)) {}

void layers_body::on_start() {
  set_threads_of_this_thread(options_.threads);
  if (!options_.warm_up_input) return;
  activation warm_up;
  warm_up.tensors = make_tensors(*options_.warm_up_input);
  for (std::uint32_t i = 0; i < limits::profile_warm_up_passes; ++i) {
    // a failure repeats itself in the first real forward, where it is reported
    if (!forward(warm_up)) break;
  }
}

expected<payload_ptr> layers_body::forward(const activation& input) {
  const std::vector<at::Tensor>& given = as_tensors(input.tensors).tensors();
  if (given.size() != 1) {
    return fail(error_code::forward_failed, "stage " + std::to_string(options_.stage),
                "a chain of layers takes one tensor, and it got " + std::to_string(given.size()),
                "feed the stage from one edge that carries one tensor");
  }
  const c10::InferenceMode inference;
  std::size_t code = 0;
  try {
    at::Tensor value = given.front();
    for (; code < codes_.size(); ++code) value = codes_[code].run(std::move(value));
    const bool shared = value.has_storage() && given.front().has_storage() && value.is_alias_of(given.front());
    return make_tensors(shared ? faithful_copy(value) : std::move(value));
  } catch (const std::exception& caught) {
    return failure(input, code, caught);
  }
}

tl::unexpected<error> layers_body::failure(const activation& input, std::size_t code, const std::exception& caught) {
  const at::Tensor& given = as_tensors(input.tensors).tensors().front();
  const bool has_layer = codes_.size() == layers_.size() && code < layers_.size();
  const auto weights = has_layer ? weights_type(layers_[code].module) : std::nullopt;
  return fail(error_code::forward_failed, "stage " + std::to_string(options_.stage) + ", " + guilty_layer(given, code),
              "forward failed: " + libtorch_message(caught),
              libtorch_fix(caught, forward_fix, {.input = given, .weights = weights}));
}

std::string layers_body::guilty_layer(const at::Tensor& input, std::size_t code) const {
  if (codes_.size() == layers_.size()) return code < layers_.size() ? to_string(layers_[code]) : "output";
  std::size_t at = 0;
  try {
    at::Tensor value = input;
    for (; at < layers_.size(); ++at) value = layer_code(layers_[at]).run(std::move(value));
  } catch (const std::exception&) {
    return to_string(layers_[at]);
  }
  return "layers " + std::to_string(layers_.front().index) + " to " + std::to_string(layers_.back().index) +
         ", fused as a whole";
}

}  // namespace troupe
