// Tasks of texts, each in a few lines: classes of reviews, perplexity, questions with choices, and pairs of sentences.
#include <iostream>

#include <troupe/troupe.hpp>

namespace {

/// Evaluates `model` on `data` in two stages; an error ends the program.
troupe::metric_value score(const std::string& model, const std::string& data, const std::string& metric,
                           const troupe::sink_options& what = {}) {
  const auto result = troupe::run(troupe::topology{}
                                      .source("texts", data + ",tokenizer=" + model)
                                      .pipeline("model", model, {.stages = 2})
                                      .sink("scores", {metric}, what));
  if (!result) {
    std::cerr << to_string(result.error()) << '\n';
    std::exit(static_cast<int>(troupe::status_of(result.error().code)));
  }
  return (*result)[metric];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = (argc > 1 ? std::string(argv[1]) : "data") + "/text";
  const std::string language = folder + "/language";
  const auto accuracy =
      score(folder + "/classifier", "csv:" + folder + "/reviews.csv,text=review,label=mood", "accuracy");
  const auto perplexity =
      score(language, "text:" + folder + "/stories.txt,stride=32", "perplexity", {.label = "labels"});
  const auto choices = score(language, "choices:" + folder + "/questions.jsonl", "multiple_choice");
  const auto pairs =
      score(folder + "/sentences", "csv:" + folder + "/pairs.csv,text=one,pair=other,each-alone,target=score",
            "sentence_similarity", {.tensor = "sentence_embedding"});
  std::cout << accuracy.count("correct") << " of " << accuracy.count("total") << " reviews, perplexity "
            << perplexity.value() << " of " << perplexity.count("count") << " tokens, acc " << choices.value("acc")
            << " of " << choices.count("questions") << " questions, Pearson " << pairs.value("pearson") << " of "
            << pairs.count("count") << " pairs\n";
}
