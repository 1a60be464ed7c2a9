// Goal: an engine loads and saves checkpoints as DeepSpeed lays them out, at any number of stages, in one process and
// in workers, also in those that replace dead ones. Method: recorded_checkpoint/ was written by PyTorch; outputs are
// compared with those of a plain LibTorch loop over the TorchScript file that PyTorch wrote with the same weights, bit
// for bit. Workers are this program, started again.
#include <cstdlib>
#include <fstream>

#include "tests/program/checkpoint_engines.hpp"
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

TEST_F(checkpoints, of_pytorch_load_at_any_number_of_stages) {
  for (const int stages : {1, 2, 4}) {
    const auto engine = start_engine("file", stages);
    expect_bits(outputs_of(*engine), plain_outputs("first.pt"));
    const auto loaded = engine->load_checkpoint(recorded("checkpoint"));
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    EXPECT_EQ(loaded->tag, "step2");
    expect_bits(outputs_of(*engine), plain_outputs("second.pt"));
    expect_equal(get(engine->module_state_dict()), get(load_weights(recorded("state.pt"))));
  }
}

TEST(an_engine, takes_weights_of_an_architecture_and_weights_for_a_model) {
  const std::string weights = (source_dir() / "data/cifar10/resnet20.th").string();
  const at::Tensor pictures = at::arange(2 * 3072).sin().abs().reshape({2, 3, 32, 32});
  const auto outputs_of_model = [&](const auto& model) {
    const auto engine = get(pipeline_engine::create(model, {.stages = 2, .run = {.threads = 1}}));
    return get(engine->eval_batch(batch_list{{{pictures, at::Tensor()}}}, {.compute_loss = false})).outputs;
  };
  const auto built_in = outputs_of_model(model_with_weights{.arch = "resnet20-cifar", .weights = weights});
  const auto exported = outputs_of_model((source_dir() / "data/cifar10/resnet20.pt").string());
  EXPECT_TRUE(at::allclose(built_in.at(0), exported.at(0), 1e-5, 1e-5));
  const model_with_weights replaced{.model = recorded("first.pt"), .weights = recorded("state.pt")};
  const auto engine = get(pipeline_engine::create(replaced, {.run = {.threads = 1}, .optimize = optimize_mode::none}));
  const auto found = engine->eval_batch(batch_list{some_batches()},
                                        {.return_logits = true, .compute_loss = false, .num_micro_batches = 8});
  ASSERT_TRUE(found) << to_string(found.error());
  expect_bits(found->logits, plain_outputs("second.pt"));
}

TEST(an_engine, needs_no_counts_of_training_steps) {
  const model_with_weights built_in{.arch = "resnet20-cifar", .weights = source_dir() / "data/cifar10/resnet20.th"};
  const auto without = get(pipeline_engine::create(built_in, {.run = {.threads = 1}}));
  state_dict weights = get(without->module_state_dict());
  weights.push_back({"bn1.num_batches_tracked", at::full({}, 7, at::kLong)});
  const auto more = without->load_module_state_dict(weights);
  EXPECT_TRUE(more) << to_string(more.error());

  const auto with = get(pipeline_engine::create((source_dir() / "data/cifar10/resnet20.pt").string()));
  weights = get(with->module_state_dict());
  EXPECT_EQ(std::erase_if(weights, [](const auto& each) { return each.name.ends_with(".num_batches_tracked"); }), 19);
  const auto fewer = with->load_module_state_dict(weights);
  EXPECT_TRUE(fewer) << to_string(fewer.error());
}

TEST_F(checkpoints, of_pytorch_have_the_client_state) {
  const auto engine = start_engine("file", 1);
  const auto loaded = get(engine->load_checkpoint(recorded("checkpoint"), "step2"));
  const client_state& state = loaded.client_state;
  EXPECT_EQ(state.size(), 7u);
  EXPECT_EQ(value_in<std::int64_t>(state, "epoch"), 7);
  EXPECT_EQ(value_in<double>(state, "loss"), 0.25);
  EXPECT_EQ(value_in<std::string>(state, "note"), "größer");
  EXPECT_FALSE(value_in<bool>(state, "done"));
  EXPECT_EQ(value_in<client_value::list>(state, "history").size(), 3u);
  EXPECT_TRUE(at::equal(value_in<at::Tensor>(state, "mean"), at::arange(3.0)));
  EXPECT_EQ(value_in<double>(value_in<client_state>(state, "nested"), "lr"), 1e-3);
  EXPECT_TRUE(loaded.left_out.empty());
}

