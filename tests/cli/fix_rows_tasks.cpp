#include "tests/cli/fix_rows.hpp"

namespace troupe::testing {
namespace {

words eval_text(const std::string& model, const std::string& data, const words& more = {}) {
  words all = {"eval", "--model", "@/data/" + model, "--data", data + ",tokenizer=@/data/" + model};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
words eval_table(const std::string& data, const words& more = {}) {
  words all = {"eval", "--model", "@/data/houses/houses.pt", "--data", data};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
words eval_labels(const std::string& data, const std::string& metrics = "auroc") {
  return {"eval", "--model", "@/tests/cli/several_labels/model.pt", "--data", data, "--metrics", metrics};
}
const std::string days = "csv:@/tests/cli/several_labels/rows.csv,columns=x0+x1+x2+x3";
/// The same, with a column "snow" in place of "more snow".
const std::string snowy_days = "csv:days.csv,columns=x0+x1+x2+x3";
const std::string questions = "squad:@/data/questions/v1.json,max-length=128";
const std::string stories = "text:@/data/text/stories.txt";
const std::string choices = "choices:@/data/text/questions.jsonl";
const std::string pairs = "csv:@/data/text/pairs.csv,text=one,pair=other,each-alone,target=score";

/// What a user is told who names no metric, or not what columns are for.
const std::vector<followed_fix> task_rows = {
    {.name = "metric_of_squad",
     .code = "E0108",
     .arguments = eval_text("questions/model", questions),
     .fix = "--metrics squad",
     .then = eval_text("questions/model", questions, {"--metrics", "squad"})},
    {.name = "metric_of_classes_of_squad",
     .code = "E0103",
     .arguments = eval_text("questions/model", questions, {"--metrics", "f1"}),
     .fix = "--metrics squad",
     .then = eval_text("questions/model", questions, {"--metrics", "squad"})},
    {.name = "metric_of_text",
     .code = "E0108",
     .arguments = eval_text("text/language", stories),
     .fix = "--metrics perplexity,bits_per_byte --score-label labels",
     .then = eval_text("text/language", stories, {"--metrics", "perplexity,bits_per_byte", "--score-label", "labels"})},
    {.name = "metric_of_choices",
     .code = "E0108",
     .arguments = eval_text("text/language", choices),
     .fix = "--metrics multiple_choice",
     .then = eval_text("text/language", choices, {"--metrics", "multiple_choice"})},
    {.name = "metric_of_pairs",
     .code = "E0108",
     .arguments = eval_text("text/sentences", pairs),
     .fix = "--metrics sentence_similarity, with --score-output sentence_embedding",
     .then = eval_text("text/sentences", pairs,
                       {"--metrics", "sentence_similarity", "--score-output", "sentence_embedding"})},
    {.name = "metric_of_prices",
     .code = "E0108",
     .arguments = eval_table("csv:kind.csv,target=price"),
     .fix = "--metrics mae,rmse",
     .then = eval_table("csv:kind.csv,target=price", {"--metrics", "mae,rmse"})},
    {.name = "column_of_labels",
     .code = "E0209",
     .arguments = eval_table("csv:kind.csv", {"--metrics", "mae"}),
     .fix = "target=NAME for numbers; the columns are area, rooms, age, price",
     .then = eval_table("csv:kind.csv,target=price", {"--metrics", "mae"})},
    {.name = "column_of_labels_beside_inputs",
     .code = "E0108",
     .arguments = eval_table("csv:kind.csv,columns=area+rooms+age", {"--metrics", "mae"}),
     .fix = "target=NAME for numbers; the columns are area, rooms, age, price",
     .then = eval_table("csv:kind.csv,columns=area+rooms+age,target=price", {"--metrics", "mae"})},
    {.name = "separator",
     .code = "E0303",
     .arguments = eval_table("csv:semicolons.csv,target=price", {"--metrics", "mae"}),
     .fix = R"(separator=";")",
     .then = eval_table(R"(csv:semicolons.csv,separator=";",target=price)", {"--metrics", "mae"})},
    {.name = "separator_without_quotes",  // as a shell gives it
     .code = "E0303",
     .arguments = eval_table("csv:semicolons.csv,target=price", {"--metrics", "mae"}),
     .fix = R"(separator=";")",
     .then = eval_table("csv:semicolons.csv,separator=;,target=price", {"--metrics", "mae"})},
    {.name = "empty_table",
     .code = "E0306",
     .arguments = eval_table("csv:empty.csv,target=price", {"--metrics", "mae"}),
     .fix = "name another file",
     .then = eval_table("csv:kind.csv,target=price", {"--metrics", "mae"})},
    {.name = "array_of_labels",
     .code = "E0303",
     .arguments = eval_labels("jsonl:@/tests/cli/several_labels/rows.jsonl,columns=x,label=weather"),
     .fix = "write target=weather",
     .then = eval_labels("jsonl:@/tests/cli/several_labels/rows.jsonl,columns=x,target=weather")},
    {.name = "columns_that_are_one_label",
     .code = "E0108",
     .arguments = eval_labels(snowy_days + ",label=rain+wind+snow"),
     .fix = "if they are numbers that make one label write target=rain+wind+snow",
     .then = eval_labels(snowy_days + ",target=rain+wind+snow")},
    {.name = "metric_of_several_labels",
     .code = "E0103",
     .arguments = eval_labels(days + ",target=rain+wind+more snow", "f1"),
     .fix = "or of several labels of 0 and 1: --metrics auroc,mean_average_precision",
     .then = eval_labels(days + ",target=rain+wind+more snow", "auroc,mean_average_precision")},
    {.name = "scalars_of_another_kind",
     .code = "E0103",
     .arguments = eval_with({"--log-scalars", "x.txt"}),
     .fix = "write x.csv or x.jsonl, or x.txt/ for a folder",
     .then = eval_with({"--log-scalars", "x.txt/"})},
    {.name = "scalars_in_a_file",
     .code = "E0103",
     .arguments = eval_with({"--log-scalars", "x.txt"}),
     .fix = "write x.csv or x.jsonl",
     .then = eval_with({"--log-scalars", "x.csv"})},
    {.name = "one_model",
     .code = "E0105",
     .arguments = {"compare", "good.pt", "--data", "mnist:good-mnist"},
     .fix = "as in troupe compare good.pt new.pt; to evaluate one model take troupe eval",
     .then = {"compare", "good.pt", "good.pt", "--data", "mnist:good-mnist"}},
};

}  // namespace

std::vector<followed_fix> task_fixes() {
  return task_rows;
}

}  // namespace troupe::testing
