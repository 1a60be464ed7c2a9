// Goal: tables are read as pandas and Python's csv and json modules read them, and options say what columns are for.
// Method: random files recorded by table_pandas.py with what these gave; small tables by hand.
#include <bit>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/data/table_source.hpp"
#include "sample_files.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::opened;
using testing::scratch_directory;

testing::bytes bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::filesystem::path recorded_tables() {
  return testing::source_dir() / "tests/runtime/data/recorded/tables";
}

std::string csv_options_of(const json& each) {
  const std::string separator = each["separator"];
  return separator == "\t" ? ",separator=tab" : ",separator=\"" + separator + "\"";
}

std::uint32_t bits_at(const at::Tensor& values, std::size_t row, std::int64_t column) {
  return std::bit_cast<std::uint32_t>(values[static_cast<std::int64_t>(row)][column].item<float>());
}

TEST(table, numbers_and_classes_are_those_of_pandas_and_json) {
  std::ifstream file(recorded_tables() / "expected.json");
  const json all = json::parse(file);
  ASSERT_EQ(all.size(), 20U);
  for (const json& each : all) {
    const std::string name = each["file"];
    const bool is_csv = name.ends_with(".csv");
    const std::string columns = is_csv ? ",columns=real+whole" : ",columns=x:real+nested.whole,inputs=ids,integers=ids";
    const data_set_ptr data = opened((is_csv ? "csv:" : "jsonl:") + (recorded_tables() / name).string() + columns +
                                     (is_csv ? csv_options_of(each) : ""));
    const json& rows = each["rows"];
    ASSERT_EQ(data->size(), rows.size()) << name;
    const sample_block block = get(data->read({0, data->size()}));
    const at::Tensor& reals = is_csv ? block.inputs.only() : block.inputs.at("x");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(bits_at(reals, i, 0), rows[i]["real"].get<std::uint32_t>()) << name << " row " << i;
      EXPECT_EQ(bits_at(reals, i, 1), rows[i]["whole"].get<std::uint32_t>()) << name << " row " << i;
      EXPECT_EQ(block.labels.only()[static_cast<std::int64_t>(i)].item<std::int64_t>(), rows[i]["label"]);
      for (std::size_t k = 0; !is_csv && k < 5; ++k) {
        EXPECT_EQ(
            block.inputs.at("ids")[static_cast<std::int64_t>(i)][static_cast<std::int64_t>(k)].item<std::int64_t>(),
            rows[i]["ids"][k]);
      }
    }
  }
}

TEST(table, texts_are_those_of_python_from_any_row_on) {
  std::ifstream file(recorded_tables() / "expected.json");
  for (const json& each : json::parse(file)) {
    const std::string name = each["file"];
    const std::string path = (recorded_tables() / name).string();
    const bool is_csv = name.ends_with(".csv");
    const csv_form form{.separator = is_csv ? each["separator"].get<std::string>().front() : ','};
    const table_source_ptr table = get(is_csv ? open_csv_table(path, form) : open_jsonl_table(path));
    const json& rows = each["rows"];
    const std::vector<std::string> wanted =
        is_csv ? std::vector<std::string>{"text, odd"} : std::vector<std::string>{"more", "nested.text"};
    for (std::uint64_t begin = 0; begin < table->rows(); begin += 7) {
      const table_rows read = get(table->read({begin, table->rows()}, wanted));
      ASSERT_EQ(read.lines.size(), table->rows() - begin);
      for (std::size_t i = 0; i < read.lines.size(); ++i) {
        EXPECT_EQ(read.cells.back()[i], rows[begin + i]["text"].get<std::string>()) << name << " row " << begin + i;
        if (!is_csv) EXPECT_EQ(json::parse(*read.cells[0][i]), json::parse(rows[begin + i]["more"].get<std::string>()));
      }
    }
  }
}

class table_by_hand : public ::testing::Test {
 protected:
  [[nodiscard]] data_set_ptr csv(const std::string& text, const std::string& options = "") const {
    return opened("csv:" + dir.write("t.csv", bytes_of(text)) + options);
  }
  [[nodiscard]] data_set_ptr jsonl(const std::string& text, const std::string& options = "") const {
    return opened("jsonl:" + dir.write("t.jsonl", bytes_of(text)) + options);
  }
  scratch_directory dir;
};

