// Goal: no file crashes the reader, makes it run anything, or costs it more memory than twice the file and 64 MiB.
// Method: a good file with one thing that is a lie, each with the error that it must give.
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exported_files.hpp"
#include "runtime/json/json_text.hpp"

namespace troupe::testing {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

struct hostile_case {
  std::string name;
  std::function<void(json& program, json& weights)> change;
  std::string code;
};

json& node_at(json& program, std::size_t position) {
  return graph_of(program).at("nodes").at(position);
}
json& meta_of(json& weights) {
  return weights.at("config").at("first.bias").at("tensor_meta");
}
json sized(std::int64_t size) {
  return json::array({{{"as_int", size}}});
}
/// Changes what the list of weights and the program say alike.
void set_sizes(json& program, json& weights, const json& sizes, const json& strides) {
  meta_of(weights)["sizes"] = sizes;
  meta_of(weights)["strides"] = strides;
  graph_of(program)["tensor_values"]["p_first_bias"]["sizes"] = sizes;
}
/// Arrays in arrays. As a text: nlohmann's own writer would overflow the stack under AddressSanitizer.
std::string deep_text() {
  constexpr std::size_t levels = 10000;
  return std::string(levels, '[') + std::string(levels, ']');
}
/// Stands for deep_text() until the document is written.
constexpr auto deep_mark = "deep mark";
void write_deep(std::string& text) {
  const std::string mark = '"' + std::string(deep_mark) + '"';
  const std::size_t at = text.find(mark);
  if (at != std::string::npos) text.replace(at, mark.size(), deep_text());
}
/// A conditional inside of a conditional, and so on.
json nested_conditionals(std::size_t levels) {
  json graph = {{"inputs", json::array()}, {"outputs", json::array()}, {"nodes", json::array()}};
  for (std::size_t i = 0; i < levels; ++i) {
    json node = {{"target", "torch.ops.higher_order.cond"}, {"outputs", json::array()}, {"metadata", json::object()}};
    const json inner = {{"as_graph", {{"name", "g"}, {"graph", graph}}}};
    node["inputs"] = json::array({{{"name", ""}, {"arg", {{"as_bool", true}}}},
                                  {{"name", ""}, {"arg", inner}},
                                  {{"name", ""}, {"arg", inner}},
                                  {{"name", ""}, {"arg", {{"as_tensors", json::array()}}}}});
    graph["nodes"] = json::array({node});
  }
  return graph["nodes"][0];
}

/// An operator on two numbers, whose result is how far x is viewed.
void add_size(json& program, const std::string& name, std::int64_t a, std::int64_t b) {
  json& nodes = graph_of(program)["nodes"];
  const auto number = [](std::int64_t value) { return json{{"name", ""}, {"arg", {{"as_int", value}}}}; };
  nodes.push_back({{"target", "_operator." + name},
                   {"metadata", json::object()},
                   {"inputs", json::array({number(a), number(b)})},
                   {"outputs", json::array({{{"as_sym_int", {{"as_name", "size"}}}}})}});
  json& result = program["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"];
  nodes.push_back({{"target", "torch.ops.aten.unsqueeze.default"},
                   {"metadata", json::object()},
                   {"inputs", json::array({{{"name", "self"}, {"arg", result}},
                                           {{"name", "dim"}, {"arg", {{"as_sym_int", {{"as_name", "size"}}}}}}})},
                   {"outputs", json::array({{{"as_tensor", {{"name", "seen"}}}}})}});
  result["as_tensor"]["name"] = "seen";
}

const std::vector<hostile_case> cases{
    {"json_nested_in_an_attribute", [](json& p, json&) { p["deep"] = deep_mark; }, "E0214"},
    {"json_nested_in_the_weights", [](json&, json& w) { w["deep"] = deep_mark; }, "E0214"},
    {"cycle",
     [](json& p, json&) {
       node_at(p, 0)["inputs"][0]["arg"]["as_tensor"]["name"] = graph_of(p)["nodes"].back()["name"];
     },
     "E0210"},
    {"own_output_as_input", [](json& p, json&) { node_at(p, 0)["inputs"][0]["arg"] = node_at(p, 0)["outputs"][0]; },
     "E0210"},
    {"dangling_name", [](json& p, json&) { node_at(p, 1)["inputs"][0]["arg"]["as_tensor"]["name"] = "nowhere"; },
     "E0210"},
    {"name_made_twice", [](json& p, json&) { node_at(p, 1)["outputs"] = node_at(p, 0)["outputs"]; }, "E0210"},
    {"name_of_an_input_made_again", [](json& p, json&) { node_at(p, 1)["outputs"][0]["as_tensor"]["name"] = "x"; },
     "E0210"},
    {"input_named_twice",
     [](json& p, json&) {
       json& inputs = p["graph_module"]["signature"]["input_specs"];
       inputs.push_back(inputs.back());
     },
     "E0210"},
    {"argument_given_twice", [](json& p, json&) { node_at(p, 0)["inputs"].push_back(node_at(p, 0)["inputs"][0]); },
     "E0210"},
    {"argument_of_another_operator", [](json& p, json&) { node_at(p, 0)["inputs"][0]["name"] = "nonsense"; }, "E0210"},
    {"argument_missing", [](json& p, json&) { node_at(p, 0)["inputs"].erase(0); }, "E0210"},
    {"argument_of_another_type",
     [](json& p, json&) {
       node_at(p, 0)["inputs"][0]["arg"] = {{"as_string", "text"}};
     },
     "E0210"},
    {"outputs_too_many",
     [](json& p, json&) {
       node_at(p, 0)["outputs"].push_back({{"as_tensor", {{"name", "more"}}}});
     },
     "E0210"},
    {"outputs_none", [](json& p, json&) { node_at(p, 0)["outputs"] = json::array(); }, "E0210"},
    {"output_of_another_type",
     [](json& p, json&) {
       node_at(p, 0)["outputs"][0] = {{"as_sym_int", {{"as_name", "linear"}}}};
     },
     "E0210"},
    {"result_that_is_not_there",
     [](json& p, json&) {
       p["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "nowhere";
     },
     "E0210"},
    {"results_more_than_the_structure_has",
     [](json& p, json&) {
       json& outputs = p["graph_module"]["signature"]["output_specs"];
       outputs.push_back(outputs[0]);
     },
     "E0210"},
    {"results_none", [](json& p, json&) { p["graph_module"]["signature"]["output_specs"] = json::array(); }, "E0217"},
    {"structure_nested",
     [](json& p, json&) { p["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = deep_text(); }, "E0214"},
    {"structure_of_another_version",
     [](json& p, json&) { p["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = "[2, {}]"; }, "E0210"},
    {"name_of_a_megabyte",
     [](json& p, json&) {
       p["graph_module"]["module_call_graph"][0]["signature"]["forward_arg_names"][0] = std::string(1 << 20, 'n');
     },
     "E0210"},
    {"sizes_beyond_the_record", [](json& p, json& w) { set_sizes(p, w, sized(9), sized(1)); }, "E0210"},
    {"sizes_unlike_the_program", [](json&, json& w) { meta_of(w)["sizes"] = sized(4); }, "E0210"},
    {"type_unlike_the_program", [](json&, json& w) { meta_of(w)["dtype"] = 4; }, "E0210"},
    {"type_larger_than_the_record",
     [](json& p, json& w) {
       meta_of(w)["dtype"] = 8;
       graph_of(p)["tensor_values"]["p_first_bias"]["dtype"] = 8;
     },
     "E0210"},
    {"sizes_that_overflow",
     [](json& p, json& w) {
       const json sizes = json::array({{{"as_int", 1LL << 62}}, {{"as_int", 1LL << 62}}});
       const json strides = json::array({{{"as_int", 0}}, {{"as_int", 0}}});
       set_sizes(p, w, sizes, strides);
     },
     "E0210"},
    {"sizes_far_above_the_file_without_strides", [](json& p, json& w) { set_sizes(p, w, sized(1LL << 40), sized(0)); },
     "E0210"},
    {"size_below_zero", [](json& p, json& w) { set_sizes(p, w, sized(-8), sized(1)); }, "E0210"},
    {"stride_below_zero", [](json& p, json& w) { set_sizes(p, w, sized(8), sized(-1)); }, "E0210"},
    {"stride_that_overflows", [](json& p, json& w) { set_sizes(p, w, sized(8), sized(1LL << 62)); }, "E0210"},
    {"strides_too_few", [](json& p, json& w) { set_sizes(p, w, sized(8), json::array()); }, "E0210"},
    {"offset_beyond_the_record", [](json&, json& w) { meta_of(w)["storage_offset"]["as_int"] = 1; }, "E0210"},
    {"offset_below_zero", [](json&, json& w) { meta_of(w)["storage_offset"]["as_int"] = -1; }, "E0210"},
    {"offset_that_overflows",
     [](json&, json& w) { meta_of(w)["storage_offset"]["as_int"] = std::numeric_limits<std::int64_t>::max(); },
     "E0210"},
    {"symbolic_weight",
     [](json&, json& w) {
       meta_of(w)["sizes"][0] = {{"as_expr", {{"expr_str", "s"}}}};
     },
     "E0210"},
    {"type_that_is_none", [](json&, json& w) { meta_of(w)["dtype"] = 99; }, "E0210"},
    {"number_beyond_64_bits",
     [](json&, json& w) { meta_of(w)["sizes"][0]["as_int"] = std::numeric_limits<std::uint64_t>::max(); }, "E0210"},
    {"number_that_is_no_whole_one", [](json&, json& w) { meta_of(w)["sizes"][0]["as_int"] = 1e300; }, "E0210"},
    {"weights_outside_of_the_file",
     [](json&, json& w) { w["config"]["first.bias"]["path_name"] = "../../../../etc/passwd"; }, "E0210"},
    {"weights_by_a_path_of_the_machine", [](json&, json& w) { w["config"]["first.bias"]["path_name"] = "/etc/passwd"; },
     "E0210"},
    {"weights_in_the_program",
     [](json&, json& w) { w["config"]["first.bias"]["path_name"] = "../../models/model.json"; }, "E0210"},
    {"weight_that_is_not_listed", [](json&, json& w) { w["config"].erase("first.bias"); }, "E0210"},
    {"stack_trace_of_a_megabyte",
     [](json& p, json&) { node_at(p, 0)["metadata"]["stack_trace"] = std::string(1 << 20, '\n'); }, "good"},
    {"stack_trace_with_a_huge_line",
     [](json& p, json&) {
       node_at(p, 0)["metadata"]["stack_trace"] = "File \"a.py\", line 99999999999999999999999, in f\n    x";
     },
     "good"},
    {"modules_nested",
     [](json& p, json&) {
       std::string stack;
       for (int i = 0; i < 20000; ++i) stack += "k" + std::to_string(i) + ",p" + std::to_string(i) + ",a.B;";
       node_at(p, 0)["metadata"]["nn_module_stack"] = stack;
     },
     "good"},
    {"conditionals_nested", [](json& p, json&) { graph_of(p)["nodes"].push_back(nested_conditionals(10)); }, "good"},
    {"conditional_without_graphs", [](json& p, json&) { node_at(p, 0)["target"] = "torch.ops.higher_order.cond"; },
     "E0210"},
    {"size_divided_by_zero", [](json& p, json&) { add_size(p, "mod", 1, 0); }, "good"},
    {"size_divided_by_minus_one",
     [](json& p, json&) { add_size(p, "floordiv", std::numeric_limits<std::int64_t>::min(), -1); }, "good"},
    {"size_shifted_too_far", [](json& p, json&) { add_size(p, "lshift", 1, 100); }, "good"},
    {"size_of_a_huge_power", [](json& p, json&) { add_size(p, "pow", 10, 1LL << 40); }, "good"},
    {"loop_without_graphs", [](json& p, json&) { node_at(p, 0)["target"] = "torch.ops.higher_order.while_loop"; },
     "E0210"},
};

class hostile_file : public ::testing::TestWithParam<std::size_t> {};

TEST_P(hostile_file, is_refused_or_read) {
  const hostile_case& given = cases.at(GetParam());
  exported_content content = content_of("tied_mlp");
  json program = content.json(program_name);
  json weights = content.json(weights_name);
  given.change(program, weights);
  content.set(program_name, program);
  content.set(weights_name, weights);
  write_deep(content.entries.at(program_name));
  write_deep(content.entries.at(weights_name));
  EXPECT_THAT(bounded_outcome(content.zip()), HasSubstr(given.code)) << given.name;
}

INSTANTIATE_TEST_SUITE_P(all, hostile_file, ::testing::Range<std::size_t>(0, cases.size()),
                         [](const auto& each) { return cases.at(each.param).name; });

}  // namespace
}  // namespace troupe::testing
