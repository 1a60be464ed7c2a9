// Goal: what stands in an archive is found before LibTorch gets it: damage, effects however they are written, and
// nesting beyond the limits; and models as they are exported pass, large ones and those just below the limits too.
// Method: archives written by hand (an independent CRC-32), archives that LibTorch saved, and the list of all its
// operators.
#include "../../support/model_archive.hpp"

#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/operator.h>

#include "messages/limits.hpp"
#include "runtime/graph/code_effects.hpp"
#include "runtime/model/archive_check.hpp"
#include "runtime/model/pickle_scan.hpp"
#include "runtime/model/probe.hpp"
#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string outcome_of(const std::string& content, const model_loading& how = {}) {
  const scratch_dir dir;
  const auto outcome = open_archive(dir.write("model.pt", content)).and_then([&](archive_file file) {
    return check_torchscript(file, how);
  });
  return outcome ? "good" : to_string(outcome.error());
}
std::string outcome_of_code(const std::string& code) {
  return outcome_of(model_archive(code));
}
std::string outcome_of_statement(const std::string& statement) {
  return outcome_of_code(net_code(net_forward("    " + statement + "\n")));
}

std::string saved(const torch::jit::Module& module) {
  const scratch_dir dir;
  const auto file = dir.path() / "model.pt";
  module.save(file.string());
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(archive, by_hand_is_good_and_loads) {
  const scratch_dir dir;
  const auto chain = load_model(dir.write("model.pt", model_archive(net_code(net_forward("")))));
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_EQ(layers_of(*chain)->layers().size(), 1U);
}

TEST(archive, every_flipped_byte_of_an_entry_is_found) {
  const std::string whole = model_archive(net_code(net_forward("")));
  const std::size_t end = whole.find("PK\1\2");
  std::size_t flipped = 0;
  for (const auto& item : model_items(net_code(net_forward("")))) {
    const std::size_t begin = whole.find(item.name) + item.name.size();
    ASSERT_LE(begin + item.content.size(), end);
    for (std::size_t at = begin; at < begin + item.content.size(); at += 3, ++flipped) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 4);
      EXPECT_THAT(outcome_of(damaged), HasSubstr("E0213")) << at;
    }
  }
  EXPECT_GT(flipped, 50U);
}

TEST(archive, entries_that_lie_about_themselves_are_damaged) {
  auto items = model_items(net_code(net_forward("")));
  items[1].bytes += 1;
  EXPECT_THAT(outcome_of(zip_file(items)), HasSubstr("has two sizes"));
  items = model_items(net_code(net_forward("")));
  items[1].packed = true;
  EXPECT_THAT(outcome_of(zip_file(items)), HasSubstr("E0213"));
  items = model_items(net_code(net_forward("")));
  items.push_back(stored("m/MODEL.JSON", "{}"));
  EXPECT_THAT(outcome_of(zip_file(items)), HasSubstr("before PyTorch 1.3"));
}

TEST(effects, are_found_however_they_are_written) {
  for (const char* statement : {"torch.save(x, \"f\")",
                                "x.save(\"f\")",
                                "y = torch.save",
                                "ops.aten.save(x, \"f\")",
                                "getattr(torch, \"save\")(x, \"f\")",
                                "getattr(x, 'sa' \"ve\")(\"f\")",
                                "getattr(x, \"\\163ave\")(\"f\")",
                                "y = torch.from_file(\"f\", True, 4)",
                                "print(x)",
                                "ops.prim.Print(x)",
                                "torch._print(\"x\")",
                                "torch.manual_seed(1)",
                                "ops.c10d.barrier(x)",
                                "ops.mine.op(x)",
                                "y = ops",
                                "getattr(ops, \"c10d\")",
                                "__torch__ = x",
                                "y = __torch__.torch.classes.c10d.Store(x)",
                                "y = __torch__.torch",
                                "y = getattr(__torch__.torch, \"classes\").c10d",
                                "y = ops.prim",
                                "getattr(ops.prim, \"Print\")(x)",
                                "__torch__.Color.RED.save(\"f\")",
                                "y = (1, [torch.\\\n      save(x, \"f\")])"}) {
    EXPECT_THAT(outcome_of_statement(statement), HasSubstr("error E0212")) << statement;
  }
  EXPECT_THAT(outcome_of_code(net_code("  def f(self: __torch__.Net,\n    y: int=torch.save(1, \"f\")) -> int:\n"
                                       "    return 1\n" +
                                       net_forward(""))),
              HasSubstr("class __torch__.Net, f(), line 6 of its code"));
  EXPECT_THAT(
      outcome_of_code("def f(x: Tensor) -> Tensor:\n  torch.save(x, \"f\")\n  return x\n" + net_code(net_forward(""))),
      HasSubstr("E0212"));
}

