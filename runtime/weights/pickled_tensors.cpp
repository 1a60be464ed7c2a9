#include "runtime/weights/pickled_tensors.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <ATen/ops/empty.h>

#include "messages/try.hpp"
#include "runtime/archive/tensor_extent.hpp"
#include "runtime/weights/tensor_types.hpp"

namespace troupe {
namespace {

using kind = pickled::kind;

/// A tensor may say that it has more elements than its storage, as one that expand() made does; so many bytes more than
/// the file has.
constexpr std::uint64_t expanded_bytes = 64u << 20;
/// A parameter with a state of a tensor with attributes.
constexpr int wrappers_max = 3;

struct other_tensor {
  std::string_view callee;
  std::string_view finding;
  std::string_view fix;
};
constexpr std::array other_tensors{
    other_tensor{"torch._utils._rebuild_qtensor", "is quantized", "save tensor.dequantize() in its place"},
    other_tensor{"torch._utils._rebuild_sparse_tensor", "is sparse", "save tensor.to_dense() in its place"},
    other_tensor{"torch._utils._rebuild_nested_tensor", "is nested", "save its parts, tensor.unbind(), by names"},
    other_tensor{"torch._utils._rebuild_wrapper_subclass", "is of a class of its own, such as DTensor",
                 "save plain tensors: tensor.full_tensor() of a DTensor, tensor.dequantize() of a quantized one"},
    other_tensor{"torch._utils._rebuild_meta_tensor_no_storage", "is on the device meta, and has no values",
                 "load the weights into the model before its state dict is saved"},
    other_tensor{"torch._utils._rebuild_device_tensor_from_numpy", "is on a device that has a format of its own",
                 "save tensor.cpu() in its place"},
    other_tensor{"torch._utils._rebuild_device_tensor_from_cpu_tensor", "is on a device that has a format of its own",
                 "save tensor.cpu() in its place"},
};

/// Reads one tensor; each function gives the error where something is missing or of another kind.
class tensor_reader {
 public:
  tensor_reader(const weights_reading& reading, const pickled_values& values, const std::string& name,
                const storage_finder& find)
      : reading_(reading), values_(values), name_(name), find_(find) {}

  expected<at::Tensor> read(const pickled& value, int wrappers = 0) {
    if (value.what != kind::made) {
      return reading_.unsupported("the member " + name_ + " is " + kind_text(values_, value) + ", not a tensor",
                                  "save the tensors alone, in Python: torch.save({k: v for k, v in state.items() if "
                                  "torch.is_tensor(v)}, \"weights.pt\"), where state is the dict that has it");
    }
    const auto parts = values_.items_of(value);
    const std::string callee = callee_text(values_, value);
    const auto arguments = items(parts[1], kind::tuple);
    if (callee == "torch._utils._rebuild_parameter" || callee == "torch._utils._rebuild_parameter_with_state") {
      if (!arguments || arguments->empty() || wrappers == wrappers_max) return wrong("has no parameter's arguments");
      return read(arguments->front(), wrappers + 1);
    }
    if (callee == "torch._tensor._rebuild_from_type_v2") return read_with_attributes(arguments, wrappers);
    const bool has_type = callee == "torch._utils._rebuild_tensor_v3";
    if (has_type || callee == "torch._utils._rebuild_tensor_v2" || callee == "torch._utils._rebuild_tensor") {
      if (!arguments) return wrong("has no tensor's arguments");
      return rebuild(*arguments, has_type);
    }
    return other(callee);
  }

 private:
  using parts_view = std::span<const pickled>;

  [[nodiscard]] tl::unexpected<error> wrong(const std::string& finding) const {
    return reading_.damaged("the tensor " + name_ + " " + finding);
  }
  [[nodiscard]] std::optional<parts_view> items(const pickled& value, kind what) const {
    if (value.what != what) return std::nullopt;
    return values_.items_of(value);
  }
  [[nodiscard]] bool is_global(const pickled& value, std::string_view text) const {
    return value.what == kind::global && values_.name_of(value).text() == text;
  }

