// Goal: the class trainer takes samples in the order that it promises, each once in an epoch, goes on from a
// checkpoint where it stood, tells what it does, and stops when it is told. Method: layers of C++ code whose loss says
// which samples a step had; a training_engine on batches of the same samples; data sets that fail or count.
#include <filesystem>
#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include <troupe/trainer.hpp>
#include <troupe/training_engine.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

/// Sample i is (1, i), and its label 0.
class numbered_samples final : public data_set {
 public:
  explicit numbered_samples(std::uint64_t count, std::optional<std::uint64_t> bad = std::nullopt)
      : count_(count), bad_(bad) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return count_; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {2}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return "numbered"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    if (bad_ && range.begin <= *bad_ && *bad_ < range.end) {
      return fail(error_code::data_bad_format, "numbered", "sample " + std::to_string(*bad_) + " is damaged",
                  "mend it");
    }
    const auto first = static_cast<std::int64_t>(range.begin);
    const auto end = static_cast<std::int64_t>(range.end);
    const at::Tensor numbers = at::arange(first, end, at::kFloat);
    return sample_block{at::stack({at::ones_like(numbers), numbers}, 1), at::zeros_like(numbers).unsqueeze(1)};
  }

 private:
  std::uint64_t count_;
  std::optional<std::uint64_t> bad_;
};

pipeline_module line() {
  return {.layers = {layer_spec("Linear", [] { return torch::nn::Linear(2, 3); }),
                     layer_spec::function("Tanh", [](const at::Tensor& x) { return torch::tanh(x); }),
                     layer_spec("Linear", [] { return torch::nn::Linear(3, 1); })},
          .num_stages = 2};
}

/// The loss of a step says which samples it had.
train_objects telling(std::uint64_t samples) {
  train_objects made;
  made.module = pipeline_module{
      .layers = {layer_spec::function("Number", [](const at::Tensor& x) { return x.narrow(1, 1, 1).clone(); }),
                 layer_spec("Linear", [] { return torch::nn::Linear(1, 1); }),
                 layer_spec::function("Both", [](const at::Tensor& x) { return x; })},
      .num_stages = 1};
  made.data = std::make_shared<numbered_samples>(samples);
  return made;
}

train_options options_of(std::uint64_t epochs) {
  train_options made;
  made.loss = "mse";
  made.epochs = epochs;
  made.lr = 0.001;
  made.optimizer.momentum = 0.9;
  made.num_micro_batches = 2;
  made.run.micro_batch = 4;
  made.run.threads = 1;
  made.run.log.level = log_level::error;
  return made;
}

train_objects objects_of(data_set_ptr data) {
  train_objects made;
  made.module = line();
  made.data = std::move(data);
  return made;
}

train_result trained(const train_options& options, const train_objects& objects, train_hooks hooks = {}) {
  auto made = trainer::create(options, std::move(hooks), objects);
  EXPECT_TRUE(made) << to_string(made.error());
  if (!made) return {};
  auto result = (*made)->run();
  EXPECT_TRUE(result) << to_string(result.error());
  if (!result) return {};
  EXPECT_EQ(result->weights_sha256, weights_sha256((*made)->weights()));
  return std::move(*result);
}

error refused(const train_options& options, const train_objects& objects) {
  const auto made = trainer::create(options, {}, objects);
  EXPECT_FALSE(made);
  return made ? error{} : made.error();
}