TEST_F(table_by_hand, all_columns_but_the_label_are_one_input) {
  const data_set_ptr data = csv("a,b,label\n1,2,1\n3,4.5,0\n");
  const sample_block block = get(data->read({0, 2}));
  EXPECT_TRUE(at::equal(block.inputs.only(), at::tensor({1.0F, 2.0F, 3.0F, 4.5F}).reshape({2, 2})));
  EXPECT_TRUE(at::equal(block.labels.only(), at::tensor({1, 0}, at::kLong)));
  EXPECT_EQ(data->classes(), 2U);
  EXPECT_THAT(data->sample_shape(), ElementsAre(2));
  EXPECT_EQ(data->files().size(), 1U);
}

TEST_F(table_by_hand, columns_have_roles_by_options) {
  const std::string text = "who,a,b,c,price\nx,1,2,3,0.5\ny,4,5,6,1.5\n";
  const sample_block block = get(csv(text, ",columns=left:a+b,inputs=c,target=price")->read({0, 2}));
  EXPECT_EQ(block.inputs.names(), "left, c");
  EXPECT_TRUE(at::equal(block.inputs.at("c"), at::tensor({3.0F, 6.0F})));
  EXPECT_TRUE(at::equal(block.labels.only(), at::tensor({0.5F, 1.5F})));
  EXPECT_EQ(csv(text, ",columns=a,target=price")->classes(), 0U);
  const sample_block rest = get(csv(text, ",id=who,label=b,classes=5+2")->read({0, 2}));
  EXPECT_TRUE(at::equal(rest.inputs.only(), at::tensor({1.0F, 3.0F, 0.5F, 4.0F, 6.0F, 1.5F}).reshape({2, 3})));
  EXPECT_TRUE(at::equal(rest.labels.only(), at::tensor({1, 0}, at::kLong))) << "classes= gives the order";
  const sample_block bare = get(csv("1;2\n3;4\n", ",header=no,separator=;,label=1")->read({1, 2}));
  EXPECT_TRUE(at::equal(bare.inputs.only(), at::tensor({3.0F}).reshape({1, 1})));
  EXPECT_EQ(bare.labels.only().item<std::int64_t>(), 4);
}

TEST_F(table_by_hand, several_columns_are_one_label) {
  const std::string text = "x,rain,wind,\"a,b\"\n1,0,1,0.5\n2,1,true,-2\n3,0,0,1e-3\n";
  const at::Tensor wanted = at::tensor({0.0F, 1.0F, 0.5F, 1.0F, 1.0F, -2.0F, 0.0F, 0.0F, 1e-3F}).reshape({3, 3});
  const data_set_ptr data = csv(text, ",target=rain+wind+\"a,b\"");
  EXPECT_TRUE(at::equal(get(data->read({0, 3})).labels.only(), wanted));
  EXPECT_TRUE(at::equal(get(data->read({1, 2})).labels.only(), wanted.slice(0, 1, 2)));
  EXPECT_TRUE(at::equal(get(data->read({0, 3})).inputs.only(), at::tensor({1.0F, 2.0F, 3.0F}).reshape({3, 1})));
  EXPECT_EQ(data->classes(), 0U);
  const sample_block two = get(csv(text, ",columns=x,target=w:rain+wind+\"v:a,b\",label=wind")->read({0, 2}));
  EXPECT_EQ(two.labels.names(), "wind, w, v");
  EXPECT_TRUE(at::equal(two.labels.at("w"), wanted.slice(0, 0, 2).slice(1, 0, 2)));
  EXPECT_TRUE(at::equal(two.labels.at("v"), at::tensor({0.5F, -2.0F}))) << "of one column as without a group";
  EXPECT_EQ(two.labels.at("wind").scalar_type(), at::kLong);
}

