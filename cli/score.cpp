#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "command.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "runtime/data/data_specification.hpp"
#include "runtime/metric/squad_spans.hpp"
#include "runtime/question_answering/answer_file.hpp"
#include "runtime/question_answering/score_answers.hpp"
#include "runtime/suggest/read_text.hpp"
#include "runtime/suggest/suggest.hpp"
#include "runtime/text_metric/bleu.hpp"
#include "runtime/text_metric/word_error.hpp"
#include "text_lines.hpp"
#include <troupe/result.hpp>

namespace troupe::cli {
namespace {

struct score_flags {
  std::string metric;
  std::string predictions;
  std::string data;
  std::vector<std::string> references;
  std::string no_answer;
  std::string threshold;
  std::string words = "13a";
  std::string smoothing = "exp";
  bool json = false;
};

const std::vector<std::string> metric_choices = {"squad", "wer", "bleu"};

tl::unexpected<error> missing(const std::string& metric, const std::string& flag, const std::string& value) {
  return fail(error_code::missing_flag, "--metrics " + metric, "it needs " + flag, "add " + flag + " " + value);
}

expected<double> read_threshold(const std::string& text) {
  if (text.empty()) return 1.0;  // as the official program has it
  if (const auto number = number_in<double>(text); number && std::isfinite(*number)) return *number;
  return fail(error_code::value_out_of_range, "--no-answer-threshold", "expected a number, found \"" + text + "\"",
              "write for example 0.5");
}

expected<std::string> path_of_questions(const score_flags& flags) {
  if (flags.data.empty()) return missing("squad", "--data", "squad:FILE");
  const data_specification data = TROUPE_TRY(parse_data(flags.data));
  if (data.kind->name == "squad") return data.paths.front();
  return fail(error_code::value_out_of_range, "--data", flags.data + " has no questions",
              "give the file that the predictions answer: --data squad:FILE");
}

expected<metric_value> score_squad(const score_flags& flags) {
  const double threshold = TROUPE_TRY(read_threshold(flags.threshold));
  const std::string path = TROUPE_TRY(path_of_questions(flags));
  const squad_file data = TROUPE_TRY(read_squad_file(path));
  const auto answers = TROUPE_TRY(read_answer_file(flags.predictions));
  std::map<std::string, double> no_answer;
  if (!flags.no_answer.empty()) {
    no_answer = TROUPE_TRY(read_number_file(flags.no_answer));
  }
  const scored_answers found = score_answers(data, answers, no_answer, threshold);
  metric_value made = squad_value(found.totals);
  if (found.missing > 0) {
    made.fields.push_back(count_field("missing", found.missing));
    say_warning(fmt::format("{} of {} questions have no prediction in {} and count as wrong", found.missing,
                            data.questions.size(), flags.predictions));
  }
  return made;
}

/// A hypothesis and its references for each line.
struct line_pairs {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;
};

std::string count_of_lines(std::size_t count) {
  return fmt::format("{} line{}", count, count == 1 ? "" : "s");
}

expected<line_pairs> read_pairs(const score_flags& flags) {
  if (flags.references.empty()) return missing(flags.metric, "--references", "FILE");
  line_pairs made;
  made.hypotheses = TROUPE_TRY(read_text_lines(flags.predictions));
  made.references.resize(made.hypotheses.size());
  for (const std::string& file : flags.references) {
    auto lines = TROUPE_TRY(read_text_lines(file));
    if (lines.size() != made.hypotheses.size()) {
      return fail(error_code::data_mismatch, file,
                  fmt::format("it has {}, and {} has {}", count_of_lines(lines.size()), flags.predictions,
                              count_of_lines(made.hypotheses.size())),
                  "give files whose lines belong together");
    }
    for (std::size_t i = 0; i < lines.size(); ++i) made.references[i].push_back(std::move(lines[i]));
  }
  if (!made.hypotheses.empty()) return made;
  return fail(error_code::data_empty, flags.predictions, "it has no line, and neither do the references",
              "give files with one text in each line");
}

expected<metric_value> score_wer(const score_flags& flags) {
  const line_pairs lines = TROUPE_TRY(read_pairs(flags));
  if (flags.references.size() > 1) {
    return fail(error_code::flags_contradict, "--references", "wer takes one file", "give one");
  }
  word_errors total;
  for (std::size_t i = 0; i < lines.hypotheses.size(); ++i) {
    const word_errors one = count_word_errors(lines.references[i].front(), lines.hypotheses[i]);
    total.edits += one.edits;
    total.words += one.words;
  }
  return metric_value{"wer",
                      {real_field("value", total.rate()), count_field("edits", total.edits),
                       count_field("words", total.words), count_field("total", lines.hypotheses.size())}};
}

expected<metric_value> score_bleu(const score_flags& flags) {
  const bool is_13a = flags.words == "13a";
  if (!is_13a && flags.words != "none") {
    return fail(error_code::unknown_name, "--tokenize", "expected 13a or none, found \"" + flags.words + "\"",
                "write 13a, or none for words between blanks");
  }
  const bool is_smoothed = flags.smoothing == "exp";
  if (!is_smoothed && flags.smoothing != "none") {
    return fail(error_code::unknown_name, "--smoothing", "expected exp or none, found \"" + flags.smoothing + "\"",
                "write exp or none");
  }
  const line_pairs lines = TROUPE_TRY(read_pairs(flags));
  bleu_counts counts;
  for (std::size_t i = 0; i < lines.hypotheses.size(); ++i) {
    counts +=
        count_bleu(lines.hypotheses[i], lines.references[i], is_13a ? bleu_words::mteval_13a : bleu_words::spaces);
  }
  const bleu_score found = bleu_of(counts, is_smoothed ? bleu_smoothing::exponential : bleu_smoothing::none);
  return metric_value{
      "bleu",
      {real_field("value", found.score), real_list("precisions", {found.precisions.begin(), found.precisions.end()}),
       real_field("brevity_penalty", found.brevity_penalty), count_field("words", counts.words),
       count_field("reference_words", counts.reference_words), count_field("total", lines.hypotheses.size())}};
}

expected<metric_value> score(const score_flags& flags) {
  if (flags.metric == "squad") return score_squad(flags);
  if (flags.metric == "wer") return score_wer(flags);
  if (flags.metric == "bleu") return score_bleu(flags);
  return fail(error_code::unknown_name, "--metrics", "there is no metric \"" + flags.metric + "\" of predictions alone",
              suggest_fix(flags.metric, metric_choices));
}

/// A flag that would change nothing.
expected<void> refuse_idle_flags(const parser& given, const std::string& metric) {
  struct flag_of_metrics {
    std::string name;
    std::vector<std::string> metrics;
  };
  const std::vector<flag_of_metrics> all = {{"--data", {"squad"}},
                                            {"--no-answer", {"squad"}},
                                            {"--references", {"wer", "bleu"}},
                                            {"--no-answer-threshold", {"squad"}},
                                            {"--tokenize", {"bleu"}},
                                            {"--smoothing", {"bleu"}}};
  if (std::ranges::find(metric_choices, metric) == metric_choices.end()) return {};
  for (const flag_of_metrics& each : all) {
    if (!given.is_given(each.name) || std::ranges::find(each.metrics, metric) != each.metrics.end()) continue;
    return fail(error_code::flags_contradict, each.name, "it changes nothing in the metric " + metric, "leave it out");
  }
  return {};
}

std::string text_of(const metric_value& metric) {
  std::string text;
  for (const metric_value::field& each : metric.fields) {
    std::string value;
    for (const std::uint64_t count : each.counts) value += fmt::format("{} ", count);
    for (const double real : each.reals) value += fmt::format("{:.6g} ", real);
    value.pop_back();
    text += fmt::format("{:<20}{}\n", metric.name + "." + each.name, value);
  }
  return text;
}

}  // namespace

expected<exit_status> run_score(const arguments& given) {
  score_flags flags;
  parser reader(
      "score", "Score predictions that are in a file already. No model runs.",
      "  troupe score --metrics squad --predictions answers.json --data squad:dev-v2.0.json --json\n"
      "  troupe score --metrics wer --predictions transcripts.txt --references spoken.txt\n"
      "  troupe score --metrics bleu --predictions english.txt --references first.txt --references second.txt\n");
  reader.add_text("--metrics", flags.metric, "squad, wer (word error rate) or bleu", "NAME",
                  parser::presence::required);
  reader.add_text("--predictions", flags.predictions, "squad: {\"ID\": \"ANSWER\"}; else a text, one in each line",
                  "FILE", parser::presence::required);
  reader.add_text("--data", flags.data, "squad: the questions", "squad:FILE");
  reader.add_texts("--references", flags.references, "wer, bleu: the right texts; bleu takes several files", "FILE");
  reader.add_text("--no-answer", flags.no_answer, "squad: {\"ID\": NUMBER}, how sure it is that there is no answer",
                  "FILE");
  reader.add_text("--no-answer-threshold", flags.threshold, "squad: a greater number counts as no answer; 1 without it",
                  "X");
  reader.add_text("--tokenize", flags.words, "bleu: what words are, 13a or none", "NAME");
  reader.add_text("--smoothing", flags.smoothing, "bleu: exp or none", "NAME");
  reader.add_toggle("--json", flags.json, "Print one JSON object");
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  TROUPE_TRY(refuse_idle_flags(reader, flags.metric));
  const metric_value found = TROUPE_TRY(score(flags));
  if (!flags.json) return print(text_of(found)).map([] { return exit_status::ok; });
  const json_report report = scores_json({found});
  for (const std::string& each : report.warnings) say_warning(each);
  return print(report.text).map([] { return exit_status::ok; });
}

}  // namespace troupe::cli
