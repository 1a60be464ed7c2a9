// Goal: a file that is no model for Troupe is refused before anything runs, with the cause, the place in the user's
// Python and the lines to write. Method: good recorded files with one thing changed, and zip files written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../support/zip_writer.hpp"
#include "exported_files.hpp"

namespace troupe::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The first operator of this kind.
json& node_of(json& program, const std::string& target) {
  for (json& each : graph_of(program).at("nodes")) {
    if (each.at("target") == target) return each;
  }
  throw std::runtime_error("no node " + target);
}
std::string with_target(const std::string& target) {
  return outcome_of_changed("tied_mlp",
                            [&](json& program) { node_of(program, "torch.ops.aten.relu.default")["target"] = target; });
}

TEST(refusals, start_from_a_good_file) {
  EXPECT_EQ(outcome_of_changed("tied_mlp", [](json& /*program*/) {}), "good");
  EXPECT_EQ(outcome_of_changed("skip_cnn", [](json& /*program*/) {}), "good");
}

TEST(refusals, name_the_operator_its_node_and_its_line) {
  const std::string text = with_target("torch.ops.aten.nothing_like_it.default");
  EXPECT_THAT(text, AllOf(HasSubstr("error E0217"), HasSubstr("LibTorch has no operator aten::nothing_like_it"),
                          HasSubstr("node relu (torch.ops.aten.nothing_like_it.default)"), HasSubstr("make_models.py:"),
                          HasSubstr("fix: ")));
  EXPECT_THAT(with_target("torch.ops.aten.relu.Other"), HasSubstr("no operator aten::relu.Other"));
  EXPECT_THAT(with_target("torch.ops.aten.sym_numel.default"), Not(HasSubstr("no operator")));
}

TEST(refusals, of_operators_that_are_not_pytorchs) {
  for (const char* target : {"torch.ops.mine.relu.default", "torch.ops.c10d.barrier.default", "os.system",
                             "builtins.exec", "torch.ops.aten.relu", "relu", "", "torch.ops.prim.Print.default",
                             "torch.ops.aten.len.t", "torch.ops.aten.a b.default", "torch.ops.higher_order.map",
                             "torch.ops.higher_order.run_and_save_rng_state", "_operator.getitem", "math.factorial"}) {
    const std::string text = with_target(target);
    const bool is_plain = std::string_view(target) == "torch.ops.aten.relu";
    EXPECT_THAT(text, is_plain ? HasSubstr("good") : HasSubstr("error E0217")) << target;
  }
}

TEST(refusals, of_effects) {
  for (const char* target : {"torch.ops.aten.save.default", "torch.ops.aten.from_file.default",
                             "torch.ops.aten._print.default", "torch.ops.aten.manual_seed.default"}) {
    EXPECT_THAT(with_target(target), AllOf(HasSubstr("error E0212"), HasSubstr("make_models.py:"))) << target;
  }
}

TEST(refusals, of_state_and_of_written_inputs) {
  const auto writing = [](const std::string& name) {
    return outcome_of_changed("tied_mlp", [&](json& program) {
      json& node = node_of(program, "torch.ops.aten.relu.default");
      node["target"] = "torch.ops.aten.relu_.default";
      node["inputs"][0]["arg"]["as_tensor"]["name"] = name;
    });
  };
  EXPECT_THAT(writing("x"), AllOf(HasSubstr("error E0217"), HasSubstr("writes its input x by aten::relu_")));
  EXPECT_THAT(writing("b_scale"), HasSubstr("writes its buffer scale by aten::relu_"));
  EXPECT_THAT(writing("p_first_bias"), HasSubstr("writes its parameter first.bias by aten::relu_"));
  EXPECT_THAT(writing("c_shift"), HasSubstr("writes its constant shift"));
  EXPECT_EQ(writing("add"), "good");
}

