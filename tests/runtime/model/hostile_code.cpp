#include "hostile_files.hpp"

namespace troupe::testing {
namespace {

std::function<std::vector<zip_item>()> code(const std::string& text) {
  return [text] { return model_items(text); };
}
std::function<std::vector<zip_item>()> forward(const std::string& statements) {
  return code(net_code(net_forward(statements)));
}
std::string setstate(const std::string& statements) {
  return "  def __setstate__(self: __torch__.Net,\n    state: bool) -> NoneType:\n" + statements +
         "    self.training = state\n    return None\n"
         "  def __getstate__(self: __torch__.Net) -> bool:\n    return self.training\n";
}
std::function<std::vector<zip_item>()> at_load(const std::string& statements, const std::string& before = "") {
  return [=] {
    return model_items(before + net_code(setstate(statements) + net_forward("")),
                       std::string("\x80\x02") + "c__torch__\nNet\n)\x81\x89" + "b.");
  };
}
std::string functions(std::size_t count, std::size_t calls) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += "def f" + std::to_string(i) + "(x: Tensor) -> Tensor:\n";
    for (std::size_t c = 0; c < calls && i > 0; ++c) all += "  x = __torch__.f" + std::to_string(i - 1) + "(x)\n";
    all += "  return x\n";
  }
  return all;
}

constexpr std::size_t deep = 10'000;

