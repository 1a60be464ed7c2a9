// Goal: no pickle crashes the reader, makes it run anything, or costs it more memory than twice the file and 64 MiB.
// Method: pickles written opcode by opcode, each in both formats of torch.save, with the error that they must give.
// Those that call something would make a file.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pickle_parts.hpp"
#include "weights_files.hpp"

namespace troupe::testing {
namespace {

using namespace parts;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
const std::string os_system = global("os", "system");

struct hostile_pickle {
  std::string name;
  /// The value; "{}" stands for a command that makes a file.
  std::string value;
  std::string code;
  /// Where the older format gives another error, as its pickle has no end of its own.
  std::string legacy_code = {};
  bool is_whole = false;

  friend void PrintTo(const hostile_pickle& each, std::ostream* out) { *out << each.name; }
};

std::string in_dict(const std::string& value) {
  return dict({{"w", value}});
}
std::string as_tensor_of(const std::string& of, const std::string& offset, const std::string& size,
                         const std::string& stride) {
  return in_dict(tensor(of, offset, size, stride));
}
std::string with_extent(const std::string& offset, const std::string& size, const std::string& stride) {
  return as_tensor_of(storage(), offset, size, stride);
}
std::string deep_tuples(std::size_t depth) {
  return ")" + repeated("\x85", depth);
}
std::string parameters(std::size_t depth) {
  std::string value = tensor();
  for (std::size_t i = 0; i < depth; ++i) {
    value = call(global("torch._utils", "_rebuild_parameter"), {value, "\x88", no_hooks});
  }
  return value;
}

const std::string command = text("{}");

const std::vector<hostile_pickle> calls{
    {"os_system", call(os_system, {command}), "E0212"},
    {"os_system_as_a_tensor", in_dict(call(os_system, {command})), "E0212"},
    {"os_system_beside_tensors", dict({{"w", tensor()}, {"x", call(os_system, {command})}}), "E0212"},
    {"os_system_in_an_optimizer", dict({{"model", in_dict(tensor())}, {"optimizer", call(os_system, {command})}}),
     "E0212"},
    {"os_system_and_forgotten", call(os_system, {command}) + "0" + in_dict(tensor()), "E0212"},
    {"posix_system", in_dict(call(global("posix", "system"), {command})), "E0212"},
    {"nt_system", in_dict(call(global("nt", "system"), {command})), "E0212"},
    {"subprocess", in_dict(call(global("subprocess", "check_output"), {command, "\x88"})), "E0212"},
    {"eval", in_dict(call(global("builtins", "eval"), {command})), "E0212"},
    {"exec_of_python_2", in_dict(call(global("__builtin__", "execfile"), {command})), "E0212"},
    {"import", in_dict(call(global("builtins", "__import__"), {text("os")})), "E0212"},
    {"importlib", in_dict(call(global("importlib", "import_module"), {text("os")})), "E0212"},
    {"runpy", in_dict(call(global("runpy", "_run_code"), {command})), "E0212"},
    {"getattr", in_dict(call(call(global("builtins", "getattr"), {text("x"), text("y")}), {command})), "E0212"},
    {"dotted_name", in_dict(call(global("torch", "serialization.os.system"), {command})), "E0212"},
    {"pickle_in_a_pickle", in_dict(call(global("pickle", "loads"), {command})), "E0212"},
    {"torch_load", in_dict(call(global("torch", "load"), {command})), "E0212"},
    {"torch_hub", in_dict(call(global("torch.hub", "load"), {command})), "E0212"},
    {"private_function_of_torch", in_dict(call(global("torch._utils", "_import_dotted_name"), {command})), "E0212"},
    {"interpreter", in_dict(call(global("code", "interact"), {command})), "E0212"},
    {"user_module_of_that_name",
     dict({{"model", in_dict(tensor())}, {"args", call(global("code.args", "Config"), {})}}), "good"},
    {"numpy_load", in_dict(call(global("numpy", "load"), {command})), "E0212"},
    {"stack_global", text("os") + text("system") + "\x93" + tuple({command}) + "R", "E0212"},
    {"stack_global_of_parts", text("torch") + text("load") + "\x93" + tuple({command}) + "R", "E0212"},
    {"stack_global_of_numbers", "K\1K\2\x93)R", "E0210"},
    {"inst", "(" + command + "ios\nsystem\n", "E0212"},
    {"inst_of_a_class", "(" + command + "imine\nThing\n", "E0212"},
    {"obj", "(" + os_system + command + "o", "E0212"},
    {"obj_of_a_class", "(" + global("mine", "Thing") + command + "o", "E0212"},
    {"obj_of_nothing", "(o", "E0210"},
    {"newobj", in_dict(os_system + tuple({command}) + "\x81"), "E0212"},
    {"newobj_of_a_class", in_dict(global("mine", "Thing") + tuple({command}) + "\x81"), "E0212"},
    {"newobj_ex", in_dict(global("mine", "Thing") + tuple({command}) + "}\x92"), "E0212"},
    {"build_with_setstate",
     in_dict(global("mine", "Thing") + ")\x81" + dict({{"__setstate__", global("mine", "run")}}) + "b"), "E0212"},
    {"build_with_system", in_dict(global("mine", "Thing") + ")\x81" + dict({{"__setstate__", os_system}}) + "b"),
     "E0212"},
    {"build_of_a_number", "K\1" + tuple({command}) + "b", "E0207"},
    {"ext1", "\x82\1)R", "E0212"},
    {"ext2", std::string("\x83\1\0", 3) + ")R", "E0212"},
    {"ext4", std::string("\x84\1\0\0\0", 5) + ")R", "E0212"},
    {"reduce_of_a_number", "K\1" + tuple({command}) + "R", "E0212"},
    {"reduce_of_a_text", text("os.system") + tuple({command}) + "R", "E0212"},
    {"reduce_of_a_tuple", tuple({global("mine", "run")}) + tuple({command}) + "R", "E0212"},
    {"reduce_of_a_tensor", tensor() + tuple({command}) + "R", "E0212"},
    {"reduce_of_a_storage", storage() + tuple({command}) + "R", "E0212"},
    {"reduce_without_a_tuple", in_dict(global("mine", "run") + command + "R"), "E0212"},
    {"state_dict_that_is_called", dict({{"state_dict", call(global("mine", "run"), {command})}}), "E0212"},
    {"dict_of_a_class_of_its_own", call(global("mine", "Dict"), {command}) + "(" + text("w") + tensor() + "u", "E0212"},
    {"outside_that_is_a_module", tuple({text("module"), global("mine", "Net"), command, command}) + "Q", "E0207"},
    {"outside_that_is_a_name",
     in_dict(call(global("torch._utils", "_rebuild_tensor_v2"), {command + "Q", whole(0), sizes({6}), sizes({1})})),
     "E0210"},
};

const std::vector<hostile_pickle> structures{
    {"memo_of_4_gib", "Nr\xff\xff\xff\xff", "E0210"},
    {"memo_far_away", "Nr" + little_endian(1 << 20, 4), "E0210"},
    {"memo_that_is_empty", "h\1", "E0210"},
    {"memo_that_is_empty_below", "Nq\2h\1", "E0210"},
    {"memo_of_no_value", "q\1", "E0210"},
    {"memoize_of_no_value", "\x94", "E0210"},
    {"tuples_10000_deep", deep_tuples(10'000), "E0207"},
    {"tuples_10000_deep_as_a_tensor", dict({{"v", tensor()}, {"w", deep_tuples(10'000)}}), "E0217"},
    {"tuples_10000_deep_as_sizes", with_extent(whole(0), deep_tuples(10'000), sizes({1})), "E0210"},
    {"tuples_1000000_deep", deep_tuples(1'000'000), "E0214"},
    {"list_in_itself", "]q\1h\1a", "E0207"},
    {"dict_in_itself", "}q\1(" + text("state_dict") + "h\1u", "E0207"},
    {"dict_in_itself_beside_a_tensor", "}q\1(" + text("state_dict") + "h\1" + text("w") + tensor() + "u", "E0207"},
    {"list_in_itself_as_sizes", with_extent(whole(0), "]q\1h\1a", sizes({1})), "E0210"},
    {"call_of_itself", global("mine", "run") + ")Rq\1h\1b", "E0212"},
    {"long_of_2_gib", "\x8b" + little_endian(0x7fffffff, 4), "E0210", "E0203"},
    {"long_of_4_gib", "\x8b\xff\xff\xff\xff", "E0210", "E0203"},
    {"text_of_4_gib", "X\xff\xff\xff\xff", "E0210", "E0203"},
    {"text_of_2_63", "\x8d" + little_endian(std::uint64_t{1} << 63, 8), "E0210", "E0203"},
    {"text_of_2_64", "\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "E0210", "E0203"},
    {"bytes_of_2_63", "\x8e" + little_endian(std::uint64_t{1} << 63, 8), "E0210", "E0203"},
    {"bytearray_of_2_63", "\x96" + little_endian(std::uint64_t{1} << 63, 8), "E0210", "E0203"},
    {"frame_that_is_too_long", "\x95" + little_endian(1000, 8) + "N", "E0210", "E0203"},
    {"frame_of_2_64", "\x95\xff\xff\xff\xff\xff\xff\xff\xff", "E0210", "E0203"},
    {"frame_that_is_too_short", "\x95" + little_endian(1, 8) + in_dict(tensor()), "good"},
    {"no_value", "", "E0210"},
    {"no_stop", std::string("\x80\x02}", 3), "E0210", "E0203", true},
    {"nothing", "", "E0210", "E0203", true},
    {"opcode_that_does_not_exist", "\xff", "E0210"},
    {"opcode_of_protocol_0", "I1\n", "E0210"},
    {"protocol_that_does_not_exist", "\x80\xc8N.", "E0210", "E0210", true},
    {"tuple_without_a_mark", "t", "E0210"},
    {"tuple_of_what_is_not_there", "\x87", "E0210"},
    {"append_to_nothing", "Na", "E0210"},
    {"append_to_a_number", "K\1Na", "E0210"},
    {"append_below_a_mark", "](Na", "E0210"},
    {"set_items_of_a_tuple", ")(NNu", "E0210"},
    {"set_items_that_are_odd", "}(NNNu", "E0210"},
    {"dict_that_is_odd", "(NNNd", "E0210"},
    {"pop_of_nothing", "0", "E0210"},
    {"build_of_nothing", "b", "E0210"},
    {"reduce_of_nothing", "R", "E0210"},
    {"buffer_beside_the_pickle", "\x97", "E0210"},
    {"five_million_values", repeated("N", 5'000'000), "E0214"},
    {"five_million_marks", repeated("(", 5'000'000), "E0214"},
    {"a_million_names", repeated("ca\nb\n0", 1'000'000), "E0214"},
    {"two_million_dicts", repeated("}0", 2'000'000), "E0214"},
    {"two_million_memos", "N" + repeated("\x94", 2'000'000), "E0214"},
    {"a_dict_of_many", "}(" + repeated("K\1N", 2'000'000) + "u", "E0214"},
    {"a_list_that_grows", "]" + repeated("Na", 2'000'000), "E0214"},
};

const std::vector<hostile_pickle> tensors{
    {"good", in_dict(tensor()), "good"},
    {"storage_with_more_elements", in_dict(tensor(storage("FloatStorage", "0", 7))), "E0210"},
    {"storage_with_fewer_elements",
     with_extent(whole(0), sizes({1}), sizes({1})) + "0" +
         as_tensor_of(storage("FloatStorage", "0", 5), whole(0), sizes({1}), sizes({1})),
     "E0210"},
    {"storage_of_another_type", in_dict(tensor(storage("DoubleStorage"))), "E0210", "E0203"},
    {"storage_with_elements_below_zero", in_dict(tensor(storage("FloatStorage", "0", -6))), "E0210"},
    {"storage_with_2_62_elements", in_dict(tensor(storage("FloatStorage", "0", std::int64_t{1} << 62))), "E0210"},
    {"storage_with_2_63_elements", in_dict(tensor(storage("ByteStorage", "0", most))), "E0210"},
    {"storage_of_no_class", in_dict(tensor(storage("NoStorage"))), "E0217"},
    {"storage_that_is_quantized", in_dict(tensor(storage("QInt8Storage", "0", 24))), "E0217"},
    {"storage_that_is_missing", in_dict(tensor(storage("FloatStorage", "1"))), "E0210"},
    {"storage_outside_of_the_folder", in_dict(tensor(storage("FloatStorage", "../data.pkl"))), "E0210"},
    {"storage_by_a_path", in_dict(tensor(storage("FloatStorage", "/etc/passwd"))), "E0210"},
    {"storage_without_a_tuple", in_dict(tensor("K\1Q")), "E0210"},
    {"storage_of_an_empty_tuple", in_dict(tensor(")Q")), "E0210"},
    {"storage_that_is_a_part",
     in_dict(tensor(tuple({text("storage"), global("torch", "FloatStorage"), text("0"), text("cpu"), whole(6),
                           tuple({text("1"), whole(0), whole(6)})}) +
                    "Q")),
     "E0217"},
    {"tensor_of_a_list", in_dict(tensor("]")), "E0210"},
    {"offset_beyond", with_extent(whole(1), sizes({2, 3}), sizes({3, 1})), "E0210"},
    {"offset_below_zero", with_extent(whole(-1), sizes({2, 3}), sizes({3, 1})), "E0210"},
    {"offset_that_overflows", with_extent(whole(most), sizes({2, 3}), sizes({3, 1})), "E0210"},
    {"offset_of_an_empty_tensor", with_extent(whole(most), sizes({0}), sizes({1})), "good"},
    {"offset_that_is_long", with_extent("\x8a\x0a" + std::string(10, '\1'), sizes({1}), sizes({1})), "E0210"},
    {"offset_that_is_a_text", with_extent(text("0"), sizes({1}), sizes({1})), "E0210"},
    {"sizes_beyond", with_extent(whole(0), sizes({7}), sizes({1})), "E0210"},
    {"sizes_below_zero", with_extent(whole(0), sizes({-2, -3}), sizes({3, 1})), "E0210"},
    {"sizes_that_overflow", with_extent(whole(0), sizes({most, most}), sizes({0, 0})), "E0210"},
    {"sizes_that_overflow_to_nothing",
     with_extent(whole(0), sizes({std::int64_t{1} << 32, std::int64_t{1} << 32}), sizes({0, 0})), "E0210"},
    {"sizes_that_overflow_with_a_zero", with_extent(whole(0), sizes({most, most, 0}), sizes({1, 1, 1})), "E0210"},
    {"sizes_far_above_the_file", with_extent(whole(0), sizes({std::int64_t{1} << 40}), sizes({0})), "E0210"},
    {"sizes_of_a_list", with_extent(whole(0), "](K\2K\3e", sizes({3, 1})), "E0210"},
    {"sizes_of_numbers_with_fractions", with_extent(whole(0), "G@\0\0\0\0\0\0\0\x85", sizes({1})), "E0210"},
    {"sizes_65",
     with_extent(whole(0), sizes(std::vector<std::int64_t>(65, 1)), sizes(std::vector<std::int64_t>(65, 1))), "E0210"},
    {"strides_below_zero", with_extent(whole(5), sizes({2, 3}), sizes({-3, -1})), "E0210"},
    {"strides_that_overflow", with_extent(whole(0), sizes({2, 3}), sizes({most, most})), "E0210"},
    {"strides_too_few", with_extent(whole(0), sizes({2, 3}), sizes({3})), "E0210"},
    {"strides_beyond", with_extent(whole(0), sizes({2, 3}), sizes({4, 1})), "E0210"},
    {"arguments_too_few", in_dict(call(global("torch._utils", "_rebuild_tensor_v2"), {storage()})), "E0210"},
    {"arguments_none", in_dict(global("torch._utils", "_rebuild_tensor_v2") + "NR"), "E0210"},
    {"type_that_is_none",
     in_dict(
         call(global("torch._utils", "_rebuild_tensor_v3"), {storage("ByteStorage", "0", 24), whole(0), sizes({6}),
                                                             sizes({1}), "\x89", no_hooks, global("torch", "load")})),
     "E0217", "E0210"},
    {"type_larger_than_the_storage",
     in_dict(call(global("torch._utils", "_rebuild_tensor_v3"),
                  {storage("ByteStorage", "0", 24), whole(0), sizes({4}), sizes({1}), "\x89", no_hooks,
                   global("torch", "float64")})),
     "E0210"},
    {"view_that_conjugates",
     in_dict(call(global("torch._utils", "_rebuild_tensor_v2"),
                  {storage(), whole(0), sizes({6}), sizes({1}), "\x89", no_hooks, dict({{"conj", "\x88"}})})),
     "E0217"},
    {"parameters_in_parameters", in_dict(parameters(1000)), "E0210"},
    {"parameter_of_nothing", in_dict(global("torch._utils", "_rebuild_parameter") + ")R"), "E0210"},
    {"tensor_of_a_subclass",
     in_dict(call(global("torch._tensor", "_rebuild_from_type_v2"),
                  {global("torch._utils", "_rebuild_tensor_v2"), global("mine", "Tensor"), ")", "}"})),
     "E0217"},
    {"tensor_by_another_function",
     in_dict(call(global("torch._tensor", "_rebuild_from_type_v2"),
                  {global("mine", "run"), global("torch", "Tensor"), ")", "}"})),
     "E0212"},
    {"wrapper_of_a_tensor", in_dict(global("torch._utils", "_rebuild_wrapper_subclass") + ")R"), "E0217"},
    {"tensor_without_values", in_dict(global("torch._utils", "_rebuild_meta_tensor_no_storage") + ")R"), "E0217"},
    {"name_that_is_a_number", "}(K\1" + tensor() + "u", "E0217"},
    {"name_that_is_a_list", "}(]" + tensor() + "u", "E0217"},
    {"name_twice", dict({{"w", tensor()}, {"w", tensor()}}), "E0210"},
    {"name_that_is_empty", dict({{"", tensor()}}), "good"},
    {"name_that_is_a_prefix", dict({{"module.", tensor()}}), "good"},
    {"list_of_tensors", "](" + tensor() + "e", "E0207"},
    {"number_beside_tensors", dict({{"w", tensor()}, {"epoch", "K\3"}}), "E0217"},
    {"list_beside_tensors", dict({{"w", tensor()}, {"list", "]"}}), "E0217"},
    {"class_in_place_of_a_tensor", dict({{"v", tensor()}, {"w", global("mine", "Thing")}}), "E0217"},
    {"two_state_dicts", dict({{"model", in_dict(tensor())}, {"net", in_dict(tensor())}}), "E0217"},
    {"ordered_dict_of_numbers", call(global("collections", "OrderedDict"), {"](K\1K\2e"}), "E0210"},
    {"one_tensor", tensor(), "E0207"},
    {"one_text", text("w"), "E0207"},
    {"nothing_at_all", "N", "E0207"},
};

class hostile_file_of_torch : public ::testing::TestWithParam<hostile_pickle> {
 protected:
  void expect_refused(const std::string& file, const weights_folder& folder, const std::string& code) {
    EXPECT_THAT(bounded_weights_outcome(folder.write("weights.pt", file)), HasSubstr(code)) << GetParam().name;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "made")) << "a call was made";
  }
  static std::string planted(const hostile_pickle& given, const weights_folder& folder) {
    std::string value = given.value;
    const std::string made = "touch " + (folder.path() / "made").string();
    const std::string mark = text("{}");
    for (std::size_t at = value.find(mark); at != std::string::npos; at = value.find(mark, at)) {
      value.replace(at, mark.size(), text(made));
    }
    return given.is_whole ? value : pickle(value);
  }
};

TEST_P(hostile_file_of_torch, is_refused_in_zip_format) {
  const weights_folder folder;
  expect_refused(zip_file(zip_items(planted(GetParam(), folder))), folder, GetParam().code);
}

TEST_P(hostile_file_of_torch, is_refused_in_the_older_format) {
  const weights_folder folder;
  const std::string& code = GetParam().legacy_code.empty() ? GetParam().code : GetParam().legacy_code;
  expect_refused(legacy_file(planted(GetParam(), folder)), folder, code);
}

const auto by_name = [](const auto& each) { return each.param.name; };
INSTANTIATE_TEST_SUITE_P(calls, hostile_file_of_torch, ::testing::ValuesIn(calls), by_name);
INSTANTIATE_TEST_SUITE_P(structures, hostile_file_of_torch, ::testing::ValuesIn(structures), by_name);
INSTANTIATE_TEST_SUITE_P(tensors, hostile_file_of_torch, ::testing::ValuesIn(tensors), by_name);

TEST(hostile_call, would_be_made_by_python) {
  // The planted commands are real: the shell that os.system would use makes the file.
  const weights_folder folder;
  EXPECT_EQ(std::system(("touch " + (folder.path() / "made").string()).c_str()), 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "made"));
}

}  // namespace
}  // namespace troupe::testing