TEST(refusals, of_writes_through_views_lists_and_blocks) {
  // The input x, a part of its split, and a write into the part.
  EXPECT_THAT(outcome_of_changed("wide",
                                 [](json& program) {
                                   json& node = node_of(program, "torch.ops.aten.cat.default");
                                   const json part = node["inputs"][0]["arg"]["as_tensors"][0];
                                   node["target"] = "torch.ops.aten.relu_.default";
                                   node["inputs"] = json::array({{{"name", "self"}, {"arg", {{"as_tensor", part}}}}});
                                 }),
              HasSubstr("writes its input x by aten::relu_"));
  // The same parts in a list that is written as a whole.
  EXPECT_THAT(outcome_of_changed("wide",
                                 [](json& program) {
                                   json node = node_of(program, "torch.ops.aten.cat.default");
                                   node["target"] = "torch.ops.aten._foreach_neg_.default";
                                   node["inputs"].erase(1);
                                   node["inputs"][0]["name"] = "self";
                                   node["outputs"] = json::array();
                                   graph_of(program)["nodes"].push_back(node);
                                 }),
              HasSubstr("writes its input x by aten::_foreach_neg_"));
  EXPECT_THAT(outcome_of_changed("loop",
                                 [](json& program) {
                                   json& loop = node_of(program, "torch.ops.higher_order.while_loop");
                                   json& body = loop["inputs"][1]["arg"]["as_graph"]["graph"]["nodes"];
                                   for (json& each : body) {
                                     if (each["target"] != "torch.ops.aten.tanh.default") continue;
                                     each["target"] = "torch.ops.aten.tanh_.default";
                                     each["inputs"][0]["arg"]["as_tensor"]["name"] = "arg1_1";
                                   }
                                 }),
              HasSubstr("writes its input x by aten::tanh_"));
  EXPECT_THAT(outcome_of_changed("branch",
                                 [](json& program) {
                                   json& choice = node_of(program, "torch.ops.higher_order.cond");
                                   json& node = choice["inputs"][2]["arg"]["as_graph"]["graph"]["nodes"].back();
                                   node["target"] = "torch.ops.aten.sub_.Tensor";
                                   node["inputs"][0]["arg"]["as_tensor"]["name"] = "p_small_bias";
                                 }),
              HasSubstr("writes its parameter small.bias by aten::sub_"));
}

TEST(refusals, of_training) {
  const std::string text = outcome_of_changed("skip_cnn", [](json& program) {
    node_of(program, "torch.ops.aten.batch_norm.default")["inputs"][5]["arg"]["as_bool"] = true;
  });
  EXPECT_THAT(text, AllOf(HasSubstr("error E0217"), HasSubstr("running statistics"), HasSubstr("model.eval()"),
                          HasSubstr("make_models.py:")));
  for (const char* kind : {"buffer_mutation", "user_input_mutation", "parameter_mutation", "loss_output", "token"}) {
    EXPECT_THAT(outcome_of_changed("tied_mlp",
                                   [&](json& program) {
                                     json spec;
                                     spec[kind] = {{"arg", {{"name", "relu"}}},
                                                   {"buffer_name", "scale"},
                                                   {"parameter_name", "first.bias"},
                                                   {"user_input_name", "x"}};
                                     json& outputs = program["graph_module"]["signature"]["output_specs"];
                                     outputs.insert(outputs.begin(), spec);
                                   }),
                HasSubstr("error E0217"))
        << kind;
  }
}

TEST(refusals, of_autocast_that_is_on) {
  const std::string text = outcome_of_changed("nested", [](json& program) {
    node_of(program, "torch.ops.higher_order.wrap_with_autocast")["inputs"][2]["arg"]["as_bool"] = true;
  });
  EXPECT_THAT(text, AllOf(HasSubstr("error E0217"), HasSubstr("autocast"), HasSubstr("make_models.py:")));
}