class folder_of_checkpoints {
 public:
  folder_of_checkpoints() {
    std::string name = (fs::temp_directory_path() / "test-trainer-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  folder_of_checkpoints(const folder_of_checkpoints&) = delete;
  folder_of_checkpoints& operator=(const folder_of_checkpoints&) = delete;
  ~folder_of_checkpoints() { fs::remove_all(path_); }
  [[nodiscard]] std::string path() const { return (path_ / "saved").string(); }

 private:
  fs::path path_;
};

TEST(trainer, in_order_is_an_engine_on_the_same_batches) {
  const auto data = std::make_shared<numbered_samples>(21);
  train_options options = options_of(2);
  options.order = data_order::sequential;
  const train_result result = trained(options, objects_of(data));
  EXPECT_EQ(result.steps, 6U);
  EXPECT_EQ(result.samples, 42U);
  EXPECT_EQ(result.micro_batches, 12U);

  training_engine_options how;
  how.training.loss = training_loss_options{.kind = loss_kind::mse};
  how.training.optimizer.momentum = 0.9;
  how.training.learning_rate = [](std::uint64_t) { return 0.001; };
  how.training.num_micro_batches = 2;
  how.pipeline.run.threads = 1;
  const auto engine = get(training_engine::create(line(), how));
  std::vector<double> losses;
  for (int epoch = 0; epoch < 2; ++epoch) {
    engine->set_dataiterator([data, next = std::uint64_t{0}]() mutable -> std::optional<batch> {
      if (next == data->size()) return std::nullopt;
      const std::uint64_t begin = std::exchange(next, std::min<std::uint64_t>(next + 4, data->size()));
      return get(data->read({begin, next}));
    });
    for (int step = 0; step < 3; ++step) losses.push_back(get(engine->train_batch()).loss);
  }
  EXPECT_EQ(result.losses, losses);
  EXPECT_EQ(result.weights_sha256, weights_sha256(get(engine->module_state_dict())));
}

/// With a learning rate that changes nothing, the losses of an epoch's steps add up to those of its samples.
TEST(trainer, shuffled_has_each_sample_once_in_each_epoch_and_another_order) {
  train_options options = options_of(3);
  options.lr = 1e-30;
  options.num_micro_batches = 1;
  options.run.micro_batch = 1;
  const train_result result = trained(options, telling(16));
  options.order = data_order::sequential;
  options.epochs = 1;
  const train_result in_order = trained(options, telling(16));
  ASSERT_EQ(result.losses.size(), 48U);
  const std::multiset<double> wanted(in_order.losses.begin(), in_order.losses.end());
  EXPECT_EQ(std::set<double>(wanted.begin(), wanted.end()).size(), 16U) << "each sample has a loss of its own";
  std::set<std::vector<double>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const std::vector<double> each(result.losses.begin() + 16 * epoch, result.losses.begin() + 16 * (epoch + 1));
    EXPECT_EQ(std::multiset<double>(each.begin(), each.end()), wanted);
    orders.insert(each);
  }
  EXPECT_EQ(orders.size(), 3U);
}

TEST(trainer, gives_the_same_bits_with_readers_ahead_and_evaluations_between) {
  const auto data = std::make_shared<numbered_samples>(50);
  const train_result alone = trained(options_of(4), objects_of(data));
  train_options other = options_of(4);
  other.run.data_workers = 3;
  other.eval_every = 3;
  other.metrics = {"mse"};
  train_objects objects = objects_of(data);
  objects.eval_data = std::make_shared<numbered_samples>(10);
  const train_result result = trained(other, objects);
  EXPECT_EQ(result.losses, alone.losses);
  EXPECT_EQ(result.weights_sha256, alone.weights_sha256);
  ASSERT_EQ(result.evaluations.size(), 10U);
  EXPECT_EQ(result.evaluations[9].step, 28U) << "the last step is evaluated, too";
  EXPECT_EQ(result.evaluations[0].samples, 10U);
}

TEST(trainer, goes_on_in_the_middle_of_an_epoch_with_losses_and_evaluations) {
  const folder_of_checkpoints folder;
  const auto data = std::make_shared<numbered_samples>(30);
  train_objects objects = objects_of(data);
  objects.eval_data = data;
  train_options options = options_of(2);
  options.metrics = {"mse"};
  options.eval_every = 3;
  const train_result whole = trained(options, objects);
  options.save = folder.path();
  options.epochs.reset();
  options.steps = 6;
  const train_result first = trained(options, objects);
  options.steps.reset();
  options.epochs = 2;
  EXPECT_EQ(refused(options, objects).code, error_code::flags_contradict) << "it has a training already";
  options.resume = true;
  options.replicas = 2;
  const train_result rest = trained(options, objects);
  EXPECT_EQ(rest.steps_before, 6U);
  EXPECT_EQ(rest.losses, whole.losses);
  EXPECT_EQ(rest.learning_rates, whole.learning_rates);
  EXPECT_EQ(rest.weights_sha256, whole.weights_sha256);
  ASSERT_EQ(rest.evaluations.size(), whole.evaluations.size());
  for (std::size_t i = 0; i < whole.evaluations.size(); ++i) {
    EXPECT_EQ(rest.evaluations[i].step, whole.evaluations[i].step);
    EXPECT_EQ(rest.evaluations[i].metrics[0].value(), whole.evaluations[i].metrics[0].value());
  }
  const train_result again = trained(options, objects);
  EXPECT_EQ(again.samples, 0U) << "all is done";
  EXPECT_EQ(again.weights_sha256, whole.weights_sha256);
}

TEST(trainer, does_not_go_on_with_other_data_orders_or_seeds) {
  const folder_of_checkpoints folder;
  train_options options = options_of(1);
  options.save = folder.path();
  trained(options, objects_of(std::make_shared<numbered_samples>(8)));
  options.resume = true;
  options.epochs = 2;
  EXPECT_EQ(refused(options, objects_of(std::make_shared<numbered_samples>(9))).code, error_code::flags_contradict);
  train_options other = options;
  other.seed = 5;
  EXPECT_EQ(refused(other, objects_of(std::make_shared<numbered_samples>(8))).code, error_code::flags_contradict);
  other = options;
  other.order = data_order::sequential;
  EXPECT_EQ(refused(other, objects_of(std::make_shared<numbered_samples>(8))).where, "order");
}

TEST(trainer, stops_between_steps_and_saves) {
  const folder_of_checkpoints folder;
  train_options options = options_of(1000);
  options.save = folder.path();
  const auto objects = objects_of(std::make_shared<numbered_samples>(30));
  trainer* stopped = nullptr;
  std::vector<std::uint64_t> told;
  const auto made = get(trainer::create(options,
                                        {.on_progress =
                                             [&](const train_progress& now) {
                                               told.push_back(now.steps_done);
                                               EXPECT_EQ(now.steps_total, 4000U);
                                               if (now.steps_done == 6) stopped->request_stop(stop_kind::drain);
                                             },
                                         .on_log = nullptr},
                                        objects));
  stopped = made.get();
  const train_result result = get(made->run());
  EXPECT_TRUE(result.partial);
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].code, error_code::interrupted);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(result.steps, 6U);
  EXPECT_TRUE(fs::exists(fs::path(folder.path()) / "global_step6"));
  EXPECT_EQ(made->run().error().code, error_code::engine_stopped);
}

