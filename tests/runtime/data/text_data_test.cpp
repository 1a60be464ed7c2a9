// Goal: text becomes the samples that transformers, Hugging Face's page on perplexity and lm-evaluation-harness make.
// Method: the texts and tokenizers of data/text against what data/text/make.py recorded with transformers.
#include <fstream>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/data/text_tokens.hpp"
#include "sample_files.hpp"
#include "tests/support/paths.hpp"
#include <troupe/data_set.hpp>

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using json = nlohmann::json;
using row = std::vector<std::int64_t>;

std::string place(const std::string& file) {
  return (data_dir() / "text" / file).string();
}

const json& known() {
  static const json read = json::parse(std::ifstream(place("known.json")));
  return read;
}

data_set_ptr opened_text(const std::string& kind, const std::string& file, const std::string& options) {
  auto made = open_data(kind + ":" + place(file) + "," + options);
  EXPECT_TRUE(made) << to_string(made.error());
  return made ? *made : nullptr;
}

row row_of(const at::Tensor& tensor, std::int64_t index) {
  const at::Tensor chosen = tensor[index].contiguous();
  const auto* values = chosen.const_data_ptr<std::int64_t>();
  return {values, values + chosen.numel()};
}

void expect_rows(const named_tensors& found, const json& wanted) {
  for (const auto& [name, rows] : wanted.items()) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(row_of(found.at(name), static_cast<std::int64_t>(i)), rows[i].get<row>()) << name << ", row " << i;
    }
  }
}

const std::string classifier_folder = "tokenizer=" + place("classifier");
const std::string language_folder = "tokenizer=" + place("language");

TEST(text_table, has_the_inputs_of_transformers_and_the_classes_of_the_model) {
  const data_set_ptr data = opened_text("csv", "reviews.csv", "text=review,label=mood," + classifier_folder);
  EXPECT_EQ(data->size(), 300U);
  EXPECT_EQ(data->classes(), 3U);
  EXPECT_TRUE(data->has_varying_sizes());
  EXPECT_THAT(data->remarks(), ElementsAre());
  const sample_block block = get(data->read({0, 4}));
  EXPECT_EQ(block.inputs.size(), 3U);
  expect_rows(block.inputs, known()["classes"]["first_inputs"]);
  const sample_block all = get(data->read({0, 300}));
  EXPECT_TRUE(at::equal(all.labels.only(), at::tensor(known()["classes"]["labels"].get<row>())));
}

TEST(text_table, cuts_pairs_and_says_it) {
  const data_set_ptr data = opened_text(
      "csv", "pairs.csv", "text=one,pair=other,target=score,max-length=24,padding=max-length," + classifier_folder);
  EXPECT_FALSE(data->has_varying_sizes());
  EXPECT_EQ(data->classes(), 0U);
  const sample_block block = get(data->read({0, 4}));
  expect_rows(block.inputs, known()["classes"]["first_pairs"]);
  EXPECT_FLOAT_EQ(block.labels.only()[1].item<float>(), 4.780F);
  ASSERT_EQ(data->remarks().size(), 1U);
  EXPECT_THAT(data->remarks().front(), HasSubstr("of 75 texts have more than 24 tokens, and are cut"));
}

TEST(text_table, gives_both_texts_of_a_pair_as_samples) {
  const data_set_ptr data =
      opened_text("csv", "pairs.csv", "text=one,pair=other,each-alone,target=score," + classifier_folder);
  EXPECT_EQ(data->size(), 150U);
  const sample_block block = get(data->read({1, 4}));
  EXPECT_TRUE(at::equal(block.labels.at("pair"), at::tensor({0, 1, 1}).to(at::kLong)));
  EXPECT_TRUE(at::equal(block.labels.at("side"), at::tensor({1, 0, 1}).to(at::kLong)));
  EXPECT_FLOAT_EQ(block.labels.at("score")[0].item<float>(), 0.146F);
  EXPECT_TRUE(block.inputs.at("token_type_ids").eq(0).all().item<bool>());
}

TEST(text_table, takes_several_numbers_as_one_label_and_names_of_samples) {
  const std::string folder = (source_dir() / "tests/cli/several_labels").string();
  const auto csv = get(open_data("csv:" + folder + "/texts.csv,text=text,target=a+b+c,id=who," + classifier_folder));
  const auto lines =
      get(open_data("jsonl:" + folder + "/texts.jsonl,text=text,target=all,id=who," + classifier_folder));
  std::ifstream file(folder + "/texts.jsonl");
  std::int64_t row = 0;
  const at::Tensor of_csv = get(csv->read({0, 40})).labels.only();
  for (std::string line; std::getline(file, line); ++row) {
    const auto wanted = json::parse(line)["all"].get<std::vector<float>>();
    EXPECT_TRUE(at::equal(of_csv[row], at::tensor(wanted))) << row;
  }
  EXPECT_EQ(row, 40);
  EXPECT_TRUE(at::equal(get(lines->read({0, 40})).labels.only(), of_csv));
  EXPECT_TRUE(at::equal(get(lines->read({7, 9})).labels.only(), of_csv.slice(0, 7, 9)));
  EXPECT_THAT(get(csv->ids({7, 9})), ElementsAre("r7", "r8"));
  EXPECT_THAT(get(lines->ids({39, 40})), ElementsAre("r39"));
  EXPECT_THAT(csv->advice().fix, HasSubstr("auroc"));
}