TEST(refusals, of_custom_objects_and_tokens) {
  for (const char* kind : {"custom_obj", "token"}) {
    EXPECT_THAT(outcome_of_changed("tied_mlp",
                                   [&](json& program) {
                                     json& inputs = program["graph_module"]["signature"]["input_specs"];
                                     json spec;
                                     spec[kind] = {{"arg", {{"name", "own"}}}};
                                     inputs.push_back(spec);
                                   }),
                AllOf(HasSubstr("error E0217"), HasSubstr(kind)));
  }
  EXPECT_THAT(outcome_of_changed("tied_mlp",
                                 [&](json& program) {
                                   node_of(program, "torch.ops.aten.relu.default")["inputs"][0]["arg"] = {
                                       {"as_custom_obj", {{"name", "own"}, {"class_fqn", "os"}}}};
                                 }),
              HasSubstr("error E0217"));
}

TEST(refusals, of_other_schema_versions_name_both) {
  const std::string text = outcome_of_changed("tied_mlp", [](json& program) {
    program["schema_version"] = {{"major", 7}, {"minor", 3}};
    program["torch_version"] = "2.5.1";
  });
  EXPECT_THAT(text, AllOf(HasSubstr("error E0217"), HasSubstr("schema version 7.3 (of torch 2.5.1)"),
                          HasSubstr("version 8 is read"), HasSubstr("torch 2.11")));
}

TEST(refusals, of_other_devices_and_layouts) {
  const auto with_weight = [](const char* key, const json& value) {
    exported_content content = content_of("tied_mlp");
    json config = content.json(weights_name);
    config["config"]["first.bias"]["tensor_meta"][key] = value;
    content.set(weights_name, config);
    return outcome_of(content.zip());
  };
  EXPECT_THAT(with_weight("device", {{"type", "cuda"}, {"index", 0}}),
              AllOf(HasSubstr("error E0217"), HasSubstr("cuda"), HasSubstr("model.cpu()")));
  EXPECT_THAT(with_weight("layout", 1), AllOf(HasSubstr("error E0217"), HasSubstr("sparse")));
}

TEST(refusals, of_pickled_weights) {
  exported_content content = content_of("tied_mlp");
  json config = content.json(weights_name);
  config["config"]["first.bias"]["use_pickle"] = true;
  content.set(weights_name, config);
  EXPECT_THAT(outcome_of(content.zip()), AllOf(HasSubstr("error E0217"), HasSubstr("first.bias is pickled")));
}

TEST(refusals, of_what_a_failed_export_leaves) {
  const std::string failed = zip_file({stored("m/data/weights/model_weights_config.json", R"({"config": {}})"),
                                       stored("m/data/constants/model_constants_config.json", R"({"config": {}})"),
                                       stored("m/archive_format", "pt2"), stored("m/archive_version", "0"),
                                       stored("m/.data/version", "6\n"), stored("m/byteorder", "little")});
  EXPECT_THAT(outcome_of(failed), AllOf(HasSubstr("error E0207"), HasSubstr("torch.export.save failed"),
                                        HasSubstr("torch.export.export(model.eval()")));
}

TEST(refusals, of_other_files) {
  const auto of_entries = [](const std::vector<std::string>& names) {
    std::vector<zip_item> items;
    for (const std::string& each : names) items.push_back(stored(each, "x"));
    return outcome_of(zip_file(items));
  };
  EXPECT_THAT(of_entries({"version", "serialized_exported_program.json", "serialized_state_dict.pt"}),
              AllOf(HasSubstr("error E0207"), HasSubstr("torch 2.7 and older")));
  EXPECT_THAT(of_entries({"m/archive_format", "m/data/aotinductor/model/x.so"}),
              AllOf(HasSubstr("error E0207"), HasSubstr("AOTInductor")));
  EXPECT_THAT(of_entries({"m/archive_format", "m/models/other.json"}),
              AllOf(HasSubstr("error E0207"), HasSubstr("models/other.json")));
  EXPECT_THAT(of_entries({"readme.txt"}), HasSubstr("error E0207"));
  EXPECT_THAT(outcome_of("no zip file at all"), HasSubstr("error E02"));
  EXPECT_THAT(outcome_of(""), HasSubstr("error E02"));
}

}  // namespace
}  // namespace troupe::testing
