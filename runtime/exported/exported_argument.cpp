#include "runtime/exported/exported_argument.hpp"

#include <functional>
#include <map>

#include <ATen/core/List.h>

#include "messages/try.hpp"
#include "runtime/exported/exported_tensor.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Value;

bool is_of(const c10::TypePtr& type, c10::TypeKind kind) {
  return type && type->kind() == kind;
}

c10::TypePtr without_optional(const c10::TypePtr& type) {
  return is_of(type, c10::TypeKind::OptionalType) ? type->expectRef<c10::OptionalType>().getElementType() : type;
}

c10::TypePtr element_of(const c10::TypePtr& type) {
  return is_of(type, c10::TypeKind::ListType) ? type->expectRef<c10::ListType>().getElementType() : nullptr;
}

/// Makes the value of one argument.
class argument_maker {
 public:
  argument_maker(Graph& graph, const value_names& names, c10::TypePtr wanted)
      : graph_(graph), names_(names), wanted_(std::move(wanted)) {}

  expected<Value*> make(const tagged_part& given) {
    using maker = expected<Value*> (argument_maker::*)(const json_part&);
    static const std::map<std::string, maker> makers{
        {"as_tensor", &argument_maker::tensor},
        {"as_tensors", &argument_maker::tensors},
        {"as_optional_tensor", &argument_maker::optional_tensor},
        {"as_optional_tensors", &argument_maker::optional_tensors},
        {"as_none", &argument_maker::none},
        {"as_int", &argument_maker::whole},
        {"as_ints", &argument_maker::wholes},
        {"as_float", &argument_maker::real},
        {"as_floats", &argument_maker::reals},
        {"as_bool", &argument_maker::truth},
        {"as_bools", &argument_maker::truths},
        {"as_complex", &argument_maker::complex},
        {"as_string", &argument_maker::text},
        {"as_sym_int", &argument_maker::symbol},
        {"as_sym_float", &argument_maker::symbol},
        {"as_sym_bool", &argument_maker::symbol},
        {"as_sym_ints", &argument_maker::symbols},
        {"as_sym_floats", &argument_maker::symbols},
        {"as_scalar_type", &argument_maker::dtype},
        {"as_layout", &argument_maker::layout},
        {"as_memory_format", &argument_maker::memory_format},
        {"as_device", &argument_maker::device},
    };
    const auto found = makers.find(given.kind);
    if (found != makers.end()) return (this->*found->second)(given.value);
    if (!given.kind.starts_with("as_")) return given.value.wrong("is no kind of argument");
    return fail(error_code::model_unsupported, given.value.where(),
                "an argument is of the kind " + given.kind.substr(3) + ", which is not supported",
                "write the model with plain operators on tensors and numbers in its place");
  }

 private:
  Value* constant(const c10::IValue& value) { return graph_.insertConstant(value); }
  [[nodiscard]] bool wants(c10::TypeKind kind) const { return is_of(wanted_, kind); }
  [[nodiscard]] bool wants_list_of(c10::TypeKind kind) const { return is_of(element_of(wanted_), kind); }

  expected<Value*> tensor(const json_part& given) { return names_.find(TROUPE_TRY(given.at("name"))); }
  expected<Value*> optional_tensor(const json_part& given) {
    const tagged_part part = TROUPE_TRY(given.tagged());
    if (part.kind == "as_none") return constant({});
    if (part.kind != "as_tensor") return given.wrong("is neither a tensor nor None");
    return tensor(part.value);
  }
  expected<Value*> list(const json_part& given, const c10::TypePtr& of,
                        const std::function<expected<Value*>(const json_part&)>& make_one) {
    std::vector<Value*> values;
    for (const json_part& each : TROUPE_TRY(given.items())) values.push_back(TROUPE_TRY(make_one(each)));
    return graph_.insertNode(graph_.createList(of, values))->output();
  }
  expected<Value*> tensors(const json_part& given) {
    const bool may_be_none = wants_list_of(c10::TypeKind::OptionalType);
    return list(given, may_be_none ? element_of(wanted_) : c10::TensorType::get(),
                [&](const json_part& each) { return tensor(each); });
  }
  expected<Value*> optional_tensors(const json_part& given) {
    return list(given, c10::OptionalType::create(c10::TensorType::get()),
                [&](const json_part& each) { return optional_tensor(each); });
  }

