#include "hostile_files.hpp"

namespace troupe::testing {
namespace {

using namespace pickle;

std::vector<zip_item> objects(const std::string& steps) {
  return model_items(net_code(net_forward("")), std::string("\x80\x02") + steps + ".");
}

std::function<std::vector<zip_item>()> weight(const std::string& value) {
  return [value] { return net_with("Tensor", value, "    x = x + torch.sum(self.weight)\n"); };
}

const std::vector<hostile_case> cases_of_objects = {
      {"tensor_good", weight(tensor(storage(4), 0, {2, 2}, {2, 1})), "good"},
      {"tensor_storage_larger_than_its_record", weight(tensor(storage(1 << 20), 0, {2}, {1})), "E0210"},
      {"tensor_storage_of_petabytes", weight(tensor(storage(1LL << 50), 0, {2}, {1})), "E0210"},
      {"tensor_storage_that_overflows", weight(tensor(storage(1LL << 62), 0, {2}, {1})), "E0210"},
      {"tensor_storage_below_zero", weight(tensor(storage(-4), 0, {2}, {1})), "E0210"},
      {"tensor_storage_without_record", weight(tensor(storage(4, global("torch", "FloatStorage"), "7"), 0, {2}, {1})),
       "E0210"},
      {"tensor_storage_type_that_is_a_number", weight(tensor(storage(4, number(1 << 30)), 0, {2}, {1})), "E0210"},
      {"tensor_wider_than_its_record", weight(tensor(storage(4, global("torch", "DoubleStorage")), 0, {4}, {1})),
       "E0210"},
      {"tensor_beyond_its_storage", weight(tensor(storage(4), 0, {1 << 24}, {1})), "E0210"},
      {"tensor_offset_beyond", weight(tensor(storage(4), 1 << 24, {2}, {1})), "E0210"},
      {"tensor_offset_below_zero", weight(tensor(storage(4), -(1 << 24), {2}, {1})), "E0210"},
      {"tensor_offset_that_overflows", weight(tensor(storage(4), std::int64_t{1} << 62, {2}, {1})), "E0210"},
      {"tensor_stride_below_zero", weight(tensor(storage(4), 0, {4}, {-(1 << 24)})), "E0210"},
      {"tensor_stride_that_overflows", weight(tensor(storage(4), 0, {5}, {std::int64_t{1} << 62})), "E0210"},
      {"tensor_size_below_zero", weight(tensor(storage(4), 0, {-4}, {1})), "E0210"},
      {"tensor_sizes_that_overflow", weight(tensor(storage(4), 0, {1LL << 40, 1LL << 40}, {0, 0})), "E0210"},
      {"tensor_sizes_far_above_its_record", weight(tensor(storage(4), 0, {1LL << 40}, {0})), "E0210"},
      {"tensor_strides_too_few", weight(tensor(storage(4), 0, {2, 2}, {1})), "E0210"},
      {"tensor_overlapping", weight(tensor(storage(4), 0, {2, 2}, {1, 1})), "good"},
      {"call_by_number", [] { return objects(global("__torch__", "Net") + number(0) + ")R"); }, "E0210"},
      {"call_of_a_number_beyond", [] { return objects(number(1 << 30) + ")R"); }, "E0210"},
      {"dict_with_odd_count", [] { return objects("}(" + text("a") + "u"); }, "E0210"},
      {"dict_literal_with_odd_count", [] { return objects("(" + text("a") + "d"); }, "E0210"},
      {"subclass_without_function",
       [] { return objects(global("torch._tensor", "_rebuild_from_type_v2") + tuple("NN)}") + "R"); }, "E0210"},
      {"sparse_indices_outside",
       weight(global("torch._utils", "_rebuild_sparse_tensor") +
              tuple(number(1) + numbers({4}) + "\x89" +
                    tensor(storage(1, global("torch", "LongStorage")), 0, {1, 1}, {1, 1}) +
                    tensor(storage(1), 0, {1}, {1})) +
              "R"),
       "E0217"},
      {"rpc_reference", weight(global("torch.distributed.rpc", "rref") + numbers({0, 0, 0, 0, 0, 0, 0}) + "R"),
       "E0210"},
      {"attribute_of_another_type", weight(text("text")), "E0210"},
      {"attribute_that_is_a_number", [] { return net_with("__torch__.Net", number(7)); }, "E0210"},
      {"attribute_list_of_other_members",
       [] { return net_with("List[int]", "](" + text("text") + "e", "    y = self.weight[0] + 1\n    x = x + y\n"); },
       "E0210"},
      {"attribute_optional_of_another_type",
       [] {
         return net_with("Optional[int]", text("text"),
                         "    y = self.weight\n    if torch.__isnot__(y, None):\n      z = unchecked_cast(int, y)\n    "
                         "else:\n      z = 1\n    x = x + z\n");
       },
       "E0210"},
      {"attribute_missing",
       [] { return model_items(net_code("  weight : Tensor\n" + net_forward("")), pickled_net()); }, "E0210"},
      {"type_name_of_minus_signs",
       [] {
         return net_with("List[int]", global("torch.jit._pickle", "restore_type_tag") +
                                          tuple("]" + text(repeated("-", 200000) + "1")) + "R");
       },
       "E0214"},
      {"type_name_of_nots",
       [] {
         return net_with("List[int]", global("torch.jit._pickle", "restore_type_tag") +
                                          tuple("]" + text(repeated("not ", 200000) + "1")) + "R");
       },
       "E0214"},
      {"type_name_of_dots",
       [] {
         return net_with("List[int]", global("torch.jit._pickle", "restore_type_tag") +
                                          tuple("]" + text("a" + repeated(".a", 200000))) + "R");
       },
       "E0214"},
      {"type_name_of_brackets",
       [] {
         return net_with("List[int]", global("torch.jit._pickle", "restore_type_tag") +
                                          tuple("]" + text(repeated("List[", 10000) + "int" + repeated("]", 10000))) +
                                          "R");
       },
       "E0214"},
      {"module_that_holds_itself",
       [] {
         return objects("]q\1" + global("__torch__", "Net") + ")\x81}(" + text("training") + "\x89" + text("a") +
                        "h\1ubq\2h\1h\2a0");
       },
       "E0210"},
      {"module_of_its_own_class", [] { return net_with("__torch__.Net", "N"); }, "E0210"},
      {"list_of_ten_million", [] { return net_with("List[int]", "](" + repeated("K\1", 10'000'000) + "e"); }, "E0214"},
      {"million_memos",
       [] {
         return net_with("List[int]", "](" + repeated("](", 200) +
                                          repeated("K\1r" + little_endian(500000, 4), 300'000) + repeated("e", 200) +
                                          "e");
       },
       "good"},
      {"text_of_ten_megabytes", [] { return net_with("str", text(std::string(10 << 20, 'a'))); }, "good"},
      {"nothing_pickled", [] { return model_items(net_code(net_forward("")), ""); }, "E0210"},
      {"object_is_a_number", [] { return objects(number(1)); }, "E0210"},
      {"object_is_a_tensor", [] { return objects(tensor(storage(0), 0, {0}, {1})); }, "E0210"},
      {"debug_info_corrupt",
       [] {
         auto items = model_items(net_code(net_forward("    y = torch.relu(3)\n")));
         items.push_back(stored("m/code/__torch__.py.debug_pkl", "\x80\x02garbage"));
         return items;
       },
       "E0210"},
      {"debug_info_lies",
       [] {
         auto items = model_items(net_code(net_forward("    y = torch.add(x, [])\n")));
         items.push_back(stored("m/code/__torch__.py.debug_pkl",
                                std::string("\x80\x02") +
                                    tuple(text("FORMAT_WITH_STRING_TABLE") + tuple(text("a")) +
                                          tuple(tuple(number(0) +
                                                      tuple(numbers({1 << 20, 1 << 20}) + number(1 << 20) +
                                                            number(1 << 20) + number(1 << 20)) +
                                                      number(1)))) +
                                    "."));
         return items;
       },
       "E0210"},
};

}  // namespace

std::vector<hostile_case> hostile_objects() {
  return cases_of_objects;
}

}  // namespace troupe::testing
