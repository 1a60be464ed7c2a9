// Goal: no folder, tar archive or preset crashes the program, has it write anything, or costs it more memory than twice
// the files and 64 MiB: each is its own error, which names the file. Method: a table of them.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../support/paths.hpp"
#include "../../support/peak_memory.hpp"
#include "../../support/sanitized.hpp"
#include "sample_files.hpp"
#include "tar_writer.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using testing::bytes;
using ::testing::HasSubstr;
using testing::scratch_directory;
using testing::tar_entry;
using testing::tar_of;

bytes text_bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

bytes picture() {
  return testing::read_file(testing::source_dir() / "tests/runtime/data/recorded/image_sets/folder/b cat/2.png");
}

struct hostile_case {
  std::string name;
  /// Makes files and names the data.
  std::function<std::string(const scratch_directory&)> make;
  /// In the error of opening, or of reading everything; "good" for none.
  std::vector<std::string> words;
};

void PrintTo(const hostile_case& c, std::ostream* out) {
  *out << c.name;
}

std::string shard(const scratch_directory& dir, const std::vector<tar_entry>& entries,
                  const std::string& options = "") {
  return "webdataset:" + dir.write("s.tar", tar_of(entries)) + ",resize=8+8" + options;
}

std::string folder(const scratch_directory& dir, const std::string& name, const bytes& content,
                   const std::string& options = "") {
  fs::create_directories(fs::path(dir.path()) / "set" / "a");
  dir.write("set/a/good.png", picture());
  if (!name.empty()) dir.write("set/a/" + name, content);
  return "imagefolder:" + (dir / "set") + ",resize=8+8" + options;
}

std::string preset(const scratch_directory& dir, const std::string& content) {
  dir.write("preprocessor_config.json", text_bytes(content));
  return folder(dir, "", {}, ",preset=" + dir.path());
}

std::vector<hostile_case> folder_cases() {
  return {
      {"no_folder", [](auto& d) { return "imagefolder:" + (d / "none"); }, {"E0301", "no such directory"}},
      {"a_file", [](auto& d) { return "imagefolder:" + d.write("f", picture()); }, {"E0307", "is no directory"}},
      {"no_classes", [](auto& d) { return "imagefolder:" + d.path(); }, {"E0306", "has no folders"}},
      {"class_without_pictures",
       [](auto& d) {
         fs::create_directories(fs::path(d.path()) / "set/empty");
         return folder(d, "", {});
       },
       {"E0306", "set/empty", "has no file that ends in"}},
      {"loop_of_links",
       [](auto& d) {
         const std::string data = folder(d, "", {});
         fs::create_directory_symlink("..", d / "set/a/loop");
         return data;
       },
       {"E0307", "set/a/loop", "symbolic link"}},
      {"dangling_link",
       [](auto& d) {
         const std::string data = folder(d, "", {});
         fs::create_symlink("nowhere", d / "set/a/x.jpg");
         return data;
       },
       {"E0301", "set/a/x.jpg"}},
      {"fifo",
       [](auto& d) {
         const std::string data = folder(d, "", {});
         mkfifo((d / "set/a/x.jpg").c_str(), 0600);
         return data;
       },
       {"E0307", "set/a/x.jpg", "no regular file"}},
      {"picture_of_no_bytes", [](auto& d) { return folder(d, "x.png", {}); }, {"E0306", "set/a/x.png"}},
      {"picture_in_another_format", [](auto& d) { return folder(d, "x.BMP", text_bytes("BM..")); }, {"E0303", "x.BMP"}},
      {"another_format_under_a_good_name",
       [](auto& d) { return folder(d, "x.jpg", text_bytes("GIF89a.....")); },
       {"E0303", "x.jpg", "is a GIF"}},
      {"another_size",
       [](auto& d) {
         const std::string data = folder(d, "", {});
         fs::copy(testing::source_dir() / "tests/runtime/data/recorded/image_sets/folder/Dog/b.jpg", d / "set/a/x.jpg");
         return data.substr(0, data.find(','));
       },
       {"E0304", "set/a/x.jpg", "33 x 33", "31 x 40", "resize=256,crop=224"}},
      {"name_with_an_escape", [](auto& d) { return folder(d, "\x1b[2J.png", text_bytes("?")); }, {"\\x1b[2J.png"}},
      {"file_of_300_mib",
       [](auto& d) {
         const std::string data = folder(d, "x.png", picture());
         fs::resize_file(d / "set/a/x.png", 300u << 20);
         return data;
       },
       {"E0307", "256 MiB"}},
      {"skipped", [](auto& d) { return folder(d, "x.png", text_bytes("?"), ",skip-bad"); }, {"good"}},
  };
}