TEST(effects, are_allowed_by_a_flag_but_for_operators_that_libtorch_does_not_have) {
  EXPECT_THAT(outcome_of_statement("ops.torchvision.nms(x, x, 0.5)"),
              HasSubstr("fix: write the model with PyTorch's own"));
  EXPECT_THAT(outcome_of_statement("torch.save(x, \"f\")"), HasSubstr("fix: --allow-effects takes it"));
}

TEST(effects, are_found_in_entries_whatever_their_case_and_place) {
  auto items = model_items(net_code(net_forward("")));
  items.push_back(stored("m/CODE/__torch__/other.PY", net_code(net_forward("    torch.save(x, \"f\")\n"))));
  EXPECT_THAT(outcome_of(zip_file(items)), HasSubstr("E0212"));
  const std::string process = std::string("\x80\x02") + "c__torch__.torch.classes.c10d\nProcessGroup\n)\x81}b.";
  EXPECT_THAT(outcome_of(model_archive(net_code(net_forward("")), process)), HasSubstr("C++ class"));
}

TEST(effects, name_class_method_and_line) {
  const auto printing = scripted("Noisy", "def forward(self, x):\n  print(x)\n  return x\n");
  const auto inner = sequential("Inner", {{"start", linear("Linear", 4, 4)}, {"noisy", printing}});
  const std::string text = outcome_of(saved(sequential("Net", {{"first", linear("Linear", 4, 4)}, {"inner", inner}})));
  EXPECT_THAT(text, HasSubstr("model.pt, class __torch__.Noisy, forward(), line "));
  EXPECT_THAT(text, HasSubstr("the model prints (print)"));
}

TEST(effects, are_not_seen_where_there_are_none) {
  for (const char* statement :
       {"y = \"torch.save\"", "save = x", "y = self.classes", "y : __torch__.Print = x", "# torch.save(x)",
        "y = torch.relu(x)", "y = ops.prim.NumToTensor(1)", "ops.prim.RaiseException(\"save\")",
        "torch.warn(\"careful\")", "y = getattr(self, \"0\")"}) {
    EXPECT_EQ(outcome_of_statement(statement), "good") << statement;
  }
  EXPECT_EQ(outcome_of(model_archive(net_code(net_forward("    print(x)\n"))), {.allow_effects = true}), "good");
}

/// With `{}` in the code standing for a file in the directory.
std::string saving(const scratch_dir& dir, std::string code, const std::string& data) {
  code.replace(code.find("{}"), 2, (dir.path() / "written").string());
  return dir.write("model.pt", model_archive(code, data));
}

TEST(effects, happen_where_they_are_allowed_and_nowhere_else) {
  const std::string at_load = net_code(
      "  def __setstate__(self: __torch__.Net,\n    state: bool) -> NoneType:\n    torch.save(state, \"{}\")\n"
      "    self.training = state\n    return None\n"
      "  def __getstate__(self: __torch__.Net) -> bool:\n    return self.training\n" +
      net_forward(""));
  const std::string state = std::string("\x80\x02") + "c__torch__\nNet\n)\x81\x89" + "b.";
  const std::string at_forward = net_code(net_forward("    torch.save(x, \"{}\")\n"));
  for (const auto& [code, data] : {std::pair{at_load, state}, {at_forward, pickled_net()}}) {
    const scratch_dir dir;
    const std::string file = saving(dir, code, data);
    const auto refused = load_model(file);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::model_has_effects);
    EXPECT_FALSE(std::filesystem::exists(dir.path() / "written"));
    const auto allowed = load_model(file, {.allow_effects = true});
    ASSERT_TRUE(allowed) << to_string(allowed.error());
    EXPECT_TRUE(probe_layers(*layers_of(*allowed), {at::rand({2, 4, 4})}));
    EXPECT_TRUE(std::filesystem::exists(dir.path() / "written"));
  }
}