TEST_F(checkpoints, that_were_saved_at_four_stages_load_at_two) {
  const client_state kept{{"step", 3},
                          {"large", std::int64_t{-1} << 40},
                          {"rate", 1e-9},
                          {"name", "x"},
                          {"yes", true},
                          {"nothing", {}},
                          {"sizes", client_value::list{1, "two", at::ones({2})}},
                          {"more", client_state{{"a", client_state{{"b", 2}}}}}};
  const auto from = start_engine("file", 4);
  ASSERT_TRUE(from->load_module_state_dict(get(load_weights(recorded("state.pt")))));
  const auto saved = from->save_checkpoint(dir_, "one", kept);
  ASSERT_TRUE(saved) << to_string(saved.error());
  EXPECT_TRUE(fs::exists(dir_ / "one/layer_06-model_states.pt")) << "empty";
  const auto to = start_engine("file", 2);
  const auto loaded = get(to->load_checkpoint(dir_));
  EXPECT_EQ(loaded.tag, "one");
  expect_bits(outputs_of(*to), plain_outputs("second.pt"));
  EXPECT_EQ(loaded.client_state.size(), kept.size());
  EXPECT_EQ(value_in<std::int64_t>(loaded.client_state, "large"), std::int64_t{-1} << 40);
  EXPECT_EQ(value_in<double>(loaded.client_state, "rate"), 1e-9);
  EXPECT_TRUE(value_in<bool>(loaded.client_state, "yes"));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(loaded.client_state.at("nothing").value));
  const auto sizes = value_in<client_value::list>(loaded.client_state, "sizes");
  EXPECT_TRUE(at::equal(std::get<at::Tensor>(sizes.at(2).value), at::ones({2})));
}

TEST_F(checkpoints, of_layers_in_code_keep_tied_weights) {
  const auto from = start_engine("code", 1);
  auto state = get(from->module_state_dict());
  ASSERT_EQ(state.size(), 8u);
  EXPECT_EQ(state[0].name, "1.weight");
  EXPECT_EQ(state[4].name, "3.weight");
  for (named_tensor& each : state) each.tensor = at::arange(each.tensor.numel()).cos().reshape(each.tensor.sizes());
  ASSERT_TRUE(from->load_module_state_dict(state));
  expect_equal(get(from->module_state_dict()), state);
  ASSERT_TRUE(from->save_checkpoint(dir_, "code"));
  const auto wanted = outputs_of(*from);
  at::Tensor plain = some_batches().front().inputs.only().flatten(1);
  for (const std::size_t at : {0u, 2u, 4u, 6u}) plain = at::linear(plain, state[at].tensor, state[at + 1].tensor);
  EXPECT_TRUE(at::equal(wanted.front(), plain));
  // DeepSpeed saves no file for a tied place that is used by another function
  fs::remove(dir_ / "code/layer_03-model_states.pt");
  const auto to = start_engine("code", 4);
  const auto loaded = to->load_checkpoint(dir_, "code");
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  expect_bits(outputs_of(*to), wanted);
}

TEST_F(checkpoints, load_into_workers_and_into_those_that_replace_dead_ones) {
  for (const char* model : {"file", "code"}) {
    const auto here = start_engine(model, 1);
    auto state = get(here->module_state_dict());
    for (named_tensor& each : state) {
      if (each.tensor.is_floating_point()) each.tensor = each.tensor.add(0.5);
    }
    ASSERT_TRUE(here->load_module_state_dict(state));
    ASSERT_TRUE(here->save_checkpoint(dir_, model));
    const auto wanted = outputs_of(*here);
    const fs::path dead = dir_ / (std::string("dead-") + model);
    const auto engine = start_engine(model, 2, true);
    ::setenv(dead_variable, dead.c_str(), 1);
    const auto loaded = engine->load_checkpoint(dir_, model);
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    fs::remove_all(dir_ / model);  // a replacement must not need it
    for (int call = 0; call < 3; ++call) expect_bits(outputs_of(*engine), wanted);
    EXPECT_TRUE(fs::exists(dead)) << "no worker died";
    ::unsetenv(dead_variable);
    expect_equal(get(engine->module_state_dict()), state);
  }
}

