// Goal: options of data mean the same in every form, and mistakes in them are said. Method: texts that are read
// and written again, against values by hand; each mistake with the words that its error must have.
#include "runtime/data/data_specification.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/data/marked_text.hpp"
#include "runtime/data/option_text.hpp"
#include "sample_files.hpp"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refused(const std::string& text) {
  const auto read = parse_data(text);
  return read ? "taken: " + to_string(*read) : to_string(read.error());
}

TEST(data_specification, reads_options_and_writes_them_in_the_order_of_the_table) {
  const data_specification data = get(parse_data("npz:x.npz,float32,trim=m,label=a+b,ignore=-100,label=c"));
  EXPECT_EQ(data.kind->name, "npz");
  EXPECT_THAT(data.paths, ElementsAre("x.npz"));
  EXPECT_THAT(data.options.names("label"), ElementsAre("a", "b", "c"));
  EXPECT_EQ(data.options.text("trim"), "m");
  EXPECT_EQ(data.options.count("ignore"), -100);
  EXPECT_EQ(data.options.text("dtype"), "float32");
  EXPECT_FALSE(data.options.has("inputs"));
  EXPECT_EQ(to_string(data), "npz:x.npz,label=a+b+c,trim=m,ignore=-100,float32");
  EXPECT_EQ(to_string(get(parse_data("npz:x.npz,dtype=float16"))), "npz:x.npz,float16");
}

TEST(data_specification, quotes_take_commas_and_plus_signs) {
  const data_specification data = get(parse_data(R"(npz:"a,""b"".npz",label="x,y"+"z+w",inputs=p"q)"));
  EXPECT_EQ(data.paths.front(), "a,\"b\".npz");
  EXPECT_THAT(data.options.names("label"), ElementsAre("x,y", "z+w"));
  EXPECT_THAT(data.options.names("inputs"), ElementsAre("p\"q")) << "a quote inside of a word is a character";
  EXPECT_EQ(parse_data(to_string(data))->options.names("label"), data.options.names("label"));
  EXPECT_EQ(parse_data(to_string(data))->paths, data.paths);
  EXPECT_EQ(to_string(get(parse_data("mnist:\"a,b\""))), "mnist:\"a,b\"");
  EXPECT_THAT(get(parse_data("npy:x.npy,\"label=y.npy\"")).paths, ElementsAre("x.npy", "label=y.npy"));
}

TEST(data_specification, every_path_and_name_comes_back) {
  const std::string characters = "a,=+\"";
  std::vector<std::string> texts = {""};
  for (int length = 0; length < 4; ++length) {
    const std::vector<std::string> before = texts;
    for (const std::string& each : before) {
      for (const char c : characters) texts.push_back(each + c);
    }
  }
  for (const std::string& each : texts) {
    if (each.empty()) continue;
    data_specification data{.kind = &data_kinds.back(), .paths = {each}};
    data.options.set("label", std::vector<std::string>{each, each + "2"});
    data.options.set("trim", each);
    data.kind = get(parse_data("npz:x")).kind;
    const auto read = parse_data(to_string(data));
    ASSERT_TRUE(read) << to_string(data);
    EXPECT_EQ(read->paths, data.paths) << to_string(data);
    EXPECT_EQ(read->options.names("label"), data.options.names("label")) << to_string(data);
    EXPECT_EQ(read->options.text("trim"), each) << to_string(data);
  }
}

TEST(data_specification, mistakes_are_said) {
  EXPECT_THAT(refused("npz:x.npz,lable=y"), ::testing::AllOf(HasSubstr("E0102"), HasSubstr("write \"label\"")));
  EXPECT_THAT(to_string(open_data("npy:x.npy,y.npy,inputs=z").error()), HasSubstr("npy has no option \"inputs\""));
  EXPECT_THAT(refused("mnist:data,trim=x"), ::testing::AllOf(HasSubstr("E0102"), HasSubstr("it is one of npy, npz")));
  EXPECT_THAT(refused("mnist:data,more"), HasSubstr("in double quotes"));
  EXPECT_THAT(refused("npz:x.npz,ignore=1.5"),
              ::testing::AllOf(HasSubstr("ignore: expected a whole number, found \"1.5\""), HasSubstr("ignore=-100")));
  EXPECT_THAT(refused("npz:x.npz,label=a+a"), HasSubstr("names \"a\" twice"));
  EXPECT_THAT(refused("npz:x.npz,trim=a,trim=b"), HasSubstr("has trim twice"));
  EXPECT_THAT(refused("npz:x.npz,trim="), HasSubstr("trim: expected a text"));
  EXPECT_THAT(refused("npz:\"x.npz,trim=a"), HasSubstr("not closed"));
  EXPECT_THAT(refused("npz:x.npz,"), HasSubstr("E0103"));
  EXPECT_THAT(refused("npz:\"\""), HasSubstr("expected a path"));
  EXPECT_THAT(refused("npz:x.npz,dtype=float23"), HasSubstr("write \"float32\""));
}

TEST(data_option, numbers_are_checked_and_written_so_that_they_can_be_read) {
  const data_option mean{.name = "mean",
                         .form = data_value::numbers,
                         .value_name = "A,B,C",
                         .example = "0.485,0.456,0.406",
                         .minimum = 0,
                         .maximum = 1,
                         .length = 3};
  const data_option_value value = get(parse_data_flag(mean, "0.485,1e-5,1", "--mean"));
  EXPECT_EQ(std::get<std::vector<double>>(value), (std::vector<double>{0.485, 1e-5, 1}));
  EXPECT_EQ(value_text(value, '+'), "0.485+1e-05+1");
  EXPECT_EQ(value_text(std::vector<double>{1e300}, '+'), "1e300");
  for (const char* wrong : {"", "1", "1,1", "1,1,1,1", "1,1,", "1,1,2", "nan,1,1", "1;1;1", "0x1,1,1", "1,1,1e999"}) {
    const auto read = parse_data_flag(mean, wrong, "--mean");
    ASSERT_FALSE(read) << wrong;
    EXPECT_THAT(to_string(read.error()), HasSubstr("--mean: mean: expected 3 real numbers from 0 to 1")) << wrong;
  }
}

TEST(data_kinds, options_of_one_name_have_one_form_and_good_examples) {
  for (const data_kind& kind : data_kinds) {
    for (const data_option& option : kind.options) {
      for (const data_option* other : all_data_options()) {
        if (other->name == option.name) EXPECT_EQ(other->form, option.form) << option.name;
      }
      EXPECT_EQ(option.form == data_value::toggle, option.example.empty()) << option.name;
      EXPECT_EQ(option.form == data_value::toggle, option.value_name.empty()) << option.name;
      if (option.form != data_value::toggle)
        EXPECT_TRUE(parse_data_flag(option, option.example, "flag")) << option.name << " " << option.example;
      EXPECT_FALSE(option.help.empty() || option.help.ends_with('.')) << option.name;
      EXPECT_TRUE(std::ranges::none_of(std::string(option.name), [](char c) { return c == '_' || c == '='; }));
    }
  }
}

}  // namespace
}  // namespace troupe