TEST(print, goes_to_stderr_alone) {
  const scratch_dir dir;
  const auto file = dir.write("model.pt", model_archive(net_code(net_forward("    print(\"line\", 1)\n"))));
  const auto chain = load_model(file, {.allow_effects = true});
  ASSERT_TRUE(chain) << to_string(chain.error());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const auto shapes = probe_layers(*layers_of(*chain), {at::rand({2, 4, 4})});
  std::cout.flush();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "line 1\n");
  EXPECT_TRUE(shapes);
}

/// An operator that takes the name of something outside, or returns nothing and writes no argument, has no use but its
/// effect. Of those that compute nothing, these only check, or set state of the thread alone.
TEST(effects, list_has_every_operator_that_can_have_no_other_use) {
  const std::set<std::string> harmless = {"aten::warn",
                                          "aten::set_grad_enabled",
                                          "aten::backward",
                                          "aten::_backward",
                                          "aten::_propagate_xla_data",
                                          "aten::_assert_scalar",
                                          "aten::_assert_async",
                                          "aten::_assert_tensor_metadata",
                                          "aten::_linalg_check_errors",
                                          "aten::sym_constrain_range",
                                          "aten::sym_constrain_range_for_size",
                                          "prim::RaiseException",
                                          "aten::_cufft_set_plan_cache_max_size",
                                          "aten::_cufft_clear_plan_cache",
                                          "profiler::_record_function_exit"};
  std::size_t looked_at = 0;
  for (const auto& each : torch::jit::getAllOperators()) {
    const auto& schema = each->schema();
    const std::string name = schema.name();
    const std::string space = name.substr(0, name.find(':'));
    if (!is_known_namespace(space)) continue;
    const auto names_outside = [](const c10::Argument& one) {
      return one.name().find("file") != std::string::npos || one.name().find("path") != std::string::npos;
    };
    const auto writes = [](const c10::Argument& one) { return one.alias_info() != nullptr; };
    const bool outside = std::ranges::any_of(schema.arguments(), [&](const c10::Argument& one) {
      return one.type()->kind() == c10::TypeKind::StringType && names_outside(one);
    });
    const bool silent =
        schema.returns().empty() && !schema.is_varret() && !std::ranges::any_of(schema.arguments(), writes);
    if (!outside && !silent) continue;
    ++looked_at;
    if (harmless.contains(name) || name.starts_with("aten::_validate_")) continue;
    EXPECT_TRUE(
        effect_of_name(name.substr(name.rfind(':') + 1), space == "prim" ? name_place::prim : name_place::member))
        << schema;
  }
  EXPECT_GT(looked_at, 15U);
}

TEST(nesting, just_below_the_limit_loads_and_just_above_is_refused) {
  const std::size_t limit = limits::model_expression_depth_max;
  const scratch_dir dir;
  for (const auto& statement : {nested_calls(limit / 2 - 8), nested_parentheses(limit - 8), long_sum(limit - 8)}) {
    const auto chain = load_model(dir.write("model.pt", model_archive(net_code(net_forward(statement)))));
    EXPECT_TRUE(chain) << to_string(chain.error());
  }
  for (const auto& statement : {nested_calls(limit), nested_parentheses(limit + 1), long_sum(limit + 1)}) {
    EXPECT_THAT(outcome_of_code(net_code(net_forward(statement))), HasSubstr("error E0214"));
  }
}