/// In its middle.
void flip_a_bit(const fs::path& file) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(fs::file_size(file) / 2);
  bytes.seekg(middle);
  const int byte = bytes.get();
  bytes.seekp(middle);
  bytes.put(static_cast<char>(byte ^ 1));
}

TEST_F(checkpoints, with_a_bit_that_flipped_are_refused) {
  const auto engine = start_engine("file", 2);
  ASSERT_TRUE(engine->save_checkpoint(dir_, "one", {{"epoch", 7}}));
  const std::string check = "cd '" + (dir_ / "one").string() + "' && sha256sum --strict --quiet -c SHA256SUMS";
  ASSERT_EQ(std::system(check.c_str()), 0);
  std::size_t files = 0;
  for (const auto& each : fs::directory_iterator(dir_ / "one")) {
    flip_a_bit(each.path());
    const auto refused = error_of(engine->load_checkpoint(dir_));
    EXPECT_EQ(refused.code, error_code::model_unreadable) << each.path();
    flip_a_bit(each.path());
    ++files;
  }
  EXPECT_GT(files, 3u);
  ASSERT_TRUE(engine->load_checkpoint(dir_));
  flip_a_bit(dir_ / "one/layer_00-model_states.pt");
  const auto refused = error_of(engine->load_checkpoint(dir_));
  EXPECT_THAT(to_string(refused), HasSubstr("layer_00-model_states.pt: its bytes are not those that were saved"));
  EXPECT_THAT(refused.fix, HasSubstr("delete SHA256SUMS"));
  fs::remove(dir_ / "one/SHA256SUMS");
  EXPECT_TRUE(engine->load_checkpoint(dir_)) << "as one of DeepSpeed";
}

TEST_F(checkpoints, load_behind_the_calls_that_are_open) {
  const auto engine = start_engine("file", 2);
  std::vector<eval_future> calls;
  for (int call = 0; call < 4; ++call)
    calls.push_back(
        engine->eval_batch_async(batch_list{some_batches()}, {.return_logits = true, .num_micro_batches = 8}));
  ASSERT_TRUE(engine->load_checkpoint(recorded("checkpoint")));
  const auto after = outputs_of(*engine);
  for (eval_future& each : calls) expect_bits(get(each.get()).logits, plain_outputs("first.pt"));
  expect_bits(after, plain_outputs("second.pt"));
}

TEST_F(checkpoints, that_do_not_fit_leave_the_engine_as_it_is) {
  const auto engine = start_engine("file", 2);
  auto state = get(load_weights(recorded("state.pt")));
  std::erase_if(state, [](const named_tensor& each) { return each.name == "fc.bias"; });
  state.push_back({"other", at::ones({1})});
  const auto strict = error_of(engine->load_module_state_dict(state));
  EXPECT_EQ(strict.code, error_code::weights_do_not_fit);
  EXPECT_THAT(strict.cause, HasSubstr("1 missing: layer 7 (fc Linear): fc.bias [5]"));
  EXPECT_THAT(strict.cause, HasSubstr("1 unexpected: other"));
  expect_bits(outputs_of(*engine), plain_outputs("first.pt"));
  const at::Tensor bias = get(engine->module_state_dict()).back().tensor;
  ASSERT_TRUE(engine->load_module_state_dict(state, false));
  const auto now = get(engine->module_state_dict());
  EXPECT_TRUE(at::equal(now.back().tensor, bias)) << "it keeps its own";
  state.front().tensor = at::ones({2, 2});
  const auto sizes = error_of(engine->load_module_state_dict(state, false));
  EXPECT_THAT(sizes.cause, HasSubstr("layer 0 (conv1 Conv2d): conv1.weight has [2, 2] and not [4, 1, 3, 3]"));
}

/// Its weights are random, and its forward refuses large ones.
struct picky_linear : torch::nn::Module {
  picky_linear() : inner(register_module("inner", torch::nn::Linear(36, 5))) {}
  at::Tensor forward(const at::Tensor& x) {
    if (inner->weight.max().item<float>() > 100) throw std::runtime_error("weights are too large");
    return inner->forward(x.flatten(1));
  }
  torch::nn::Linear inner;
};