TEST_F(table_by_hand, arrays_are_labels_of_several_numbers) {
  const std::string text = "{\"x\":1,\"y\":[0,1,1],\"z\":5}\n{\"z\":6,\"y\":[1.5,0,-1],\"x\":2}\n";
  const at::Tensor y = at::tensor({0.0F, 1.0F, 1.0F, 1.5F, 0.0F, -1.0F}).reshape({2, 3});
  EXPECT_TRUE(at::equal(get(jsonl(text, ",columns=x,target=y")->read({0, 2})).labels.only(), y));
  const at::Tensor both = at::cat({at::tensor({5.0F, 6.0F}).reshape({2, 1}), y}, 1);
  EXPECT_TRUE(at::equal(get(jsonl(text, ",columns=x,target=z+y")->read({0, 2})).labels.only(), both));
  EXPECT_TRUE(at::equal(get(csv("x,y\n1,\"[0, 1]\"\n2,\"[1, 1]\"\n", ",target=y")->read({0, 2})).labels.only(),
                        at::tensor({0.0F, 1.0F, 1.0F, 1.0F}).reshape({2, 2})))
      << "as pandas writes lists";
  EXPECT_THAT(get(jsonl("{\"x\":1,\"y\":[2]}\n", ",target=y")->read({0, 1})).labels.only().sizes(), ElementsAre(1, 1));
}

TEST_F(table_by_hand, samples_have_the_ids_of_a_column) {
  const data_set_ptr data = csv("who,x,label\nann,1,0\nbob,,1\n\"c \"\"d\",3,1\n,4,0\n", ",id=who,skip-empty");
  EXPECT_THAT(get(data->ids({0, 3})), ElementsAre("ann", "c \"d", "")) << "of rows that are samples alone";
  EXPECT_THAT(get(data->ids({1, 2})), ElementsAre("c \"d"));
  EXPECT_THAT(get(cast_inputs(data, at::kDouble)->ids({1, 2})), ElementsAre("c \"d"));
  EXPECT_THAT(get(jsonl("{\"id\":17,\"x\":1}\n{\"id\":\"b\",\"x\":1}\n", ",id=id")->ids({0, 2})),
              ElementsAre("17", "b"));
  EXPECT_THAT(get(csv("x,label\n1,0\n")->ids({0, 1})), ElementsAre());
  std::string many = "x,name\n";
  for (int i = 0; i < 300; ++i) many += std::to_string(i) + ",n" + std::to_string(i) + "\n";
  const auto ids = get(csv(many, ",id=name")->ids({100, 300}));
  ASSERT_EQ(ids.size(), 200U);
  EXPECT_EQ(ids.front() + ids.back(), "n100n299");
}

TEST_F(table_by_hand, tells_which_metrics_fit) {
  const std::string text = "a,b,kind\n1,2,3\n4,5,6\n";
  EXPECT_THAT(csv(text)->advice().fix,
              HasSubstr("label=NAME for classes or target=NAME for numbers; the columns are a, b"));
  EXPECT_EQ(csv(text, ",label=kind")->advice().fix, "");
  EXPECT_THAT(csv(text, ",target=kind")->advice().fix, HasSubstr("--metrics mae,rmse"));
  EXPECT_THAT(csv(text, ",target=b+kind")->advice().fix, HasSubstr("--metrics auroc,mean_average_precision"));
  EXPECT_THAT(csv(text, ",label=b+kind")->advice().fix, HasSubstr("write target=b+kind"));
}

TEST_F(table_by_hand, names_of_classes_are_sorted_by_their_bytes) {
  const data_set_ptr data = csv("x,label\n1,cat\n2,Dog\n3,\"a,b\"\n4,cat\n");
  EXPECT_EQ(data->classes(), 3U);
  EXPECT_TRUE(at::equal(get(data->read({0, 4})).labels.only(), at::tensor({2, 0, 1, 2}, at::kLong)));
}

TEST_F(table_by_hand, a_column_without_a_name_is_left_out_where_columns_are_chosen) {
  const data_set_ptr data = csv(",a,label,\n0,5,1,x\n1,6,0,y\n", ",columns=a");
  EXPECT_TRUE(at::equal(get(data->read({0, 2})).inputs.only(), at::tensor({5.0F, 6.0F}).reshape({2, 1})));
}

