#include "runtime/model/probe.hpp"

#include <exception>
#include <sstream>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "messages/try.hpp"
#include "runtime/model/expected_input.hpp"
#include "runtime/model/layer_code.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/tensor/tensor_description.hpp"

namespace troupe {
namespace {

constexpr auto probe_fix =
    "use the data that the model was made for, or put a layer in front that converts it; a model must not have the "
    "batch size of its example input built in";

std::string description(const at::Tensor& tensor) {
  return to_string(tensor.sizes().vec()) + " of " + c10::toString(tensor.scalar_type());
}

std::string layout_name(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.layout();
  return text.str();
}

tl::unexpected<error> rejection(const layer_chain& chain, const layer& one, const at::Tensor& samples,
                                const at::Tensor& found, const std::exception& caught) {
  std::string cause = "the layer does not accept the sample: found an input of shape " + description(found);
  if (const auto wanted = expected_input(one.module)) cause += ", expected " + *wanted;
  return fail(error_code::model_rejects_sample, chain.file + ", " + to_string(one),
              cause + ": " + libtorch_message(caught),
              libtorch_fix(caught, probe_fix,
                           {.input = found, .data = samples.scalar_type(), .weights = weights_type(one.module)}));
}

/// Every layer may be the last of a stage, so what it gives must be able to go to another process.
expected<void> check_output(const layer_chain& chain, const layer& one, const at::Tensor& value) {
  const auto refuse = [&](std::string cause, std::string fix) {
    return fail(error_code::model_rejects_sample, chain.file + ", " + to_string(one), std::move(cause), std::move(fix));
  };
  if (value.layout() != at::kStrided) {
    return refuse("the layer gives a tensor of layout " + layout_name(value) + ", and dense ones pass between layers",
                  "let the layer end with to_dense()");
  }
  if (!value.device().is_cpu()) {
    return refuse("the layer gives a tensor on " + value.device().str() + " for one on the CPU",
                  "export the model on the CPU, without a device in its code");
  }
  const std::string why = why_no_bytes(value);
  if (why.empty()) return {};
  return refuse("the layer gives a tensor that " + why + ", which cannot pass between stages",
                "let the layer give a dense tensor of floating-point numbers or integers");
}

}  // namespace

std::string to_string(const std::vector<std::int64_t>& sizes) {
  std::string text = "[";
  for (const std::int64_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

expected<std::vector<layer_shape>> probe_chain(const layer_chain& chain, const at::Tensor& samples,
                                               const std::stop_token& stop) {
  const c10::InferenceMode inference;
  std::vector<layer_shape> shapes;
  at::Tensor value = samples;
  for (const layer& one : chain.layers) {
    if (stop.stop_requested()) return stopped_early(chain.file);
    const at::Tensor input = value;
    try {
      value = layer_code(one).run(input);
    } catch (const std::exception& caught) {
      return rejection(chain, one, samples, input, caught);
    }
    TROUPE_TRY(check_output(chain, one, value));
    shapes.push_back({input.sizes().vec(), value.sizes().vec(), value.nbytes()});
  }
  if (value.dim() < 1 || value.size(0) != samples.size(0)) {
    return fail(error_code::model_rejects_sample, chain.file + ", " + to_string(chain.layers.back()),
                "the model gives " + description(value) + " for an input of shape " + description(samples) +
                    ": dimension 0 must stay the number of samples",
                probe_fix);
  }
  if (value.is_quantized()) {
    return fail(error_code::model_rejects_sample, chain.file + ", " + to_string(chain.layers.back()),
                "the model gives a quantized tensor, and metrics read numbers",
                "end the model with a torch.ao.quantization.DeQuantStub, or with dequantize()");
  }
  return shapes;
}

}  // namespace troupe