TEST_F(checkpoints, that_do_not_start_leave_layers_in_code_as_they_were) {
  const auto kept = std::make_shared<picky_linear>();
  for (const bool is_kept : {false, true}) {
    const auto build = [&] { return is_kept ? kept : std::make_shared<picky_linear>(); };
    const auto engine =
        get(pipeline_engine::create(pipeline_module{.layers = {layer_spec("Picky", build)}, .loss_fn = mean_of},
                                    {.run = {.threads = 1}, .sample = some_batches().front().inputs}));
    const auto before = get(engine->module_state_dict());
    const auto wanted = outputs_of(*engine);
    auto large = before;
    for (named_tensor& each : large) each.tensor = each.tensor.add(1000);
    const auto refused = error_of(engine->load_module_state_dict(large));
    EXPECT_THAT(to_string(refused), HasSubstr("weights are too large"));
    expect_equal(get(engine->module_state_dict()), before);
    expect_bits(outputs_of(*engine), wanted);
  }
}

TEST_F(checkpoints, that_are_damaged_are_told) {
  const auto engine = start_engine("file", 1);
  const fs::path dir = copy();
  const auto file = dir / "step2/layer_03-model_states.pt";
  const auto refused = [&](const std::string& tag = {}) { return error_of(engine->load_checkpoint(dir, tag)); };
  EXPECT_EQ(refused("step3").code, error_code::model_missing);
  EXPECT_THAT(refused("step3").fix, HasSubstr("step2"));
  EXPECT_EQ(refused("../copy/step2").code, error_code::value_out_of_range);
  EXPECT_EQ(refused("..").code, error_code::value_out_of_range);
  fs::rename(file, dir / "step2/layer_08-model_states.pt");
  EXPECT_THAT(refused().cause, HasSubstr("has a layer 8 (layers count from 0), and the model has 8 layers"));
  fs::rename(dir / "step2/layer_08-model_states.pt", file);
  fs::rename(file, dir / "kept");
  EXPECT_THAT(refused().cause, HasSubstr("5 missing: layer 3 (layer1.0 Block): layer1.0.conv1.weight"));
  // os.system("true"), in the older format
  std::ofstream(file, std::ios::binary) << "\x80\x02"
                                        << "cos\nsystem\nX\x04" << std::string(3, '\0') << "true\x85R.";
  EXPECT_EQ(refused().code, error_code::model_has_effects) << to_string(refused());
  fs::rename(dir / "kept", file);
  fs::copy(file, dir / "kept");
  fs::resize_file(file, fs::file_size(file) / 2);
  EXPECT_EQ(refused().code, error_code::model_truncated);
  fs::rename(dir / "kept", file);
  fs::rename(file, dir / "step2/layer_03-model_01-model_states.pt");
  EXPECT_THAT(refused().cause, HasSubstr("model axis (model_01)"));
  fs::rename(dir / "step2/layer_03-model_01-model_states.pt", file);
  fs::resize_file(dir / "step2/mp_rank_00_model_states.pt", 100);
  EXPECT_EQ(refused().code, error_code::model_truncated);
  EXPECT_THAT(refused().where, HasSubstr("mp_rank_00_model_states.pt"));
  std::ofstream(dir / "latest") << "../step2";
  EXPECT_EQ(refused().code, error_code::model_unreadable);
  fs::remove(dir / "latest");
  EXPECT_EQ(refused().code, error_code::model_missing);
  EXPECT_THAT(refused().fix, HasSubstr("step2"));
  expect_bits(outputs_of(*engine), plain_outputs("first.pt"));
}

TEST_F(checkpoints, are_read_by_pytorch) {
  const std::string python =
      environment("TROUPE_TORCH_PYTHON").empty() ? "python3" : environment("TROUPE_TORCH_PYTHON");
  if (std::system((python + " -c 'import torch' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "python3 has no torch: name a Python that has it in TROUPE_TORCH_PYTHON";
  const auto engine = start_engine("file", 2);
  ASSERT_TRUE(engine->load_checkpoint(recorded("checkpoint")));
  const client_state state{{"epoch", 7}, {"list", client_value::list{1, 2.5, "x", true, {}}}, {"mean", at::arange(3)}};
  ASSERT_TRUE(engine->save_checkpoint(dir_, "ours", state));
  const std::string command = python + " " + recorded("check.py").string() + " " + dir_.string() + " ours";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  const troupe::program here(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    static_cast<void>(troupe::testing::make_engine(troupe::testing::choice_of_environment()));
    return 1;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