TEST_F(table_by_hand, whole_labels_may_be_written_as_reals) {
  // pandas writes whole numbers so where one is missing
  const data_set_ptr data = csv("x,label\n1,10.0\n2,\n3,2.0\n4,-1.0\n5,3e0\n", ",skip-empty,ignore=-1");
  EXPECT_EQ(data->classes(), 11U);
  EXPECT_EQ(data->left_out(), 2U);
  EXPECT_TRUE(at::equal(get(data->read({0, 3})).labels.only(), at::tensor({10, 2, 3}, at::kLong)));
}

TEST_F(table_by_hand, rows_that_lack_a_value_are_left_out_on_request) {
  const data_set_ptr data = csv("x,y,label\n1,,0\n,2,1\n3,4,\n5, ,0\n7,8,1\n", ",columns=x,skip-empty");
  EXPECT_EQ(data->size(), 3U);
  EXPECT_EQ(data->left_out(), 2U);
  EXPECT_TRUE(at::equal(get(data->read({0, 3})).inputs.only(), at::tensor({1.0F, 5.0F, 7.0F}).reshape({3, 1})));
  EXPECT_TRUE(at::equal(get(data->read({1, 3})).labels.only(), at::tensor({0, 1}, at::kLong)));
  EXPECT_EQ(jsonl("{\"x\":1}\n{\"x\":null}\n{\"y\":2}\n{\"x\":4}\n", ",skip-empty")->left_out(), 2U);
  const data_set_ptr ignoring = csv("x,label\n1,-100\n2,1\n", ",ignore=-100");
  EXPECT_EQ(ignoring->size(), 1U);
}

TEST_F(table_by_hand, json_has_nested_keys_arrays_and_truth) {
  const std::string text =
      "{\"a\":{\"b\":1.5,\"c\":true},\"v\":[1,2,3],\"label\":2}\n\n{\"v\":[4,5,6],\"label\":0,\"a\":{\"c\":false,\"b\":"
      "-2}}";
  const sample_block block = get(jsonl(text)->read({0, 2}));
  const at::Tensor wanted = at::tensor({1.5F, 1.0F, 1.0F, 2.0F, 3.0F, -2.0F, 0.0F, 4.0F, 5.0F, 6.0F}).reshape({2, 5});
  EXPECT_TRUE(at::equal(block.inputs.only(), wanted));
  EXPECT_TRUE(at::equal(get(jsonl(text, ",inputs=v,integers=v")->read({1, 2})).inputs.only(),
                        at::tensor({4, 5, 6}, at::kLong).reshape({1, 3})));
}

TEST_F(table_by_hand, numbers_are_rounded_once) {
  // 1 + 2^-24 + 2^-60 is above the middle between two float32; rounded to float64 first, it would be the middle
  const sample_block block = get(csv("x\n1.00000005960464477626\n1e-60\n 1e-45\n+3\n-0\n")->read({0, 5}));
  const at::Tensor wanted = at::tensor({1.0F + 0x1p-23F, 0.0F, 0x1p-149F, 3.0F, -0.0F}).reshape({5, 1});
  EXPECT_TRUE(at::equal(block.inputs.only(), wanted));
  EXPECT_TRUE(block.labels.empty());
}

TEST_F(table_by_hand, any_line_end_and_a_byte_order_mark_are_taken) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const data_set_ptr data = csv("\xef\xbb\xbfx,label" + end + "\"1\",0" + end + end + "2,1");
    EXPECT_EQ(data->size(), 2U);
    EXPECT_TRUE(at::equal(get(data->read({0, 2})).inputs.only(), at::tensor({1.0F, 2.0F}).reshape({2, 1})));
  }
}

TEST_F(table_by_hand, a_file_that_changes_is_an_error) {
  const data_set_ptr data = csv("x,label\n1,0\n2,1\n");
  static_cast<void>(dir.write("t.csv", bytes_of("x,label\n1,0\nz,1\n")));
  EXPECT_FALSE(data->read({0, 2}));
}

}  // namespace
}  // namespace troupe