TEST(text_table, names_samples_by_their_rows) {
  const scratch_directory directory;
  const std::string file = directory / "t.csv";
  std::ofstream(file) << "who,one,two\np,a,b\nq,,b\nr,c,d\n";
  const auto data =
      get(open_data("csv:" + file + ",text=one,pair=two,each-alone,id=who,skip-empty," + classifier_folder));
  EXPECT_EQ(data->size(), 4U);
  EXPECT_EQ(data->left_out(), 1U);
  EXPECT_THAT(get(data->ids({0, 4})), ElementsAre("p", "p", "r", "r"));
  EXPECT_THAT(get(data->ids({1, 3})), ElementsAre("p", "r"));
  EXPECT_THAT(data->advice().fix, HasSubstr("--metrics sentence_similarity"));
}

TEST(text_table, reads_the_same_bits_however_it_is_read) {
  const data_set_ptr data = opened_text("csv", "reviews.csv", "text=review,label=mood," + classifier_folder);
  const sample_block whole = get(data->read({8, 16}));
  const sample_block again = get(data->read({8, 16}));
  EXPECT_TRUE(at::equal(whole.inputs.at("input_ids"), again.inputs.at("input_ids")));
  const std::int64_t longest = whole.inputs.at("attention_mask").sum(1).max().item<std::int64_t>();
  EXPECT_EQ(whole.inputs.at("input_ids").size(1), longest) << "as long as the longest sample";
}

TEST(language_text, has_the_windows_of_the_page_on_perplexity) {
  for (const json& wanted : known()["language"]) {
    const data_set_ptr data =
        opened_text("text", "stories.txt",
                    "block=" + wanted["block"].dump() + ",stride=" + wanted["stride"].dump() + "," + language_folder);
    ASSERT_EQ(data->size(), wanted["windows"].get<std::uint64_t>());
    const sample_block all = get(data->read({0, data->size()}));
    EXPECT_EQ(all.inputs.names(), "input_ids, attention_mask");
    const at::Tensor& labels = all.labels.at("labels");
    EXPECT_EQ(labels.ne(-100).sum().item<std::int64_t>(), wanted["tokens"].get<std::int64_t>());
    EXPECT_EQ(all.labels.at("bytes").sum().item<std::int64_t>(), wanted["bytes"].get<std::int64_t>());
    const row places = {0, 1, static_cast<std::int64_t>(data->size()) - 1};
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto tokens = wanted["some"][i]["input_ids"].get<row>();
      row ids = row_of(all.inputs.at("input_ids"), places[i]);
      row targets = row_of(labels, places[i]);
      EXPECT_EQ(all.inputs.at("attention_mask")[places[i]].sum().item<std::int64_t>(),
                static_cast<std::int64_t>(tokens.size()));
      for (std::size_t at = tokens.size(); at < targets.size(); ++at) EXPECT_EQ(targets[at], -100);
      ids.resize(tokens.size());
      targets.resize(tokens.size());
      EXPECT_EQ(ids, tokens);
      EXPECT_EQ(targets, wanted["some"][i]["labels"].get<row>());
    }
  }
}

TEST(language_text, is_the_same_read_in_pieces) {
  for (const char* folder : {"language", "classifier"}) {
    const auto reader = get(tokenizer::open(place(folder)));
    const text_tokens whole = get(read_text_tokens(place("stories.txt"), *reader));
    for (const std::uint64_t piece : {1U, 97U, 500U, 4000U}) {
      const text_tokens pieces = get(read_text_tokens(place("stories.txt"), *reader, piece));
      EXPECT_EQ(pieces.ids, whole.ids) << folder << ", " << piece;
      EXPECT_EQ(pieces.ends, whole.ends) << folder << ", " << piece;
    }
  }
}

TEST(choices, are_the_requests_of_the_harness) {
  const data_set_ptr data = opened_text("choices", "questions.jsonl", language_folder);
  std::int64_t sample = 0;
  std::int64_t question = 0;
  for (const json& wanted : known()["choices"]["questions"]) {
    for (std::size_t choice = 0; choice < wanted["requests"].size(); ++choice, ++sample) {
      const auto at = static_cast<std::uint64_t>(sample);
      const sample_block block = get(data->read({at, at + 1}));
      EXPECT_EQ(row_of(block.inputs.at("input_ids"), 0), wanted["requests"][choice][0].get<row>());
      const row targets = row_of(block.labels.at("labels"), 0);
      const auto scored = wanted["requests"][choice][1].get<row>();
      EXPECT_EQ(row(targets.end() - static_cast<std::ptrdiff_t>(scored.size()), targets.end()), scored);
      EXPECT_EQ(std::ranges::count(targets, -100), static_cast<std::ptrdiff_t>(targets.size() - scored.size()));
      EXPECT_EQ(block.labels.at("question").item<std::int64_t>(), question);
      EXPECT_EQ(block.labels.at("choice").item<std::int64_t>(), static_cast<std::int64_t>(choice));
      EXPECT_EQ(block.labels.at("choices").item<std::int64_t>(), static_cast<std::int64_t>(wanted["requests"].size()));
      EXPECT_EQ(block.labels.at("gold").item<std::int64_t>(), wanted["gold"].get<std::int64_t>());
    }
    ++question;
  }
  EXPECT_EQ(data->size(), static_cast<std::uint64_t>(sample));
  const sample_block last = get(data->read({data->size() - 1, data->size()}));
  EXPECT_EQ(last.labels.at("characters").item<std::int64_t>(), 3) << "Zoë";
  EXPECT_EQ(last.labels.at("bytes").item<std::int64_t>(), 4);
}

TEST(choices, lose_the_beginning_of_a_long_context) {
  const data_set_ptr data = opened_text("choices", "questions.jsonl", "max-length=13," + language_folder);
  const sample_block block = get(data->read({0, data->size()}));
  EXPECT_LE(block.inputs.at("input_ids").size(1), 13);
  ASSERT_EQ(data->remarks().size(), 1U);
  EXPECT_THAT(data->remarks().front(), HasSubstr("have more than 13 tokens, and are cut"));
}

}  // namespace
}  // namespace troupe::testing