/// A data set that tells when it is asked how large it is.
class noticing_samples final : public data_set {
 public:
  noticing_samples(std::uint64_t count, std::function<void()> notice) : inner_(count), notice_(std::move(notice)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return notice_(), inner_.size(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return inner_.sample_shape(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return "noticing"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override { return inner_.read(range); }

 private:
  numbered_samples inner_;
  std::function<void()> notice_;
};

TEST(trainer, stops_an_evaluation_that_is_about_to_begin) {
  train_options options = options_of(1000);
  options.eval_every = 1;
  options.metrics = {"mse"};
  trainer* stopped = nullptr;
  train_objects objects = objects_of(std::make_shared<numbered_samples>(30));
  objects.eval_data = std::make_shared<noticing_samples>(10, [&] {
    if (stopped != nullptr) stopped->request_stop(stop_kind::now);
  });
  const auto made = get(trainer::create(options, {}, objects));
  stopped = made.get();
  const train_result result = get(made->run());
  EXPECT_EQ(result.steps, 1U);
  EXPECT_TRUE(result.evaluations.empty());
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].code, error_code::interrupted);
}

TEST(trainer, an_error_of_the_data_keeps_its_code_and_the_steps_before) {
  train_options options = options_of(1);
  options.order = data_order::sequential;
  const auto made = get(trainer::create(options, {}, objects_of(std::make_shared<numbered_samples>(30, 20))));
  const train_result result = get(made->run());
  EXPECT_TRUE(result.partial);
  EXPECT_EQ(result.steps, 2U);
  ASSERT_FALSE(result.errors.empty());
  EXPECT_EQ(result.errors[0].code, error_code::data_bad_format) << to_string(result.errors[0]);
}

TEST(trainer, refuses_options_that_contradict_each_other) {
  const auto objects = objects_of(std::make_shared<numbered_samples>(8));
  train_options both = options_of(1);
  both.steps = 3;
  EXPECT_EQ(refused(both, objects).where, "epochs");
  train_options none = options_of(1);
  none.epochs.reset();
  EXPECT_EQ(refused(none, objects).code, error_code::missing_flag);
  train_options named = options_of(1);
  named.model = "model.pt";
  EXPECT_EQ(refused(named, objects).where, "model");
  train_options patient = options_of(1);
  patient.patience = 2;
  EXPECT_EQ(refused(patient, objects).where, "patience");
  train_options without_end = options_of(1);
  without_end.run.deadline = std::chrono::nanoseconds::max();
  EXPECT_EQ(refused(without_end, objects).where, "deadline");
  EXPECT_EQ(refused(options_of(1), objects_of(nullptr)).code, error_code::missing_flag);
  EXPECT_EQ(refused(options_of(1), objects_of(std::make_shared<numbered_samples>(0))).code, error_code::data_empty);
}

}  // namespace
}  // namespace troupe::testing
