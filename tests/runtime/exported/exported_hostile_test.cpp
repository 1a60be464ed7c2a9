// Goal: no file crashes the reader, makes it run anything, or costs it more memory than twice the file and 64 MiB.
// Method: a good file with one thing that is a lie, each with the error that it must give; then every value of its
// program replaced by one of another type, and random bytes flipped.
#include <fstream>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <zlib.h>

#include "../../support/sanitized.hpp"
#include "../../support/zip_writer.hpp"
#include "exported_files.hpp"
#include "runtime/exported/json_text.hpp"

namespace troupe::testing {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr auto program_name = "models/model.json";
constexpr auto weights_name = "data/weights/model_weights_config.json";

/// "VmHWM", the most memory that this process had since reset_peak(), or "VmRSS", what it has. In bytes.
std::uint64_t memory_now(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}
void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

/// outcome_of(), and its memory within the promise.
std::string bounded_outcome(const std::string& bytes) {
  const written_file file(bytes);
  malloc_trim(0);  // what the test has freed would be used again, and not be seen
  reset_peak();
  const std::uint64_t before = memory_now("VmRSS");
  std::string outcome = outcome_at(file.path());
  const std::uint64_t peak = memory_now("VmHWM");
  const std::uint64_t promised = 2 * bytes.size() + (64u << 20);
  // AddressSanitizer keeps what was freed.
  if (!sanitized) {
    EXPECT_LE(peak, before + promised) << outcome;
  }
  return outcome;
}

struct hostile_case {
  std::string name;
  std::function<void(json& program, json& weights)> change;
  std::string code;
};

json& graph_of(json& program) {
  return program.at("graph_module").at("graph");
}
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
json deep(std::size_t levels) {
  json value = 1;
  for (std::size_t i = 0; i < levels; ++i) value = json::array({std::move(value)});
  return value;
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

const std::vector<hostile_case> cases{
    {"json_nested_in_an_attribute", [](json& p, json&) { p["deep"] = deep(10000); }, "E0214"},
    {"json_nested_in_the_weights", [](json&, json& w) { w["deep"] = deep(10000); }, "E0214"},
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
     [](json& p, json&) { p["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = deep(10000).dump(); },
     "E0214"},
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
  EXPECT_THAT(bounded_outcome(content.zip()), HasSubstr(given.code)) << given.name;
}

INSTANTIATE_TEST_SUITE_P(all, hostile_file, ::testing::Range<std::size_t>(0, cases.size()),
                         [](const auto& each) { return cases.at(each.param).name; });

TEST(hostile_archive, lacks_records) {
  for (const char* name : {weights_name, "data/constants/model_constants_config.json", "data/weights/weight_0"}) {
    exported_content content = content_of("tied_mlp");
    ASSERT_EQ(content.entries.erase(name), 1U) << name;
    EXPECT_THAT(bounded_outcome(content.zip()), HasSubstr("error E0210")) << name;
  }
  exported_content content = content_of("tied_mlp");
  content.entries.erase(program_name);
  EXPECT_THAT(bounded_outcome(content.zip()), HasSubstr("error E0207"));
}

TEST(hostile_archive, is_truncated_or_altered) {
  const std::string whole = content_of("tied_mlp").zip();
  for (std::size_t size = 0; size < whole.size(); size += 211) {
    EXPECT_THAT(outcome_of(whole.substr(0, size)), HasSubstr("error E02")) << size;
  }
  const std::size_t weight = whole.find("data/weights/weight_0") + std::string("data/weights/weight_0").size();
  for (std::size_t at = weight; at < weight + 256; at += 17) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 1);
    EXPECT_THAT(outcome_of(altered), HasSubstr("error E0213")) << at;
  }
}

TEST(hostile_archive, has_two_entries_of_one_name) {
  const exported_content content = content_of("tied_mlp");
  std::vector<zip_item> items;
  for (const auto& [name, bytes] : content.entries) items.push_back(stored("m/" + name, bytes));
  items.push_back(stored("m/data/weights/weight_0", content.entries.at("data/weights/weight_0")));
  EXPECT_THAT(bounded_outcome(zip_file(items)), HasSubstr("error E0210"));
}

zip_item packed(const std::string& name, const std::string& content) {
  zip_item item{.name = name};
  item.bytes = content.size();
  item.crc = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
  item.packed = true;
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  item.content.resize(deflateBound(&z, content.size()));
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(item.content.data());
  z.avail_out = static_cast<uInt>(item.content.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  item.content.resize(z.total_out);
  deflateEnd(&z);
  return item;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(hostile_archive, unpacks_to_far_more_than_it_has) {
  for (const std::string& text : {"[" + repeated("[],", 4 << 20) + "1]", "[" + repeated("{\"a\":0},", 1 << 20) + "1]",
                                  "{\"a\":\"" + std::string(100 << 20, 'a') + "\"}", repeated("[", 10 << 20),
                                  "[" + repeated("0,", 7 << 20) + "1]"}) {
    EXPECT_THAT(bounded_outcome(zip_file({packed("m/models/model.json", text), stored("m/archive_format", "pt2")})),
                HasSubstr("error E0214"));
  }
}

TEST(hostile_archive, has_a_packed_weight) {
  const exported_content content = content_of("tied_mlp");
  std::vector<zip_item> items;
  for (const auto& [name, bytes] : content.entries) {
    const bool is_weight = name == "data/weights/weight_0";
    items.push_back(is_weight ? packed("m/" + name, bytes) : stored("m/" + name, bytes));
  }
  EXPECT_THAT(bounded_outcome(zip_file(items)), HasSubstr("packed entry data/weights/weight_0"));
}

TEST(hostile_archive, has_a_program_that_is_no_json) {
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{"), std::string("{\"a\": \xff}"),
        std::string("{\"a\": 1e999}"), std::string(100, '\0')}) {
    exported_content content = content_of("tied_mlp");
    content.entries[program_name] = text;
    EXPECT_THAT(bounded_outcome(content.zip()), HasSubstr("error E0210")) << text;
  }
}

/// Many operators at the limit of what is read: their graph, their text and its values are all in memory.
TEST(hostile_archive, has_as_many_operators_as_may_be) {
  exported_content content = content_of("tied_mlp");
  json program = content.json(program_name);
  json& nodes = graph_of(program)["nodes"];
  const json relu = {{"target", "torch.ops.aten.relu.default"}, {"metadata", json::object()}};
  std::string last = "x";
  for (int i = 0; i < 12000; ++i) {
    json node = relu;
    node["inputs"] = json::array({{{"name", "self"}, {"arg", {{"as_tensor", {{"name", last}}}}}}});
    last = "r" + std::to_string(i);
    node["outputs"] = json::array({{{"as_tensor", {{"name", last}}}}});
    nodes.push_back(std::move(node));
  }
  program["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = last;
  content.set(program_name, program);
  EXPECT_EQ(bounded_outcome(content.zip()), "good");
}

/// All places in a document.
void collect(json& value, std::vector<json*>& places) {
  places.push_back(&value);
  if (!value.is_structured()) return;
  for (json& each : value) collect(each, places);
}

TEST(hostile_program, has_a_value_of_another_type_anywhere) {
  const std::vector<json> others{nullptr,
                                 true,
                                 -1,
                                 1.5,
                                 std::numeric_limits<std::uint64_t>::max(),
                                 "text",
                                 json::array(),
                                 json::object(),
                                 json::array({1}),
                                 json::object({{"as_int", 1}})};
  const exported_content good = content_of("branch");
  const json original = good.json(program_name);
  json program = original;
  std::vector<json*> places;
  collect(program, places);
  std::size_t refused = 0;
  std::mt19937 random(7);
  const std::size_t step = sanitized ? 9 : 1;
  for (std::size_t i = 0; i < places.size(); i += step) {
    json kept = std::move(*places[i]);
    *places[i] = others[random() % others.size()];
    exported_content content = good;
    content.set(program_name, program);
    refused += outcome_of(content.zip()) == "good" ? 0 : 1;
    *places[i] = std::move(kept);
  }
  ASSERT_EQ(program, original);
  EXPECT_GT(refused, places.size() / step / 4);
}

TEST(hostile_program, has_flipped_bytes) {
  std::size_t refused = 0;
  std::mt19937 random(11);
  const int rounds = sanitized ? 60 : 200;
  for (const char* model : {"loop", "nested", "several"}) {
    const exported_content good = content_of(model);
    for (int round = 0; round < rounds; ++round) {
      exported_content content = good;
      std::string& text = content.entries.at(program_name);
      for (int flip = 0; flip <= round % 3; ++flip) {
        char& byte = text[random() % text.size()];
        byte = static_cast<char>(byte ^ static_cast<char>(1U << random() % 7));
      }
      refused += outcome_of(content.zip()) == "good" ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace troupe::testing
