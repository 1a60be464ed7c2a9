#include "runtime/config/option_table.hpp"
#include "tests/cli/bad_input.hpp"

namespace troupe::testing {
namespace {

using words = std::vector<std::string>;

/// A command that is good as it stands, and what makes it bad.
words eval_with(const words& more) {
  words all = {"eval", "--model", "good.pt", "--data", "mnist:good-mnist"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
words eval_model(const std::string& file) {
  return {"eval", "--model", file, "--data", "mnist:good-mnist"};
}
words eval_data(const std::string& data) {
  return {"eval", "--model", "good.pt", "--data", data};
}
words plan_weights(const std::string& weights, const words& more) {
  words all = {"plan", "--layer-weights", weights};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

constexpr int usage = 2;
constexpr int input = 3;

const std::vector<bad_input> commands = {
    {"no_command", {}, {}, usage, "", "Usage: troupe COMMAND"},
    {"unknown_command", {"evl"}, {}, usage, "E0101", "write \"eval\""},
    {"strange_command", {"transmogrify"}, {}, usage, "E0101", "use one of: eval, train, plan"},
    {"flag_before_command", {"--json", "eval"}, {}, usage, "E0101", "--json"},
    {"unknown_flag", eval_with({"--stgaes", "2"}), {}, usage, "E0101", "write --stages"},
    {"unknown_flag_with_value", eval_with({"--microbatch=2"}), {}, usage, "E0101", "write --micro-batch"},
    {"strange_flag", eval_with({"--quantum"}), {}, usage, "E0101", "--quantum"},
    {"positional_argument", eval_with({"extra"}), {}, usage, "E0101", "extra"},
    {"positional_model", {"eval", "mlp.pt"}, {}, usage, "E0101", "write --model mlp.pt"},
    {"braces_of_the_shell",
     {"eval", "--model", "good.pt", "--data", "webdataset:val-0.tar", "webdataset:val-1.tar"},
     {},
     usage,
     "E0101",
     "in single quotes"},
    {"flag_without_value", eval_with({"--stages"}), {}, usage, "E0103", "--stages"},
    {"flag_twice", eval_with({"--stages", "1", "--stages", "2"}), {}, usage, "E0104", "more than once"},
    {"toggle_twice", eval_with({"--json", "--json"}), {}, usage, "E0104", "--json: is given more than once"},
    {"no_model", {"eval", "--data", "mnist:good-mnist"}, {}, usage, "E0105", "add --model FILE"},
    {"no_data", {"eval", "--model", "good.pt"}, {}, usage, "E0105", "add --data KIND:PATH"},
    {"schedule_without_kind", {"schedule", "--micro-batches", "2", "--stages", "2"}, {}, usage, "E0105", "--kind"},
    {"schedule_kind",
     {"schedule", "--kind", "trian", "--micro-batches", "2", "--stages", "2"},
     {},
     usage,
     "E0102",
     "trian"},
    {"schedule_zero",
     {"schedule", "--kind", "train", "--micro-batches", "0", "--stages", "2"},
     {},
     usage,
     "E0103",
     "--micro-batches"},
    {"schedule_huge",
     {"schedule", "--kind", "train", "--micro-batches", "4000000", "--stages", "1000"},
     {},
     usage,
     "E0103",
     ""},
    {"explain_unknown", {"explain", "E9999"}, {}, usage, "E0107", "E9999"},
    {"explain_word", {"explain", "please"}, {}, usage, "E0107", "please"},
    {"simulate_without_seeds", {"simulate"}, {}, usage, "E0105", "--seeds"},
    {"simulate_word", {"simulate", "--seeds", "many"}, {}, usage, "E0103", "not of the form A..B"},
    {"simulate_half", {"simulate", "--seeds", "3.."}, {}, usage, "E0103", "not of the form A..B"},
    {"simulate_negative", {"simulate", "--seeds", "-3..4"}, {}, usage, "E0103", "not of the form A..B"},
    {"simulate_beyond_all", {"simulate", "--seeds", "0..99999999999999999999"}, {}, usage, "E0103", "A..B"},
    {"simulate_backwards", {"simulate", "--seeds", "9..3"}, {}, usage, "E0103", "ends before it begins"},
    {"simulate_too_many", {"simulate", "--seeds", "0..1000000"}, {}, usage, "E0103", "more than 1000000 seeds"},
    {"train_momentum_of_adam",
     {"train", "--model", "net.pt", "--data", "mnist:data", "--steps", "1", "--optimizer", "adam", "--momentum", "0.9"},
     {},
     usage,
     "E0104",
     "--momentum: adam and adamw have no such option"},
    {"train_betas_of_sgd",
     {"train", "--model", "net.pt", "--data", "mnist:data", "--steps", "1", "--betas", "0.9,0.99"},
     {},
     usage,
     "E0104",
     "--betas: sgd has no such option"},
    {"simulate_two_kinds",
     {"simulate", "--seeds", "3..3", "--train", "--large"},
     {},
     usage,
     "E0103",
     "exclude each other"},
    {"simulate_no_such_fault",
     {"simulate", "--seeds", "3..3", "--faults", "0,77"},
     {},
     usage,
     "E0103",
     "no number of a fault"},
    {"inspect_nothing", {"inspect"}, {}, usage, "E0105", "MODEL"},
    {"doctor_flag", {"doctor", "--fix"}, {}, usage, "E0101", "--fix"},
};

const std::vector<bad_input> values = {
    {"stages_zero", eval_with({"--stages", "0"}), {}, usage, "E0103", "0, expected a whole number from 1 to 1024"},
    {"stages_more_than_layers", eval_with({"--stages", "16"}), {}, usage, "E0106", "15"},
    {"replicas_huge", eval_with({"--replicas", "100000"}), {}, usage, "E0103", "--replicas"},
    {"micro_batch_zero", eval_with({"--micro-batch", "0"}), {}, usage, "E0103", "--micro-batch"},
    {"micro_batch_negative", eval_with({"--micro-batch", "-1"}), {}, usage, "E0103", "-1"},
    {"micro_batch_huge", eval_with({"--micro-batch", "99999999999999999999"}), {}, usage, "E0103", "--micro-batch"},
    {"micro_batch_word", eval_with({"--micro-batch", "many"}), {}, usage, "E0103", "\"many\""},
    {"micro_batch_fraction", eval_with({"--micro-batch", "1.5"}), {}, usage, "E0103", "\"1.5\""},
    {"threads_zero", eval_with({"--threads", "0"}), {}, usage, "E0103", "expected auto or a whole number"},
    {"threads_word", eval_with({"--threads", "abc"}), {}, usage, "E0103", "\"abc\""},
    {"buffers_zero", eval_with({"--num-pipe-buffers", "0"}), {}, usage, "E0103", "--num-pipe-buffers"},
    {"limit_zero", eval_with({"--limit", "0"}), {}, usage, "E0103", "--limit"},
    {"deadline_zero", eval_with({"--deadline", "0"}), {}, usage, "E0103", "--deadline"},
    {"deadline_nan", eval_with({"--deadline", "nan"}), {}, usage, "E0103", "nan"},
    {"optimize_unknown", eval_with({"--optimize", "grahp"}), {}, usage, "E0102", "\"graph\""},
    {"metric_unknown", eval_with({"--metrics", "acuracy"}), {}, usage, "E0102", "accuracy"},
    {"metric_empty", eval_with({"--metrics", ""}), {}, usage, "E0103", "--metrics: is empty"},
    {"metric_without_name", eval_with({"--metrics", "nll,"}), {}, usage, "E0102", "--metrics"},
    {"empty_inspect_data", {"inspect", "good.pt", "--data", ""}, {}, usage, "E0103", "--data: is empty"},
    {"empty_inspect_model", {"inspect", ""}, {}, usage, "E0103", "MODEL: is empty"},
    {"empty_plan_svg", {"plan", "--model", "good.pt", "--svg="}, {}, usage, "E0103", "--svg: is empty"},
    {"empty_config", eval_with({"--config", ""}), {}, usage, "E0103", "--config: is empty"},
    {"metric_twice", eval_with({"--metrics", "nll,nll"}), {}, usage, "E0103", "named twice"},
    {"data_kind", eval_data("minst:good-mnist"), {}, usage, "E0102", "\"mnist\""},
    {"data_kind_of_another_number",
     eval_data("cifar1000:good"),
     {},
     usage,
     "E0102",
     "use one of: mnist, cifar10, cifar100, imagefolder"},
    {"data_without_kind", eval_data("good-mnist"), {}, usage, "E0102", "KIND:PATH"},
    {"data_archive", eval_data("inputs.npz"), {}, usage, "E0102", "write npz:inputs.npz"},
    {"data_archive_is_missing", eval_data("npz:inputs.npz"), {}, input, "E0301", "inputs.npz"},
    {"data_list_with_comma", eval_data("imagefolder:pictures,crop=40,32"), {}, usage, "E0103", "as in NAME=A+B"},
    {"data_without_path", eval_data("mnist:"), {}, usage, "E0103", "no path"},
    {"partition_unknown", eval_with({"--partition", "unifrom"}), {}, usage, "E0102", "uniform"},
    {"partition_regex", eval_with({"--partition", "type:("}), {}, usage, "E0103", "--partition"},
    {"partition_no_match", eval_with({"--partition", "type:LSTM"}), {}, usage, "E0511", "LSTM"},
    {"partition_not_increasing", eval_with({"--partition", "0,5,5", "--stages", "2"}), {}, usage, "E0512", "5"},
    {"partition_beyond_the_end", eval_with({"--partition", "0,5,99", "--stages", "2"}), {}, usage, "E0512", "99"},
    {"partition_other_stages", eval_with({"--partition", "0,5,15", "--stages", "3"}), {}, usage, "E0104", "3"},
    {"trace_without_output", eval_with({"--trace"}), {}, usage, "E0104", "add --output DIR"},
    {"resume_without_journal", eval_with({"--resume"}), {}, usage, "E0104", "add --journal FILE"},
    {"journal_is_missing", eval_with({"--journal", "nowhere.journal", "--resume"}), {}, input, "E0804", "nowhere"},
    {"journal_exists", eval_with({"--journal", "blocked"}), {}, 1, "E0803", "add --resume"},
    {"journal_is_none", eval_with({"--journal", "blocked", "--resume"}), {}, input, "E0802", "blocked"},
    {"journal_below_a_file", eval_with({"--journal", "blocked/below"}), {}, 1, "E0803", "Not a directory"},
    {"plan_without_slots",
     {"plan", "--model", "good.pt", "--stages", "2", "--hostfile", "one_slot"},
     {},
     usage,
     "E0103",
     "2 stage replicas, and 1 slots"},
    {"plan_without_hostfile", {"plan", "--model", "good.pt", "--include", "w0"}, {}, usage, "E0105", "--hostfile"},
    {"weights_and_model",
     plan_weights("1,2", {"--model", "good.pt"}),
     {},
     usage,
     "E0104",
     "--layer-weights and --model"},
    {"weights_and_replicas",
     plan_weights("1,2", {"--replicas", "2"}),
     {},
     usage,
     "E0104",
     "--layer-weights and --replicas"},
    {"weights_and_svg", plan_weights("1,2", {"--svg", "x.svg"}), {}, usage, "E0104", "--layer-weights and --svg"},
    {"weights_and_nodes",
     plan_weights("1,2", {"-H", "one_slot"}),
     {},
     usage,
     "E0104",
     "--layer-weights and --hostfile"},
    {"plan_with_trace",
     {"plan", "--model", "good.pt", "--trace"},
     {},
     usage,
     "E0101",
     "--trace: it changes nothing in troupe plan"},
    {"plan_with_journal", {"plan", "--model", "good.pt", "--journal=j"}, {}, usage, "E0101", "--journal"},
    {"weights_word", plan_weights("1,two", {}), {}, usage, "E0513", "two"},
    {"weights_negative", plan_weights("1,-2", {}), {}, usage, "E0513", "-2"},
    {"weights_method", plan_weights("1,2", {"--partition", "profil"}), {}, usage, "E0102", "profil"},
    {"plan_profile_without_data",
     {"plan", "--model", "good.pt", "--partition", "profile"},
     {},
     usage,
     "E0105",
     "--data"},
    {"output_is_a_file", eval_with({"--output", "blocked"}), {}, 1, "E0611", "blocked"},
    {"output_below_a_file", eval_with({"--output", "blocked/below"}), {}, 1, "E0611", "Not a directory"},
    {"log_format_unknown", eval_with({"--log-format", "jsno"}), {}, usage, "E0102", "write \"json\""},
    {"log_level_unknown", eval_with({"--log-level", "warn"}), {}, usage, "E0102", "write \"warning\""},
    {"log_in_no_directory", eval_with({"--log", "nowhere/run.log"}), {}, 1, "E0611", "nowhere/run.log"},
    {"log_is_a_directory", eval_with({"--log", "."}), {}, 1, "E0611", "Is a directory"},
    {"log_before_the_model",
     {"eval", "--model", "none.pt", "--data", "mnist:none", "--log", "blocked/x"},
     {},
     1,
     "E0611",
     "Not a directory"},
    {"variable_word", eval_with({}), {"TROUPE_STAGES=two"}, usage, "E0103", "TROUPE_STAGES"},
    {"variable_metric", eval_with({}), {"TROUPE_METRICS=acuracy"}, usage, "E0102", "TROUPE_METRICS"},
};

const std::vector<bad_input> files = {
    {"model_missing", eval_model("nowhere.pt"), {}, input, "E0201", "nowhere.pt"},
    {"model_directory", eval_model("directory.pt"), {}, input, "E0202", "directory"},
    {"model_truncated", eval_model("truncated.pt"), {}, input, "E0203", "truncated.pt"},
    {"model_empty", eval_model("empty.pt"), {}, input, "E0203", "empty"},
    {"model_state_dict", eval_model("@/cifar10/resnet20_dict.pt"), {}, input, "E0204", "state dict"},
    {"model_ordered_dict", eval_model("@/cifar10/resnet20_ordered.pt"), {}, input, "E0204", "state dict"},
    {"model_legacy_pickle", eval_model("legacy.pt"), {}, input, "E0205", "legacy"},
    {"model_lfs_pointer", eval_model("pointer.pt"), {}, input, "E0206", "git-lfs"},
    {"model_text", eval_model("text.pt"), {}, input, "E0207", "text.pt"},
    {"model_inspected", {"inspect", "nowhere.pt"}, {}, input, "E0201", "nowhere.pt"},
    {"model_planned", {"plan", "--model", "text.pt"}, {}, input, "E0207", "text.pt"},
    {"model_rejects_data", eval_data("cifar10:cifar.bin"), {}, input, "E0209", "layer 2 (2 Conv2d)"},
    {"data_missing", eval_data("mnist:nowhere"), {}, input, "E0301", "nowhere"},
    {"data_empty_directory", eval_data("mnist:empty-directory"), {}, input, "E0301", "empty-directory"},
    {"data_half", eval_data("mnist:half-mnist"), {}, input, "E0301", "labels"},
    {"data_wrong_kind", eval_data("cifar10:good-mnist"), {}, input, "E03", "good-mnist"},
    {"data_short", eval_data("mnist:short"), {}, input, "E0302", "images"},
    {"data_mismatch", eval_data("mnist:mismatch"), {}, input, "E0304", "3"},
    {"data_label", eval_data("mnist:label"), {}, usage, "E0108", "found 10"},
    {"data_magic", eval_data("mnist:magic"), {}, input, "E0303", "images"},
    {"data_none", eval_data("mnist:none"), {}, input, "E0306", "none"},
    {"cifar_short", eval_data("cifar10:cifar-short.bin"), {}, input, "E0302", "cifar-short.bin"},
    {"cifar_label", eval_data("cifar10:cifar-label.bin"), {}, input, "E0305", "11"},
    {"npy_one_file", eval_data("npy:inputs.npy"), {}, usage, "E0103", "npy"},
    {"npy_counts", eval_data("npy:inputs.npy,labels.npy"), {}, input, "E0304", "labels.npy"},
    {"npy_garbage", eval_data("npy:garbage.npy,labels.npy"), {}, input, "E0303", "garbage.npy"},
    {"fault_of_no_stage",
     eval_with({"--fault", "kill:loader,at=mb0", "--fault", "throw:stage=7,at=mb1"}),
     {},
     usage,
     "E0109",
     "--fault (2 of 2): fault \"throw:stage=7,at=mb1\": the run has no stage"},
    {"config_fault", eval_with({"--config", "misfit.toml"}), {}, usage, "E0109", "misfit.toml:2:1: fault"},
    {"config_missing", eval_with({"--config", "nowhere.toml"}), {}, input, "E0401", "nowhere.toml"},
    {"config_directory", eval_with({"--config", "directory.pt"}), {}, input, "E0401", "is a directory"},
    {"config_syntax", eval_with({"--config", "syntax.toml"}), {}, input, "E0402", "syntax.toml:2:"},
    {"config_deep_key", eval_with({"--config", "deep.toml"}), {}, input, "E0402", "deep.toml:2:34"},
    {"config_too_long", eval_with({"--config", "long.toml"}), {}, input, "E0402", "longer than 65536 bytes"},
    {"config_key", eval_with({"--config", "key.toml"}), {}, input, "E0403", "key.toml:2:1"},
    {"config_type", eval_with({"--config", "type.toml"}), {}, input, "E0404", "type.toml:1:10"},
    {"config_range", eval_with({"--config", "range.toml"}), {}, input, "E0404", "range.toml:2:12"},
    {"config_metric", eval_with({"--config", "metric.toml"}), {}, input, "E0404", "metric.toml:1:11"},
    {"config_trace_without_output",
     eval_with({"--config", "contradiction.toml"}),
     {},
     usage,
     "E0104",
     "contradiction.toml:1:9"},
    {"config_before_missing_flags", {"eval", "--config", "key.toml"}, {}, input, "E0403", "\"micro_batch\""},
    {"config_of_print_config", {"print-config", "--config", "range.toml"}, {}, input, "E0404", "1000"},
    {"deepspeed_missing",
     eval_with({"--config", "nowhere.json"}),
     {},
     input,
     "E0401",
     "name a DeepSpeed configuration"},
    {"deepspeed_syntax", eval_with({"--config", "syntax.json"}), {}, input, "E0402", "syntax.json:1:1"},
    {"deepspeed_deep", eval_with({"--config", "deep.json"}), {}, input, "E0402", "deep.json: more than 16 objects"},
    {"deepspeed_batch",
     eval_with({"--config", "batch.json"}),
     {},
     input,
     "E0404",
     "batch.json: train_batch_size: 33 is"},
    {"deepspeed_no_batch", eval_with({}), {"TROUPE_CONFIG=open.json"}, input, "E0404", "open.json: neither"},
    {"deepspeed_types", eval_with({"--config", "types.json"}), {}, input, "E0404", "types.json: fp16.enabled"},
    {"config_of_variable", eval_with({}), {"TROUPE_CONFIG=nowhere.toml"}, input, "E0401", "nowhere.toml"},
};

/// An empty value for every option of the table, in both spellings; a toggle takes its value only behind "=".
std::vector<bad_input> empty_values() {
  std::vector<bad_input> all;
  for (const option& each : all_options()) {
    const std::string flag = flag_name(each);
    const std::string name(each.name);
    all.push_back({"empty_" + name + "_assigned", {"eval", flag + "="}, {}, usage, "E0103", flag + ": is empty"});
    if (each.kind == option_kind::toggle) continue;
    all.push_back({"empty_" + name, {"eval", flag, ""}, {}, usage, "E0103", flag + ": is empty"});
  }
  return all;
}

}  // namespace

std::vector<bad_input> bad_inputs() {
  std::vector<bad_input> all = commands;
  const std::vector<bad_input> empty = empty_values();
  all.insert(all.end(), empty.begin(), empty.end());
  all.insert(all.end(), values.begin(), values.end());
  all.insert(all.end(), files.begin(), files.end());
  return all;
}

}  // namespace troupe::testing
