// Questions about texts: a BERT model, windows over long contexts, the scores of SQuAD, and the file of predictions.
#include <iostream>

#include <troupe/troupe.hpp>

int main(int argc, char** argv) {
  const std::string folder = (argc > 1 ? std::string(argv[1]) : "data") + "/questions";
  const auto result = troupe::run(
      troupe::topology{}
          .source("questions", "squad:" + folder + "/v2.json,tokenizer=" + folder + "/model,max-length=96,stride=24")
          .pipeline("bert", folder + "/model", {.stages = 2})
          .sink("answers", {"squad"}, {.predictions = {.file = "answers.json"}}));
  if (!result) {
    std::cerr << to_string(result.error()) << '\n';
    return static_cast<int>(troupe::status_of(result.error().code));
  }
  const troupe::metric_value& squad = (*result)["squad"];
  std::cout << "exact match " << squad.value("exact_match") << ", F1 " << squad.value("f1") << " of "
            << squad.count("total") << " questions in " << result->samples
            << " windows; answers.json has the answers\n";
}