std::vector<hostile_case> tar_cases() {
  const bytes one = text_bytes("1");
  return {
      {"absolute_and_parent_names",
       [=](auto& d) {
         return shard(d, {{"/tmp/troupe-must-not-be-written.png", picture()},
                          {"/tmp/troupe-must-not-be-written.cls", one},
                          {"../../up.png", picture()},
                          {"../../up.cls", one}});
       },
       {"good"}},
      {"packed",
       [=](auto& d) {
         return "webdataset:" + d.write("s.tar", testing::gzip(tar_of({{"a.cls", one}})));
       },
       {"E0303", "s.tar", "packed with gzip"}},
      {"no_tar",
       [](auto& d) { return "webdataset:" + d.write("s.tar", bytes(5000, 'x')); },
       {"E0303", "no tar archive"}},
      {"empty_tar", [](auto& d) { return "webdataset:" + d.write("s.tar", bytes(10240, 0)); }, {"E0306"}},
      {"no_bytes", [](auto& d) { return "webdataset:" + d.write("s.tar", {}); }, {"E0306", "s.tar"}},
      {"missing_shard", [](auto& d) { return "webdataset:" + (d / "s-{00..02}.tar"); }, {"E0301", "s-00.tar"}},
      {"cut_short",
       [](auto& d) {
         return "webdataset:" + d.write("s.tar", testing::cut(tar_of({{"a.png", picture()}}), 900));
       },
       {"E0302", "s.tar"}},
  };
}

std::vector<hostile_case> tar_header_cases() {
  return {
      {"huge_size",
       [](auto& d) {
         return shard(d, {{"a.png", picture(), '0', "77777777777"}});
       },
       {"E0302", "8589934591 bytes"}},
      {"size_of_2_to_60",
       [](auto& d) {
         return shard(d, {{"a.png", picture(), '0', std::string("\x80\0\0\0\x10\0\0\0\0\0\0\0", 12)}});
       },
       {"s.tar"}},
      {"negative_size",
       [](auto& d) {
         return shard(d, {{"a.png", picture(), '0', std::string(12, '\xff')}});
       },
       {"s.tar"}},
  };
}

std::vector<hostile_case> tar_member_cases() {
  const bytes one = text_bytes("1");
  return {
      {"symbolic_link",
       [=](auto& d) {
         return shard(d, {{"a.png", {}, '2', "", "/etc/passwd"}, {"a.cls", one}});
       },
       {"E0303", "\"a.png\" is a symbolic link"}},
      {"hard_link",
       [=](auto& d) {
         return shard(d, {{"a.png", {}, '1', "", "/etc/passwd"}, {"a.cls", one}});
       },
       {"E0303", "\"a.png\" is a hard link"}},
      {"device",
       [=](auto& d) {
         return shard(d, {{"a.png", {}, '3'}, {"a.cls", one}});
       },
       {"E0303", "no regular file"}},
      {"one_name_twice",
       [=](auto& d) {
         return shard(d, {{"a.png", picture()}, {"a.png", picture()}, {"a.cls", one}});
       },
       {"E0303", "has \"a.png\" and \"a.png\""}},
      {"huge_long_name",
       [](auto& d) {
         return shard(d, {{"././@LongLink", bytes(3u << 20, 'n'), 'L'}, {"x", {}}});
       },
       {"s.tar"}},
      {"huge_pax_header",
       [](auto& d) {
         return shard(d, {{"h", bytes(3u << 20, '9'), 'x'}, {"x", {}}});
       },
       {"s.tar"}},
      {"no_label",
       [](auto& d) {
         return shard(d, {{"a.png", picture()}});
       },
       {"E0303", "has no label"}},
      {"no_picture",
       [=](auto& d) {
         return shard(d, {{"a.cls", one}});
       },
       {"E0303", "has no picture"}},
  };
}