  expected<Value*> none(const json_part& /*given*/) { return constant({}); }
  expected<Value*> whole(const json_part& given) {
    if (wants(c10::TypeKind::FloatType)) return real(given);
    const std::int64_t number = TROUPE_TRY(given.integer());
    // Python's operators take 2 for (2, 2).
    if (wants_list_of(c10::TypeKind::IntType)) return constant(std::vector<std::int64_t>{number});
    return constant(number);
  }
  expected<Value*> wholes(const json_part& given) {
    if (wants_list_of(c10::TypeKind::FloatType)) return reals(given);
    std::vector<std::int64_t> numbers;
    for (const json_part& each : TROUPE_TRY(given.items())) numbers.push_back(TROUPE_TRY(each.integer()));
    return constant(numbers);
  }
  expected<Value*> real(const json_part& given) { return constant(TROUPE_TRY(given.real())); }
  expected<Value*> reals(const json_part& given) {
    std::vector<double> numbers;
    for (const json_part& each : TROUPE_TRY(given.items())) numbers.push_back(TROUPE_TRY(each.real()));
    return constant(numbers);
  }
  expected<Value*> truth(const json_part& given) { return constant(TROUPE_TRY(given.truth())); }
  expected<Value*> truths(const json_part& given) {
    c10::List<bool> list;
    for (const json_part& each : TROUPE_TRY(given.items())) list.push_back(TROUPE_TRY(each.truth()));
    return constant(list);
  }
  expected<Value*> complex(const json_part& given) {
    const double real_part = TROUPE_TRY(TROUPE_TRY(given.at("real")).real());
    return constant(c10::complex<double>(real_part, TROUPE_TRY(TROUPE_TRY(given.at("imag")).real())));
  }
  expected<Value*> text(const json_part& given) { return constant(TROUPE_TRY(given.text())); }

  expected<Value*> symbol(const json_part& given) {
    const tagged_part part = TROUPE_TRY(given.tagged());
    if (part.kind == "as_name") return names_.find(part.value);
    return make(part);
  }
  expected<Value*> symbols(const json_part& given) {
    const bool is_real = wants_list_of(c10::TypeKind::FloatType);
    argument_maker inner(graph_, names_, element_of(wanted_));
    return list(given, is_real ? c10::TypePtr(c10::FloatType::get()) : c10::IntType::get(),
                [&](const json_part& each) { return inner.symbol(each); });
  }

  expected<Value*> dtype(const json_part& given) {
    return constant(static_cast<std::int64_t>(TROUPE_TRY(exported_dtype(given))));
  }
  expected<Value*> layout(const json_part& given) {
    return constant(static_cast<std::int64_t>(TROUPE_TRY(exported_layout(given))));
  }
  expected<Value*> memory_format(const json_part& given) {
    return constant(static_cast<std::int64_t>(TROUPE_TRY(exported_memory_format(given))));
  }
  expected<Value*> device(const json_part& given) {
    TROUPE_TRY(check_device(given));
    return constant(c10::Device(c10::DeviceType::CPU));
  }

  Graph& graph_;
  const value_names& names_;
  c10::TypePtr wanted_;
};

}  // namespace

Value* as_number(Graph& graph, Value* value) {
  if (value->type()->kind() != c10::TypeKind::BoolType) return value;
  return graph.insertUncheckedCast(value, c10::NumberType::get());
}

expected<Value*> argument_value(Graph& graph, const value_names& names, const json_part& given,
                                const c10::TypePtr& wanted) {
  const c10::TypePtr type = without_optional(wanted);
  Value* made = TROUPE_TRY(argument_maker(graph, names, type).make(TROUPE_TRY(given.tagged())));
  const bool takes_number = is_of(type, c10::TypeKind::NumberType) || is_of(type, c10::TypeKind::TensorType);
  return takes_number ? as_number(graph, made) : made;
}

}  // namespace troupe