const std::vector<hostile_case> cases_of_code = {
    {"nested_calls_", forward(nested_calls(deep)), "E0214"},
    {"nested_lists", forward("    y = " + repeated("[", deep) + repeated("]", deep) + "\n"), "E0214"},
    {"nested_types", forward("    y : " + repeated("List[", deep) + "int" + repeated("]", deep) + " = x\n"), "E0214"},
    {"nested_conditional_expressions", forward("    y = " + repeated("1 if True else ", deep) + "1\n"), "E0214"},
    {"nested_lambdas", forward("    y = " + repeated("lambda x: ", deep) + "1\n"), "E0210"},
    {"nested_powers", forward("    y = " + repeated("2 ** ", deep) + "1\n"), "E0214"},
    {"nested_comparisons", forward("    y = 1" + repeated(" < 1", deep) + "\n"), "E0214"},
    {"nested_attributes", forward("    y = self" + repeated(".a", deep) + "\n"), "E0214"},
    {"nested_stars", forward("    y = " + repeated("*", deep) + "x\n"), "E021"},
    {"assignment_chain", forward("    " + repeated("y = ", deep) + "x\n"), "E021"},
    {"texts_side_by_side", forward("    y = " + repeated("\"a\" ", 100000) + "\n"), "good"},
    {"nested_withs",
     [] {
       std::string s;
       for (int i = 0; i < 600; ++i) s += std::string(4 + i, ' ') + "with x:\n";
       return model_items(net_code(net_forward(s + std::string(604, ' ') + "pass\n")));
     },
     "E0214"},
    {"nested_functions",
     [] {
       std::string s;
       for (int i = 0; i < 600; ++i) s += std::string(4 + i, ' ') + "def f():\n";
       return model_items(net_code(net_forward(s + std::string(604, ' ') + "pass\n")));
     },
     "E0214"},
    {"type_comment", forward("    # type: " + repeated("(", 20000) + "\n"), "E0214"},
    {"function_that_calls_itself",
     code("def f(x: Tensor) -> Tensor:\n  return __torch__.f(x)\n" + net_code(net_forward("    x = __torch__.f(x)\n"))),
     "E0210"},
    {"functions_that_call_each_other",
     code("def f(x: Tensor) -> Tensor:\n  return __torch__.g(x)\ndef g(x: Tensor) -> Tensor:\n  return "
          "__torch__.f(x)\n" +
          net_code(net_forward("    x = __torch__.f(x)\n"))),
     "E0210"},
    {"method_that_calls_itself", forward("    x = (self).forward(x, )\n"), "E0210"},
    {"methods_that_call_each_other",
     code(net_code("  def a(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return (self).b(x, )\n  def b(self: "
                   "__torch__.Net,\n    x: Tensor) -> Tensor:\n    return (self).a(x, )\n" +
                   net_forward("    x = (self).a(x, )\n"))),
     "E0210"},
    {"exponential_functions", code(functions(30, 4) + net_code(net_forward("    x = __torch__.f29(x)\n"))), "E0214"},
    {"functions_in_a_row", code(functions(499, 1) + net_code(net_forward("    x = __torch__.f498(x)\n"))), "good"},
    {"functions_in_a_long_row", code(functions(20000, 1) + net_code(net_forward("    x = __torch__.f19999(x)\n"))),
     "E0214"},
    {"million_statements", forward(repeated("    x = torch.relu(x)\n", 1'000'000)), "E0214"},
    {"million_statements_in_a_function_unused",
     code("def f(x: Tensor) -> Tensor:\n" + repeated("  x = torch.relu(x)\n", 1'000'000) + "  return x\n" +
          net_code(net_forward(""))),
     "E0214"},
    {"hundred_thousand_statements", forward(repeated("    x = torch.relu(x)\n", 100'000)), "E0214"},
    {"ten_million_numbers", forward("    y = [" + repeated("1,", 10'000'000) + "1]\n"), "E0214"},
    {"thirty_thousand_numbers", forward("    y = [" + repeated("1,", 30'000) + "1]\n"), "good"},
    {"text_of_megabytes", forward("    y = \"" + std::string(30 << 20, 'a') + "\"\n"), "E0214"},
    {"name_of_megabytes", forward("    " + std::string(10 << 20, 'a') + " = x\n"), "good"},
    {"number_of_megabytes", forward("    y = " + std::string(1 << 20, '1') + "\n"), "E0210"},
    {"hundred_thousand_classes",
     [] {
       std::string s;
       for (int i = 0; i < 100000; ++i) s += "class C" + std::to_string(i) + "(Module):\n  training : bool\n";
       return model_items(s + net_code(net_forward("")));
     },
     "E0214"},
    {"tuple_doubled",
     [] {
       std::string s = "    y0 = (x, x)\n";
       for (int i = 1; i < 40; ++i)
         s += "    y" + std::to_string(i) + " = (y" + std::to_string(i - 1) + ", y" + std::to_string(i - 1) + ")\n";
       return model_items(net_code(net_forward(s)));
     },
     "E021"},
    {"tuple_doubled_of_numbers",
     [] {
       std::string s = "    y0 = (1, 1)\n";
       for (int i = 1; i < 40; ++i)
         s += "    y" + std::to_string(i) + " = (y" + std::to_string(i - 1) + ", y" + std::to_string(i - 1) + ")\n";
       return model_items(net_code(net_forward(s)));
     },
     "E021"},
    {"list_multiplied", forward("    y = torch.mul([0], 500000000000)\n    x = torch.add(x, y[0])\n"), "good"},
    {"range_of_numbers", forward("    y = torch.list(torch.range(1, 500000000000))\n"), "E021"},
    {"zeros_of_petabytes", forward("    y = torch.zeros([1099511627776, 1024])\n    x = torch.add(x, torch.sum(y))\n"),
     "good"},
    {"zeros_of_gigabytes", forward("    y = torch.ones([1000000000])\n    x = torch.add(x, torch.sum(y))\n"), "good"},
    {"arange_of_gigabytes", forward("    y = torch.arange(1000000000)\n    x = torch.add(x, torch.sum(y))\n"), "good"},
    {"power_of_numbers", forward("    y = torch.pow(2, 100000)\n    x = torch.add(x, y)\n"), "good"},
    {"loop_without_end", forward("    y = 0\n    while True:\n      y = torch.add(y, 1)\n    x = torch.add(x, y)\n"),
     "good"},
    {"loop_of_constants",
     forward("    y = 0\n    for i in range(1000000000000):\n      y = torch.add(y, i)\n    x = torch.add(x, y)\n"),
     "good"},
    {"comprehension", forward("    y = [i for i in range(1000000000000)]\n    x = torch.add(x, y[0])\n"), "good"},
    {"division_by_zero", forward("    y = torch.floordiv(1, 0)\n    x = torch.add(x, y)\n"), "good"},
    {"shift_that_overflows", forward("    y = torch.__lshift__(1, 100000)\n    x = torch.add(x, y)\n"), "good"},
    {"assert_in_constants", forward("    assert False, \"text\"\n"), "good"},
    {"raise_in_constants", forward("    if True:\n      ops.prim.RaiseException(\"text\")\n    else:\n      pass\n"),
     "good"},
    {"text_index_beyond", forward("    y = torch.__getitem__(\"abc\", 1000000)\n    x = torch.add(x, torch.len(y))\n"),
     "good"},
    {"text_slice",
     forward("    y = torch.slice(\"abc\", -9223372036854775807, 9223372036854775807, 0)\n    x = torch.add(x, "
             "torch.len(y))\n"),
     "good"},
    {"tuple_index_beyond", forward("    y = (1, 2)\n    x = torch.add(x, y[1000000])\n"), "E0210"},
    {"format_of_texts", forward("    y = torch.format(\"{}{}{}\", 1)\n    x = torch.add(x, torch.len(y))\n"), "good"},
    {"percent_format", forward("    y = torch.percentFormat(\"%s%s%d\", 1)\n    x = torch.add(x, torch.len(y))\n"),
     "good"},
    {"chr_beyond", forward("    y = torch.chr(1000000000)\n    x = torch.add(x, torch.len(y))\n"), "good"},
    {"operator_unknown", forward("    y = torch.no_such_operator(x)\n"), "E0210"},
    {"namespace_unknown", forward("    y = ops.mine.operator(x)\n"), "E0212"},
    {"operator_of_python", forward("    y = ops.prim.PythonOp(x)\n"), "E0212"},
    {"file_read", forward("    y = torch.from_file(\"/etc/passwd\", False, 4)\n"), "E0212"},
    {"prim_operator_inner", forward("    y = ops.prim.GetAttr(x)\n"), "E021"},
    {"prim_loop", forward("    y = ops.prim.Loop(x)\n"), "E021"},
    {"prim_data", forward("    y = ops.prim.data(x)\n"), "good"},
    {"prim_constant", forward("    y = ops.prim.Constant()\n"), "E021"},
    {"prim_return", forward("    y = ops.prim.Return()\n"), "E021"},
    {"prim_callmethod", forward("    y = ops.prim.CallMethod(self)\n"), "E021"},
    {"prim_tupleindex", forward("    y = ops.prim.TupleIndex((1, 2), 7)\n"), "good"},
    {"prim_unchecked_unwrap", forward("    y = ops.prim.unchecked_unwrap_optional(None)\n"), "E021"},
    {"unchecked_cast_of_another_type", forward("    y = unchecked_cast(List[int], x)\n    x = torch.add(x, y[0])\n"),
     "good"},
    {"unchecked_cast_of_text", forward("    y = unchecked_cast(str, 1)\n    x = torch.add(x, torch.len(y))\n"), "E021"},
    {"unchecked_cast_of_number",
     forward("    y = unchecked_cast(Tuple[int, int], 4702111234474983745)\n    x = torch.add(x, y[0])\n"), "good"},
    {"uninitialized", forward("    y = uninitialized(List[int])\n    x = torch.add(x, y[0])\n"), "good"},
    {"uninitialized_text", forward("    y = uninitialized(str)\n    x = torch.add(x, torch.len(y))\n"), "good"},
    {"uninitialized_tensor", forward("    y = uninitialized(Tensor)\n    x = torch.add(x, y)\n"), "good"},
    {"constant_out_of_range", forward("    y = CONSTANTS.c99999\n"), "E0210"},
    {"constant_below_zero", forward("    y = CONSTANTS.c_1\n"), "E0210"},
    {"forward_missing",
     code(net_code("  def backward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return x\n")), "E0208"},
    {"forward_of_another_self",
     code("class Other(Module):\n  training : bool\n  a : int\n" +
          net_code(
              "  def forward(self: __torch__.Other,\n    x: Tensor) -> Tensor:\n    return torch.add(x, self.a)\n")),
     "E0210"},
    {"forward_without_self", code(net_code("  def forward() -> int:\n    return 1\n")), "E02"},
    {"forward_self_is_a_tensor", code(net_code("  def forward(self: Tensor) -> Tensor:\n    return self\n")), "E02"},
    {"forward_twice", code(net_code(net_forward("") + net_forward(""))), "E0210"},
    {"forward_is_an_attribute", code(net_code("  forward : Tensor\n")), "E02"},
    {"attribute_twice", code("class Net(Module):\n  training : bool\n  training : Tensor\n" + net_forward("")),
     "E0210"},
    {"parameters_that_do_not_exist",
     code("class Net(Module):\n  __parameters__ = [\"nowhere\", ]\n  __buffers__ = [\"training\", ]\n  training : "
          "bool\n" +
          net_forward("")),
     "E0210"},
    {"parameter_that_is_a_bool",
     code("class Net(Module):\n  __parameters__ = [\"training\", ]\n  training : bool\n" + net_forward("")), "E0210"},
    {"class_of_itself", code("class Net(__torch__.Net):\n  training : bool\n" + net_forward("")), "E0210"},
    {"class_with_its_own_type",
     code("class Net(Module):\n  training : bool\n  other : __torch__.Net\n" + net_forward("")), "E0210"},
    {"class_twice", code(net_code(net_forward("")) + net_code(net_forward(""))), "good"},
    {"enum_of_itself",
     code("class E(Enum):\n  A : __torch__.E = 1\n" + net_code("  e : __torch__.E\n" + net_forward(""))), "E0210"},
    {"named_tuple_of_itself",
     code("class T(NamedTuple):\n  a : __torch__.T\n" + net_code("  e : __torch__.T\n" + net_forward(""))), "E0210"},
    {"interface_of_itself",
     code("class I(ModuleInterface):\n  def forward(self: __torch__.I, x: __torch__.I) -> __torch__.I:\n    pass\n" +
          net_code("  e : __torch__.I\n" + net_forward(""))),
     "E0210"},
    {"name_with_a_path", code(net_code(net_forward("    y : __torch__.../../etc/passwd = x\n"))), "E0212"},
    {"class_not_there", forward("    y : __torch__.a.b.c.Nowhere = x\n"), "E0210"},
    {"default_that_computes",
     code(net_code("  def forward(self: __torch__.Net,\n    x: Tensor,\n    y: Tensor=torch.ones([300000000])) -> "
                   "Tensor:\n    return x\n")),
     "E0212"},
    {"default_that_loops",
     code(net_code("  def forward(self: __torch__.Net,\n    x: Tensor,\n    y: List[int]=[i for i in "
                   "range(1000000000000)]) -> Tensor:\n    return x\n")),
     "E0212"},
    {"class_constant_that_computes",
     code(net_code("  y : Final[Tensor] = torch.ones([300000000])\n" + net_forward(""))), "E0212"},
    {"set_state_that_loops", at_load("    while True:\n      pass\n"), "E0212"},
    {"set_state_that_fills_memory", at_load("    y = torch.ones([500000000])\n"), "E0212"},
    {"set_state_that_calls_itself", at_load("    (self).__setstate__(state, )\n"), "E02"},
    {"set_state_by_a_function",
     at_load("    y = __torch__.f(1)\n", "def f(x: int) -> int:\n  while True:\n    pass\n  return x\n"), "E0212"},
    {"weight_written", forward("    y = torch.set_(x, x)\n"), "good"},
    {"weight_resized", forward("    y = torch.resize_(x, [1000000000])\n"), "good"},
    {"as_strided",
     forward("    y = torch.as_strided(torch.ones([2]), [4], [100000000])\n    x = torch.add(x, torch.sum(y))\n"),
     "good"},
    {"fork_without_end", forward("    while True:\n      y = fork(x)\n"), "E021"},
    {"outputs_doubled",
     [] {
       std::string s = "    y0 = (x, x)\n";
       for (int i = 1; i < 24; ++i)
         s += "    y" + std::to_string(i) + " = (y" + std::to_string(i - 1) + ", y" + std::to_string(i - 1) + ")\n";
       return model_items(net_code("  def forward(self: __torch__.Net,\n    x: Tensor):\n" + s + "    return y23\n"));
     },
     "E021"},
    {"lists_doubled",
     [] {
       std::string s = "    y0 = [x, x]\n";
       for (int i = 1; i < 40; ++i)
         s += "    y" + std::to_string(i) + " = [y" + std::to_string(i - 1) + ", y" + std::to_string(i - 1) + "]\n";
       return model_items(net_code("  def forward(self: __torch__.Net,\n    x: Tensor):\n" + s + "    return y39\n"));
     },
     "E021"},
    {"ifs_in_a_row",
     forward(repeated("    if torch.gt(torch.len(x), 1):\n      x = torch.relu(x)\n    else:\n      x = x\n", 500)),
     "good"},
};

}  // namespace

std::vector<hostile_case> hostile_code() {
  return cases_of_code;
}

}  // namespace troupe::testing