TEST(nesting, of_every_kind_is_counted) {
  const std::size_t many = limits::model_expression_depth_max + 2;
  std::string blocks;
  for (std::size_t i = 0; i < many; ++i) blocks += std::string(4 + i, ' ') + "if True:\n";
  std::string branches = "    if True:\n      y = x\n" + repeated("    elif False:\n      y = x\n", many);
  std::string classes;
  for (std::size_t i = 0; i < many; ++i) {
    classes += "class C" + std::to_string(i) + "(Module):\n  training : bool\n  a : __torch__.C" +
               std::to_string(i + 1) + "\n";
  }
  for (const std::string& statements :
       {blocks + std::string(4 + many, ' ') + "y = x\n", branches + "    else:\n      y = x\n",
        "    y = " + repeated("-", many) + "1\n", "    y = x" + repeated("[0]", many) + "\n",
        "    y = x" + repeated(".t()", many) + "\n", "    y = " + repeated("[", many) + repeated("]", many) + "\n",
        repeated("\n", many), repeated("    # nothing\n", many), "    y = x" + repeated("\\\n", many) + "\n"}) {
    EXPECT_THAT(outcome_of_code(net_code(net_forward(statements))), HasSubstr("error E0214"))
        << statements.substr(0, 40);
  }
  EXPECT_THAT(outcome_of_code(classes + net_code(net_forward(""))), HasSubstr("its classes are nested"));
}

TEST(nesting, is_not_what_stands_side_by_side) {
  const std::size_t many = 5'000;
  EXPECT_EQ(outcome_of_code(net_code(net_forward("    y = [" + repeated("-1 + 2, ", many) + "1]\n"))), "good");
  EXPECT_EQ(outcome_of_code(net_code(net_forward(repeated("    y = torch.add(x, x)\n", many)))), "good");
  EXPECT_EQ(outcome_of_code(net_code(net_forward(repeated("    if True:\n      y = x\n", many)))), "good");
}

TEST(pickle, depth_is_that_of_what_it_builds) {
  const auto depth_of = [](const std::string& steps) {
    const auto outline = scan_pickle(std::string("\x80\x02") + steps + ".", 1000);
    return outline ? outline->depth : std::size_t{99};
  };
  EXPECT_EQ(depth_of("N"), 0U);
  EXPECT_EQ(depth_of(")"), 1U);
  EXPECT_EQ(depth_of(")\x85\x85"), 3U);
  EXPECT_EQ(depth_of("((K\1tK\1t"), 2U);
  // a list that is filled after it was put into another one: [[[]]] from outside to inside
  EXPECT_EQ(depth_of("]q\1]q\2ah\2]a"), 3U);
  EXPECT_GT(depth_of(std::string("]q\1h\1a")), 1U) << "a cycle is deeper than anything";
  EXPECT_EQ(scan_pickle(pickled_net(), 1000)->globals, std::vector<std::string>{"__torch__.Net"});
  for (const std::string steps : {"\x85", "t", "e", "a", "h\1", "X\xff\xff\xff\xff", "c", "\xff"}) {
    EXPECT_EQ(depth_of(steps), 99U);
  }
}

TEST(honest_models, pass_and_load_however_large) {
  std::string source = "def forward(self, x):\n  a = x\n  b = x\n";
  for (int i = 0; i < 3'000; ++i) {
    source +=
        "  c = torch.add(torch.mul(a, b), torch.relu(torch.sub(b, a)), alpha=1)\n  a = b\n  b = torch.cat([c, "
        "a])[:1]\n";
  }
  const auto large = scripted("Large", source + "  return b\n");
  children parts;
  for (int i = 0; i < 200; ++i) parts.emplace_back("part" + std::to_string(i), linear("Linear", 4, 4));
  for (const auto& module : {large, sequential("Many", parts)}) {
    const auto chain = saved_and_loaded(module);
    EXPECT_TRUE(chain) << to_string(chain.error());
  }
}

}  // namespace
}  // namespace troupe::testing