std::vector<hostile_case> label_cases() {
  return {
      {"label_is_a_word",
       [](auto& d) {
         return shard(d, {{"a.png", picture()}, {"a.cls", text_bytes("cat")}});
       },
       {"E0303", "\"cat\""}},
      {"label_is_negative",
       [](auto& d) {
         return shard(d, {{"a.png", picture()}, {"a.cls", text_bytes("-1")}});
       },
       {"E0305", "-1"}},
      {"label_is_far_too_large",
       [](auto& d) {
         return shard(d, {{"a.png", picture()}, {"a.cls", text_bytes("99999999999")}});
       },
       {"E0305"}},
      {"label_of_many_bytes",
       [](auto& d) {
         return shard(d, {{"a.png", picture()}, {"a.cls", bytes(1u << 20, '1')}});
       },
       {"E0303", "too many for a label"}},
      {"json_10000_deep",
       [](auto& d) {
         return shard(d, {{"a.png", picture()}, {"a.json", text_bytes(std::string(10'000, '['))}}, ",json=label");
       },
       {"E0303", "a.json"}},
      {"json_without_the_key",
       [](auto& d) {
         return shard(d, {{"a.png", picture()}, {"a.json", text_bytes("{}")}}, ",json=label");
       },
       {"E0303", "label"}},
  };
}

std::vector<hostile_case> member_cases() {
  const bytes one = text_bytes("1");
  return {
      {"picture_is_none",
       [=](auto& d) {
         return shard(d, {{"a.png", text_bytes("no picture")}, {"a.cls", one}});
       },
       {"E0303", "s.tar, byte 512 (\"a.png\"): is neither"}},
      {"picture_in_a_folder_is_none",
       [=](auto& d) {
         const tar_entry bad{.name = "a.png", .content = text_bytes("no picture"), .folder = "up/x"};
         return shard(d, {bad, {.name = "a.cls", .content = one, .folder = "up/x"}});
       },
       {"E0303", "byte 512 (\"up/x/a.png\")"}},
      {"labels_are_in_json",
       [](auto& d) {
         return shard(d, {{"a.png", picture()}, {"a.json", text_bytes("{\"label\": 1}")}});
       },
       {"E0303", "has no label, .cls", "json=KEY"}},
      {"names_with_more_dots",
       [=](auto& d) {
         return shard(d, {{"a.0001.png", picture()}, {"a.0001.cls", one}});
       },
       {"E0306", "ends at its first dot"}},
      {"bad_ones_are_skipped",
       [=](auto& d) {
         return shard(
             d,
             {{"a.png", text_bytes("?")}, {"a.cls", one}, {"b.png", picture()}, {"c.png", picture()}, {"c.cls", one}},
             ",skip-bad");
       },
       {"good"}},
  };
}

std::vector<hostile_case> shard_name_cases() {
  return {
      {"braces_of_words", [](auto&) { return "webdataset:{a..b}.tar"; }, {"E0103", "braces"}},
      {"braces_that_do_not_end", [](auto&) { return "webdataset:{0..9.tar"; }, {"E0103", "braces"}},
      {"braces_of_10_to_18",
       [](auto&) { return "webdataset:{0..999999999999999999}.tar"; },
       {"E0103", "more than 10000"}},
      {"braces_that_multiply",
       [](auto&) { return "webdataset:{0..9999}{0..9999}{0..9999}.tar"; },
       {"E0103", "more than 10000"}},
  };
}

std::vector<hostile_case> preset_cases() {
  const std::string vit = R"({"image_processor_type": "ViTImageProcessor", )";
  return {
      {"preset_is_missing",
       [](auto& d) { return folder(d, "", {}, ",preset=" + (d / "x")); },
       {"E0301", "preprocessor_config.json"}},
      {"preset_is_no_json", [](auto& d) { return preset(d, "{"); }, {"E0210"}},
      {"preset_is_10000_deep", [](auto& d) { return preset(d, std::string(10'000, '[')); }, {"error E02"}},
      {"preset_of_another_processor",
       [](auto& d) { return preset(d, R"({"image_processor_type": "Mask2FormerImageProcessor"})"); },
       {"E0303", "Mask2FormerImageProcessor"}},
      {"preset_without_a_processor",
       [](auto& d) { return preset(d, "{}"); },
       {"E0303", "image_processor_type", "leave preset= out"}},
      {"preset_divides_by_0", [=](auto& d) { return preset(d, vit + R"("image_std": [0, 1, 1]})"); }, {"image_std"}},
      {"preset_of_a_huge_size", [=](auto& d) { return preset(d, vit + R"("size": 1000000})"); }, {"16384"}},
      {"preset_with_two_means",
       [=](auto& d) { return preset(d, vit + R"("image_mean": [0, 1]})"); },
       {"three numbers"}},
      {"preset_resizes_by_nearest", [=](auto& d) { return preset(d, vit + R"("resample": 0})"); }, {"E0303", "filter"}},
      {"options_with_half_a_pixel", [](auto& d) { return folder(d, "", {}, ",crop=8.5"); }, {"E0103", "crop"}},
      {"options_with_two_means",
       [](auto& d) { return folder(d, "", {}, ",mean=1+2"); },
       {"E0103", "mean=0.485+0.456+0.406"}},
      {"options_that_divide_by_0", [](auto& d) { return folder(d, "", {}, ",std=0"); }, {"E0103", "std"}},
  };
}

std::string outcome_of(const std::string& specification) {
  const auto data = open_data(specification);
  if (!data) return to_string(data.error());
  const auto block = (*data)->read({0, (*data)->size()});
  return block ? "good" : to_string(block.error());
}

class hostile_images : public ::testing::TestWithParam<hostile_case> {};

TEST_P(hostile_images, are_errors_that_name_them) {
  const scratch_directory dir;
  const std::string specification = GetParam().make(dir);
  std::uint64_t file_bytes = 0;
  for (const auto& each : fs::recursive_directory_iterator(dir.path())) {
    std::error_code ignored;
    if (each.is_regular_file(ignored)) file_bytes += each.file_size();
  }
  outcome_of(specification);
  malloc_trim(0);
  testing::reset_peak();
  const std::uint64_t before = testing::memory_now("VmRSS");
  const std::string outcome = outcome_of(specification);
  const std::uint64_t more = testing::memory_now("VmHWM") - before;
  for (const std::string& word : GetParam().words) EXPECT_THAT(outcome, HasSubstr(word));
  if (!testing::sanitized) EXPECT_LE(more, 2 * file_bytes + (64u << 20));
  EXPECT_FALSE(fs::exists("/tmp/troupe-must-not-be-written.png"));
}

std::string name_of_case(const ::testing::TestParamInfo<hostile_case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(folders, hostile_images, ::testing::ValuesIn(folder_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(shards, hostile_images, ::testing::ValuesIn(tar_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(tar_headers, hostile_images, ::testing::ValuesIn(tar_header_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(tar_members, hostile_images, ::testing::ValuesIn(tar_member_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(labels, hostile_images, ::testing::ValuesIn(label_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(members, hostile_images, ::testing::ValuesIn(member_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(shard_names, hostile_images, ::testing::ValuesIn(shard_name_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(presets, hostile_images, ::testing::ValuesIn(preset_cases()), name_of_case);

TEST(skip_bad, says_which_files_and_why) {
  const scratch_directory dir;
  const std::string specification = folder(dir, "x.png", text_bytes("?"));
  const data_set_ptr data = testing::opened(specification + ",skip-bad");
  EXPECT_EQ(data->size(), 1U);
  EXPECT_EQ(data->left_out(), 1U);
  EXPECT_THAT(data->left_out_reasons(), ::testing::ElementsAre(HasSubstr("set/a/x.png: is neither a JPEG nor a PNG")));
  const data_set_ptr shards = testing::opened(shard(dir,
                                                    {{"a.png", text_bytes("?")},
                                                     {"a.cls", text_bytes("1")},
                                                     {"b.png", picture()},
                                                     {"c.png", picture()},
                                                     {"c.cls", text_bytes("2")}},
                                                    ",skip-bad"));
  EXPECT_EQ(shards->size(), 1U);
  EXPECT_EQ(shards->left_out(), 2U);
  EXPECT_THAT(shards->left_out_reasons(),
              ::testing::ElementsAre(HasSubstr("\"b\": has no label"), HasSubstr("byte 512 (\"a.png\")")));
  EXPECT_EQ(get(shards->read({0, 1})).labels.only().item<std::int64_t>(), 2);
}

}  // namespace
}  // namespace troupe