  /// (function, class, arguments, state): a tensor with attributes of Python, which are left out.
  expected<at::Tensor> read_with_attributes(std::optional<parts_view> arguments, int wrappers) {
    if (!arguments || arguments->size() < 3 || wrappers == wrappers_max) return wrong("has no tensor's arguments");
    const pickled& type = (*arguments)[1];
    if (!is_global(type, "torch.Tensor") && !is_global(type, "torch.nn.parameter.Parameter") &&
        !is_global(type, "torch.nn.parameter.Buffer")) {
      const std::string name = type.what == kind::global ? values_.name_of(type).text() : "another";
      return reading_.unsupported("the tensor " + name_ + " is of the class " + name + ", not a plain tensor",
                                  std::string(other_tensors[3].fix));
    }
    const pickled& function = (*arguments)[0];
    const bool has_type = is_global(function, "torch._utils._rebuild_tensor_v3");
    if (has_type || is_global(function, "torch._utils._rebuild_tensor_v2")) {
      const auto inner = items((*arguments)[2], kind::tuple);
      if (!inner) return wrong("has no tensor's arguments");
      return rebuild(*inner, has_type);
    }
    return other(function.what == kind::global ? values_.name_of(function).text() : "another function");
  }

  [[nodiscard]] tl::unexpected<error> other(const std::string& callee) const {
    const auto* found = std::ranges::find(other_tensors, callee, &other_tensor::callee);
    if (found != other_tensors.end()) {
      return reading_.unsupported(
          "the tensor " + name_ + " " + std::string(found->finding) + ", and plain dense tensors alone are read",
          std::string(found->fix));
    }
    return fail(error_code::model_has_effects, reading_.where(),
                "in place of the tensor " + name_ + " stands a call of " + callee + ", and nothing in a file is called",
                "save plain tensors by their names, as model.state_dict() gives them");
  }

  /// (storage, offset, size, stride), then requires_grad, hooks, [type,] metadata.
  expected<at::Tensor> rebuild(parts_view arguments, bool has_type) {
    constexpr std::size_t type_place = 6;
    if (arguments.size() < (has_type ? type_place + 1 : 4)) return wrong("has too few arguments");
    if (arguments[0].what != kind::outside) return wrong("has no storage");
    TROUPE_TRY(check_metadata(arguments, has_type));
    pickled_storage storage = TROUPE_TRY(storage_in(reading_, values_, arguments[0]));
    c10::ScalarType type = storage.type;
    if (has_type) {
      const pickled& named = arguments[type_place];
      const auto found = named.what == kind::global && values_.name_of(named).module == "torch"
                             ? python_type(values_.name_of(named).name)
                             : std::nullopt;
      if (!found) {
        return reading_.unsupported("the tensor " + name_ + " has a type that is not read: " +
                                        (named.what == kind::global ? values_.name_of(named).text() : "no type"),
                                    "save its values as float32");
      }
      type = *found;
    }
    const std::int64_t offset = TROUPE_TRY(count(arguments[1]));
    const auto sizes = TROUPE_TRY(counts(arguments[2]));
    const auto strides = TROUPE_TRY(counts(arguments[3]));
    TROUPE_TRY(check_extent(offset, sizes, strides, storage.bytes() / c10::elementSize(type), c10::elementSize(type)));
    storage.alignment = c10::elementSize(type);
    c10::Storage memory = TROUPE_TRY(find_(storage));
    if (reinterpret_cast<std::uintptr_t>(memory.data()) % std::min<std::size_t>(c10::elementSize(type), 8) != 0) {
      return reading_.unsupported("the tensor " + name_ + " shares memory with one of another type",
                                  "save tensor.clone() in its place");
    }
    const bool is_empty = std::ranges::find(sizes, 0) != sizes.end();
    return at::empty({0}, type).set_(std::move(memory), is_empty ? 0 : offset, sizes, strides);
  }

  /// Bits that say that the values are to be negated or conjugated, which LibTorch does not write for weights.
  [[nodiscard]] expected<void> check_metadata(parts_view arguments, bool has_type) const {
    const std::size_t place = has_type ? 7 : 6;
    if (arguments.size() <= place || arguments[place].what == kind::none) return {};
    const auto entries = items(arguments[place], kind::dict);
    if (entries && entries->empty()) return {};
    return reading_.unsupported("the tensor " + name_ + " is a view that negates or conjugates",
                                "save tensor.resolve_neg().resolve_conj() in its place");
  }

  [[nodiscard]] expected<std::int64_t> count(const pickled& value) const {
    const auto number = static_cast<std::int64_t>(value.number);
    if (value.what != kind::whole || number < 0) return wrong("has a size, stride or offset that is no count");
    return number;
  }
  /// A tuple, or torch.Size of one.
  [[nodiscard]] expected<std::vector<std::int64_t>> counts(const pickled& value) const {
    auto list = items(value, kind::tuple);
    if (value.what == kind::made && callee_text(values_, value) == "torch.Size") {
      const auto arguments = items(values_.items_of(value)[1], kind::tuple);
      if (arguments && arguments->size() == 1) list = items(arguments->front(), kind::tuple);
    }
    if (!list || list->size() > weights_dimensions_max) return wrong("has no sizes or strides");
    std::vector<std::int64_t> made;
    for (const pickled& each : *list) made.push_back(TROUPE_TRY(count(each)));
    return made;
  }

