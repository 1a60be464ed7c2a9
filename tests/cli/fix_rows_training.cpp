#include "tests/cli/fix_rows.hpp"

namespace troupe::testing {
namespace {

words train_good(const words& more, const std::string& loss = "nll") {
  words all = {"train", "--model", "good.pt", "--data", "mnist:good-mnist", "--loss", loss, "--micro-batch", "2"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
words two_steps(const words& more) {
  words all = train_good({"--steps", "2"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
words train_stories(const words& more) {
  words all = {"train",
               "--model",
               "@/data/text/language",
               "--data",
               "text:@/data/text/stories.txt,tokenizer=@/data/text/language",
               "--steps",
               "1",
               "--micro-batch",
               "2"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
words train_houses(const words& more) {
  words all = {"train", "--model", "@/data/houses/houses.pt", "--data", "csv:kind.csv,target=price", "--steps", "1"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
words train_resnet(const words& model) {
  words all = {"train", "--data", "cifar10:cifar.bin", "--steps", "1"};
  all.insert(all.end(), model.begin(), model.end());
  return all;
}
const std::string weights_of_resnet = "@/data/cifar10/resnet20.th";
const std::string exported = "@/data/cifar10/resnet20.pt";

const std::vector<followed_fix> option_rows = {
    {.name = "train_end",
     .code = "E0105",
     .arguments = train_good({}),
     .fix = "--steps N, --epochs N",
     .then = train_good({"--epochs", "2"})},
    {.name = "train_two_ends",
     .code = "E0104",
     .arguments = two_steps({"--epochs", "2"}),
     .fix = "leave out one of steps and epochs",
     .then = two_steps({})},
    {.name = "train_arch_beside_a_model",
     .code = "E0104",
     .arguments = train_resnet({"--model", exported, "--arch", "resnet20-cifar"}),
     .fix = "leave out --model or --arch",
     .then = train_resnet({"--model", exported})},
    {.name = "train_arch_without_weights",
     .code = "E0105",
     .arguments = train_resnet({"--arch", "resnet20-cifar"}),
     .fix = "add --weights FILE",
     .then = train_resnet({"--arch", "resnet20-cifar", "--weights", weights_of_resnet})},
    {.name = "train_weights_without_a_model",
     .code = "E0105",
     .arguments = train_resnet({"--weights", weights_of_resnet}),
     .fix = "add --arch NAME",
     .then = train_resnet({"--weights", weights_of_resnet, "--arch", "resnet20-cifar"})},
    {.name = "train_metrics_of_nothing",
     .code = "E0104",
     .arguments = two_steps({"--metrics", "nll"}),
     .fix = "add --eval-data KIND:PATH",
     .then = two_steps({"--metrics", "nll", "--eval-data", "mnist:good-mnist"})},
    {.name = "train_evaluations_of_nothing",
     .code = "E0104",
     .arguments = two_steps({"--eval-every", "1"}),
     .fix = "add --eval-data KIND:PATH",
     .then = two_steps({"--eval-every", "1", "--eval-data", "mnist:good-mnist"})},
    {.name = "train_resumes_nothing",
     .code = "E0104",
     .arguments = two_steps({"--resume"}),
     .fix = "add --save DIR",
     .then = two_steps({"--resume", "--save", "saved"})},
    {.name = "train_momentum_of_adam",
     .code = "E0104",
     .arguments = two_steps({"--optimizer", "adam", "--momentum", "0.9"}),
     .fix = "leave it out, or train with --optimizer sgd",
     .then = two_steps({"--optimizer", "sgd", "--momentum", "0.9"})},
    {.name = "train_betas_of_sgd",
     .code = "E0104",
     .arguments = two_steps({"--betas", "0.9,0.99"}),
     .fix = "train with --optimizer adamw",
     .then = two_steps({"--betas", "0.9,0.99", "--optimizer", "adamw"})},
    {.name = "train_nesterov_without_momentum",
     .code = "E0103",
     .arguments = two_steps({"--nesterov"}),
     .fix = "set momentum to 0.9 and dampening to 0",
     .then = two_steps({"--nesterov", "--momentum", "0.9", "--dampening", "0"})},
    {.name = "train_betas_of_one",
     .code = "E0103",
     .arguments = two_steps({"--optimizer", "adam", "--betas", "0.9"}),
     .fix = "--betas 0.9,0.999",
     .then = two_steps({"--optimizer", "adam", "--betas", "0.9,0.999"})},
    {.name = "train_schedule_without_total",
     .code = "E0103",
     .arguments = two_steps({"--schedule", "cosine"}),
     .fix = "write cosine:total=1000",
     .then = two_steps({"--schedule", "cosine:total=1000"})},
    {.name = "train_schedule_with_an_empty_option",
     .code = "E0102",
     .arguments = two_steps({"--schedule", "constant:"}),
     .fix = "use one of: warmup, from",
     .then = two_steps({"--schedule", "constant:warmup=2"})},
    {.name = "train_protection",
     .code = "E0103",
     .arguments = two_steps({"--protect", "checkpoint"}),
     .fix = "write checkpoint:100",
     .then = two_steps({"--protect", "checkpoint:100"})},
};

const std::vector<followed_fix> run_rows = {
    {.name = "train_into_a_folder_with_checkpoints",
     .code = "E0104",
     .arguments = two_steps({"--save", "saved"}),
     .fix = "go on with it (--resume), or name another folder",
     .then = two_steps({"--save", "saved", "--resume"}),
     .before = {two_steps({"--save", "saved"})}},
    {.name = "train_with_another_seed",
     .code = "E0104",
     .arguments = train_good({"--steps", "3", "--save", "saved", "--resume", "--seed", "1"}),
     .fix = "give what the training was begun with",
     .then = train_good({"--steps", "3", "--save", "saved", "--resume"}),
     .before = {two_steps({"--save", "saved"})}},
    {.name = "train_weights_into_a_folder",
     .code = "E0611",
     .arguments = two_steps({"--save-weights", "empty-directory"}),
     .fix = "choose another place",
     .then = two_steps({"--save-weights", "empty-directory/weights.safetensors"})},
    {.name = "train_on_several_labels",
     .code = "E0603",
     .arguments = train_stories({}),
     .fix = "choose one, --score-label NAME",
     .then = train_stories({"--score-label", "labels"})},
    {.name = "train_classes_on_numbers",
     .code = "E0603",
     .arguments = train_houses({}),
     .fix = "take a loss for numbers (--loss mse)",
     .then = train_houses({"--loss", "mse"})},
    {.name = "train_numbers_on_classes",
     .code = "E0603",
     .arguments = train_good({"--steps", "1"}, "mse"),
     .fix = "take a loss for classes (--loss cross_entropy)",
     .then = train_good({"--steps", "1"}, "cross_entropy")},
    {.name = "train_with_weights_of_other_classes",
     .code = "E0603",
     .arguments = train_good({"--steps", "1"}, "nll:class_weights=1,2"),
     .fix = "give one weight for each class",
     .then = train_good({"--steps", "1"}, "nll:class_weights=1,2,1,1,1,1,1,1,1,1")},
};

}  // namespace

std::vector<followed_fix> training_fixes() {
  std::vector<followed_fix> all = option_rows;
  all.insert(all.end(), run_rows.begin(), run_rows.end());
  return all;
}

}  // namespace troupe::testing
