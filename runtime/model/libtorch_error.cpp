#include "runtime/model/libtorch_error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include <c10/util/Exception.h>

#include "messages/exception_text.hpp"
#include "runtime/data/cast_names.hpp"

namespace troupe {
namespace {

constexpr auto device_fix =
    "export the model on the CPU: model.cpu() before torch.jit.trace or torch.jit.script, and no device=\"cuda\" or "
    ".cuda() in its code";
constexpr auto quantized_fix =
    "let all layers between a torch.ao.quantization.QuantStub and a DeQuantStub be quantized ones, and all quantized "
    "ones lie between the two (torch.ao.quantization.QuantWrapper), and export the model again";

/// Letters and digits in a row, in lower case.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

/// "expected scalar type Float but found Double", "Input type (torch.DoubleTensor) and weight type ...": the floating
/// types, if it is about two.
std::set<at::ScalarType> two_floating_types(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, at::ScalarType>, 4> names = {
      {{"float", at::kFloat}, {"double", at::kDouble}, {"half", at::kHalf}, {"bfloat16", at::kBFloat16}}};
  constexpr std::string_view suffix = "tensor";
  std::set<at::ScalarType> found;
  bool tells_of_types = false;
  for (std::string& word : words_of(text)) {
    if (word == "type" || word == "dtype" || word == "got") tells_of_types = true;
    if (word.ends_with(suffix)) word.resize(word.size() - suffix.size());
    const auto* known = std::ranges::find(names, word, [](const auto& each) { return each.first; });
    if (known != names.end()) found.insert(known->second);
  }
  return found.size() == 2 && tells_of_types ? found : std::set<at::ScalarType>{};
}

/// "Could not run 'aten::empty.memory_format' with arguments from the 'CUDA' backend. ..." lists all other backends.
std::optional<std::string_view> backend_of(std::string_view text) {
  constexpr std::string_view before = "with arguments from the '";
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find('\''));
}

bool speaks_of_a_gpu(std::string_view text) {
  if (const auto backend = backend_of(text)) return backend == "CUDA";
  return std::ranges::any_of(words_of(text),
                             [](const std::string& word) { return word == "cuda" || word == "nvidia"; });
}

bool lacks_a_quantized_kernel(std::string_view text) {
  const auto backend = backend_of(text);
  if (!backend) return false;
  return *backend == "QuantizedCPU" || (*backend == "CPU" && text.find("'quantized::") != std::string_view::npos);
}

/// What casts data to this type.
std::string casts_to(at::ScalarType type) {
  const std::string name = cast_name_of(type);
  const std::string flag = type == at::kDouble ? "" : "--dtype " + name + ", ";
  return flag + "npz:FILE," + name + " or npy:INPUTS,LABELS," + name + ", or cast_inputs() in code";
}

/// Where the weights are not known: the type that the input does not have.
std::optional<at::ScalarType> wanted_type(const forward_facts& facts, const std::set<at::ScalarType>& types) {
  if (facts.weights || !facts.input.defined() || !types.contains(facts.input.scalar_type())) return facts.weights;
  return *types.begin() == facts.input.scalar_type() ? *types.rbegin() : *types.begin();
}

std::string cast_fix(const forward_facts& facts) {
  if (!facts.weights || !facts.input.defined())
    return "cast the inputs to the type of the weights, with npz:FILE,DTYPE or npy:INPUTS,LABELS,DTYPE, or "
           "cast_inputs() in code";
  const std::string wanted = cast_name_of(*facts.weights);
  const at::ScalarType data = facts.data == at::ScalarType::Undefined ? facts.input.scalar_type() : facts.data;
  const bool can_be_cast = c10::isFloatingType(data) && c10::isFloatingType(facts.input.scalar_type());
  if (can_be_cast && data != *facts.weights)
    return "cast the inputs to " + wanted + ", the type of the weights: " + casts_to(*facts.weights);
  if (can_be_cast && facts.input.scalar_type() != *facts.weights)
    return "let the layer before give " + wanted + ", the type of these weights";
  return "leave --dtype out; without one, export the model anew in one type: its own code makes tensors that are not " +
         wanted;
}

}  // namespace

std::string libtorch_message(const std::exception& caught) {
  return exception_text(caught);
}

std::optional<at::ScalarType> floating_type_of(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& each : tensors)
    if (each.defined() && each.is_floating_point()) return each.scalar_type();
  return std::nullopt;
}

std::string libtorch_fix(const std::exception& caught, std::string otherwise, const forward_facts& facts) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&caught) != nullptr)
    return "use smaller micro-batches, or more stages on more devices";
  const std::string message = libtorch_message(caught);
  if (facts.input.defined() && facts.input.device().is_cpu() && speaks_of_a_gpu(message)) return device_fix;
  if (lacks_a_quantized_kernel(message)) return quantized_fix;
  const std::set<at::ScalarType> types = two_floating_types(message);
  if (types.empty()) return otherwise;
  return cast_fix({.input = facts.input, .data = facts.data, .weights = wanted_type(facts, types)});
}

}  // namespace troupe