  [[nodiscard]] expected<void> check_extent(std::int64_t offset, const std::vector<std::int64_t>& sizes,
                                            const std::vector<std::int64_t>& strides, std::uint64_t elements,
                                            std::uint64_t element_bytes) const {
    if (sizes.size() != strides.size()) return wrong("has not as many strides as sizes");
    const std::uint64_t elements_max = (reading_.bytes().size() + expanded_bytes) / element_bytes;
    switch (troupe::check_extent(offset, sizes, strides, elements, elements_max)) {
      case extent_fault::outside:
        return wrong("lies outside of its storage");
      case extent_fault::too_many:
        return wrong("has more elements than the file");
      case extent_fault::none:
        break;
    }
    return {};
  }

  const weights_reading& reading_;
  const pickled_values& values_;
  const std::string& name_;
  const storage_finder& find_;
};

}  // namespace

std::string callee_text(const pickled_values& values, const pickled& made) {
  pickled callee = values.items_of(made).front();
  // PyTorch up to 1.x kept classes of modules outside: ("module", class, file, source).
  if (callee.what == kind::outside) {
    const pickled id = values.items_of(callee).front();
    if (id.what == kind::tuple && values.items_of(id).size() > 1) callee = values.items_of(id)[1];
  }
  if (callee.what == kind::global) return values.name_of(callee).text();
  return "a function that is computed";
}

std::string kind_text(const pickled_values& values, const pickled& value) {
  switch (value.what) {
    case kind::none:
      return "None";
    case kind::truth:
      return value.number != 0 ? "True" : "False";
    case kind::whole:
    case kind::real:
    case kind::digits:
      return "a number";
    case kind::text:
      return "a text";
    case kind::bytes:
      return "bytes";
    case kind::global:
      return "the class or function " + values.name_of(value).text();
    case kind::tuple:
      return "a tuple";
    case kind::list:
      return "a list";
    case kind::set:
      return "a set";
    case kind::dict:
      return "a dict";
    case kind::outside:
      return "a storage";
    case kind::made:
      break;
  }
  return "what a call of " + callee_text(values, value) + " would give";
}

expected<pickled_storage> storage_in(const weights_reading& reading, const pickled_values& values,
                                     const pickled& outside) {
  const auto wrong = [&] { return reading.damaged("it refers to something outside of the pickle that is no storage"); };
  const pickled id = values.items_of(outside).front();
  if (id.what != kind::tuple) return wrong();
  const auto parts = values.items_of(id);
  if (parts.size() < 5 || parts[0].what != kind::text || values.text_of(parts[0]) != "storage" ||
      parts[1].what != kind::global || parts[2].what != kind::text || parts[4].what != kind::whole) {
    return wrong();
  }
  const std::string key(values.text_of(parts[2]));
  if (parts.size() > 5 && parts[5].what != kind::none) {
    return reading.unsupported("the storage " + key + " is a part of another one, as PyTorch 0.3 wrote it",
                               "load and save the weights with PyTorch 1 or 2");
  }
  const auto& named = values.name_of(parts[1]);
  const bool is_untyped = named.text() == "torch.storage.UntypedStorage" || named.text() == "torch.UntypedStorage";
  const bool is_known = named.module == "torch" || named.module == "torch.cuda" || named.module == "torch.storage";
  const auto type = is_untyped ? std::optional(c10::ScalarType::Byte)
                    : is_known ? storage_type(named.name)
                               : std::nullopt;
  if (!type) {
    return reading.unsupported("the storage " + key + " is of the class " + named.text() + ", which is not read",
                               "save plain dense tensors: tensor.dequantize() of a quantized one");
  }
  const std::uint64_t elements = parts[4].number;
  std::uint64_t bytes = 0;
  if (static_cast<std::int64_t>(elements) < 0 || __builtin_mul_overflow(elements, c10::elementSize(*type), &bytes)) {
    return reading.damaged("the storage " + key + " says that it has " +
                           std::to_string(static_cast<std::int64_t>(elements)) + " elements");
  }
  return pickled_storage{values.text_of(parts[2]), *type, elements};
}

expected<at::Tensor> tensor_in(const weights_reading& reading, const pickled_values& values, const pickled& value,
                               const std::string& name, const storage_finder& find) {
  return tensor_reader(reading, values, name, find).read(value);
}

}  // namespace troupe
