// Goal: no zip file, safetensors file or index of shards crashes the reader, reaches outside of its folder, or costs it
// more memory than twice the files and 64 MiB.
// Method: good files with one thing that is a lie, each with the error that it must give.
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include "pickle_parts.hpp"
#include "weights_files.hpp"

namespace troupe::testing {
namespace {

using namespace parts;
using ::testing::HasSubstr;

struct hostile_file {
  std::string name;
  std::string bytes;
  std::string code;

  friend void PrintTo(const hostile_file& each, std::ostream* out) { *out << each.name; }
};

/// Packed with deflate. It may say another size than it has.
zip_item packed(const std::string& name, const std::string& content) {
  zip_item item{.name = name};
  item.bytes = content.size();
  item.crc = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
  item.packed = true;
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  item.content.resize(deflateBound(&z, content.size()));
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(item.content.data());
  z.avail_out = static_cast<uInt>(item.content.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  item.content.resize(z.total_out);
  deflateEnd(&z);
  return item;
}

const std::string good_pickle = pickle(dict({{"w", tensor()}}));

std::string changed_zip(const std::function<void(std::vector<zip_item>& items)>& change) {
  std::vector<zip_item> items = zip_items(good_pickle);
  change(items);
  return zip_file(items);
}
std::string altered(std::string bytes, const std::string& before, std::size_t at) {
  char& byte = bytes.at(bytes.find(before) + before.size() + at);
  byte = static_cast<char>(byte ^ 1);
  return bytes;
}
std::string storage_bomb(std::uint64_t told) {
  constexpr std::size_t bytes = 400u << 20;
  zip_item bomb = packed("w/data/0", std::string(bytes, '\0'));
  bomb.bytes = told;
  return changed_zip([&](auto& items) {
    items[0] =
        stored("w/data.pkl", pickle(dict({{"w", tensor(storage("ByteStorage", "0", static_cast<std::int64_t>(told)),
                                                       whole(0), sizes({1}), sizes({1}))}})));
    items[2] = bomb;
  });
}

const std::vector<hostile_file> zip_files{
    {"good", zip_file(zip_items(good_pickle)), "good"},
    {"two_entries_of_one_name", changed_zip([](auto& i) { i.push_back(stored("w/data/0", six_floats)); }), "E0210"},
    {"two_pickles", changed_zip([](auto& i) { i.push_back(stored("w/data.pkl", pickle("N"))); }), "E0210"},
    {"pickle_in_another_folder", changed_zip([](auto& i) { i[0].name = "v/data.pkl"; }), "E0210"},
    {"no_pickle", changed_zip([](auto& i) { i.erase(i.begin()); }), "E0207"},
    {"no_storage", changed_zip([](auto& i) { i.erase(i.begin() + 2); }), "E0210"},
    {"no_entries", zip_file({}), "E0207"},
    {"big_endian", changed_zip([](auto& i) { i[1] = stored("w/byteorder", "big"); }), "E0217"},
    {"byte_order_of_a_megabyte", changed_zip([](auto& i) { i[1] = stored("w/byteorder", std::string(1 << 20, 'l')); }),
     "E0217"},
    {"storage_that_is_short", changed_zip([](auto& i) { i[2] = stored("w/data/0", six_floats.substr(4)); }), "E0210"},
    {"storage_that_is_long", changed_zip([](auto& i) { i[2] = stored("w/data/0", six_floats + "1234"); }), "E0210"},
    {"pickle_that_is_empty", changed_zip([](auto& i) { i[0] = stored("w/data.pkl", ""); }), "E0210"},
    {"pickle_that_is_packed", changed_zip([](auto& i) { i[0] = packed("w/data.pkl", good_pickle); }), "good"},
    {"storage_that_is_packed", changed_zip([](auto& i) { i[2] = packed("w/data/0", six_floats); }), "good"},
    {"packed_storage_that_says_more", changed_zip([](auto& i) {
       i[2] = packed("w/data/0", six_floats.substr(4));
       i[2].bytes += 4;
     }),
     "E0213"},
    {"packed_storage_that_says_less", changed_zip([](auto& i) {
       i[2] = packed("w/data/0", six_floats + six_floats);
       i[2].bytes = 24;
     }),
     "E0213"},
    {"packed_storage_that_is_damaged", changed_zip([](auto& i) {
       i[2] = packed("w/data/0", six_floats);
       i[2].content[0] = '\xff';
     }),
     "E0213"},
    {"pickle_that_is_altered", altered(zip_file(zip_items(good_pickle)), "w/data.pkl", 20), "E0213"},
    {"size_of_4_gib", changed_zip([](auto& i) {
       i[2] = packed("w/data/0", six_floats);
       i[2].bytes = 0xfffffff0;
     }),
     "E0210"},
    {"torchscript", changed_zip([](auto& i) { i.push_back(stored("w/code/__torch__.py", "")); }), "E0207"},
    {"exported", changed_zip([](auto& i) { i.push_back(stored("w/models/model.json", "{}")); }), "E0207"},
    {"tar", std::string(257, 'a') + "ustar" + std::string(250, '\0'), "E0205"},
    {"git_lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n", "E0206"},
    {"gzip", "\x1f\x8b" + std::string(100, '\0'), "E0207"},
    {"empty", "", "E0203"},
    {"big_endian_legacy",
     pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") + pickle("M\xe9\x03") +
         pickle(dict({{"little_endian", "\x89"}})) + good_pickle + pickle("]"),
     "E0217"},
    {"pickle_of_something_else", pickle(dict({{"w", "K\1"}})), "E0207"},
    {"legacy_of_another_protocol", pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") + pickle("M\xe8\x03"),
     "E0210"},
    {"legacy_with_a_storage_too_many",
     legacy_head() + good_pickle + pickle("](" + text("0") + text("1") + "e") + little_endian(6, 8) + six_floats,
     "E0210"},
    {"legacy_with_a_storage_twice",
     legacy_head() + good_pickle + pickle("](" + text("0") + text("0") + "e") + little_endian(6, 8) + six_floats +
         little_endian(6, 8) + six_floats,
     "E0210"},
    {"legacy_with_another_count",
     legacy_head() + good_pickle + pickle("]" + text("0") + "a") + little_endian(5, 8) + six_floats, "E0210"},
    {"legacy_with_a_count_of_2_63",
     legacy_head() + good_pickle + pickle("]" + text("0") + "a") + little_endian(std::uint64_t{1} << 63, 8) +
         six_floats,
     "E0210"},
    {"legacy_without_its_storage", legacy_head() + good_pickle + pickle("]"), "E0210"},
    {"legacy_with_keys_that_are_no_list", legacy_head() + good_pickle + pickle("N"), "E0210"},
    {"legacy_with_a_key_that_is_a_number", legacy_head() + good_pickle + pickle("]K\1a"), "E0210"},
};

/// They are large: made when they are needed.
std::vector<hostile_file> bombs() {
  return {
      {"bomb_of_a_storage", storage_bomb(400u << 20), "E0214"},
      {"bomb_of_a_storage_that_says_less", storage_bomb(24), "E0213"},
      {"bomb_of_a_pickle",
       changed_zip([](auto& i) { i[0] = packed("w/data.pkl", "\x80\x02" + std::string(300 << 20, 'N')); }), "E0214"},
      {"bomb_of_values",
       changed_zip([](auto& i) { i[0] = packed("w/data.pkl", "\x80\x02" + std::string(30 << 20, ')')); }), "E0214"},
  };
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}
std::string two(const std::string& first, const std::string& second) {
  const std::string start = R"(":{"dtype":"U8","shape":)";
  return R"({"v)" + start + first + R"(},"w)" + start + second + "}}";
}

const std::string good_header = one("F32", "[2,3]", "[0,24]");
const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
std::string many_names() {
  std::string many = "{";
  for (int i = 0; i < 300'000; ++i) {
    many += "\"" + std::to_string(i) + "\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,0]},";
  }
  return many + "\"x\":{}}";
}

const std::vector<hostile_file> safetensors_files{
    {"good", safetensors_file(good_header, 24), "good"},
    {"good_with_metadata", safetensors_file(R"({"__metadata__":{"format":"pt"},)" + good_header.substr(1), 24), "good"},
    {"good_with_blanks", safetensors_file(good_header + "      ", 24), "good"},
    {"good_without_tensors", safetensors_file("{}", 0), "good"},
    {"good_and_empty", safetensors_file(one("F32", "[0,3]", "[0,0]"), 0), "good"},
    {"overlap", safetensors_file(two("[4],\"data_offsets\":[0,4]", "[4],\"data_offsets\":[2,6]"), 6), "E0210"},
    {"both_at_one_place", safetensors_file(two("[4],\"data_offsets\":[0,4]", "[4],\"data_offsets\":[0,4]"), 4),
     "E0210"},
    {"hole", safetensors_file(two("[4],\"data_offsets\":[0,4]", "[4],\"data_offsets\":[6,10]"), 10), "E0210"},
    {"hole_at_the_beginning", safetensors_file(one("U8", "[4]", "[1,5]"), 5), "E0210"},
    {"bytes_at_the_end", safetensors_file(good_header, 25), "E0210"},
    {"data_cut_off", safetensors_file(good_header, 23), "E0203"},
    {"data_missing", safetensors_file(good_header, 0), "E0203"},
    {"end_before_begin", safetensors_file(two("[4],\"data_offsets\":[4,0]", "[4],\"data_offsets\":[0,4]"), 4), "E0210"},
    {"end_of_2_64", safetensors_file(one("U8", "[4]", "[0,18446744073709551615]"), 4), "E0203"},
    {"end_beyond_2_64", safetensors_file(one("U8", "[4]", "[0,18446744073709551620]"), 4), "E0210"},
    {"offset_below_zero", safetensors_file(one("U8", "[4]", "[-4,0]"), 4), "E0210"},
    {"offset_with_a_fraction", safetensors_file(one("U8", "[4]", "[0.0,4]"), 4), "E0210"},
    {"offset_in_a_text", safetensors_file(one("U8", "[4]", "[\"0\",4]"), 4), "E0210"},
    {"offsets_one", safetensors_file(one("U8", "[4]", "[0]"), 4), "E0210"},
    {"offsets_three", safetensors_file(one("U8", "[4]", "[0,4,4]"), 4), "E0210"},
    {"offsets_no_array", safetensors_file(one("U8", "[4]", "4"), 4), "E0210"},
    {"offsets_null", safetensors_file(one("U8", "[4]", "null"), 4), "E0210"},
    {"type_that_does_not_exist", safetensors_file(one("F128", "[4]", "[0,4]"), 4), "E0210"},
    {"type_in_small_letters", safetensors_file(one("f32", "[1]", "[0,4]"), 4), "E0210"},
    {"type_below_a_byte", safetensors_file(one("F4", "[8]", "[0,4]"), 4), "E0217"},
    {"type_of_a_megabyte", safetensors_file(one(std::string(1 << 20, 'F'), "[4]", "[0,4]"), 4), "E0210"},
    {"type_that_is_a_number", safetensors_file(R"({"w":{"dtype":5,"shape":[4],"data_offsets":[0,4]}})", 4), "E0210"},
    {"shape_larger_than_the_bytes", safetensors_file(one("F32", "[2,4]", "[0,24]"), 24), "E0210"},
    {"shape_smaller_than_the_bytes", safetensors_file(one("F32", "[2,2]", "[0,24]"), 24), "E0210"},
    {"shape_that_overflows", safetensors_file(one("F32", "[4294967296,4294967296]", "[0,0]"), 0), "E0210"},
    {"shape_that_overflows_with_a_zero", safetensors_file(one("F32", "[4294967296,4294967296,0]", "[0,0]"), 0),
     "E0210"},
    {"shape_of_2_63", safetensors_file(one("U8", "[9223372036854775808,0]", "[0,0]"), 0), "E0210"},
    {"shape_below_zero", safetensors_file(one("F32", "[-2,-3]", "[0,24]"), 24), "E0210"},
    {"shape_of_65", safetensors_file(one("U8", "[1" + repeated(",1", 64) + "]", "[0,1]"), 1), "E0210"},
    {"shape_of_a_million", safetensors_file(one("U8", "[1" + repeated(",1", 1'000'000) + "]", "[0,1]"), 1), "E0210"},
    {"shape_in_a_shape", safetensors_file(one("U8", "[[4]]", "[0,4]"), 4), "E0210"},
    {"name_twice",
     safetensors_file(two("[4],\"data_offsets\":[0,4]", "[4],\"data_offsets\":[4,8]").replace(2, 1, "w"), 8), "E0210"},
    {"member_twice", safetensors_file(R"({"w":{"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]}})", 4),
     "E0210"},
    {"member_missing", safetensors_file(R"({"w":{"dtype":"U8","data_offsets":[0,4]}})", 4), "E0210"},
    {"member_unknown", safetensors_file(R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1}})", 4), "E0210"},
    {"tensor_that_is_a_number", safetensors_file(R"({"w":4})", 4), "E0210"},
    {"tensor_that_is_empty", safetensors_file(R"({"w":{}})", 0), "E0210"},
    {"metadata_twice", safetensors_file(R"({"__metadata__":{},"__metadata__":{}})", 0), "E0210"},
    {"metadata_of_numbers", safetensors_file(R"({"__metadata__":{"a":1}})", 0), "E0210"},
    {"metadata_in_metadata", safetensors_file(R"({"__metadata__":{"a":{"b":"c"}}})", 0), "E0210"},
    {"json_nested", safetensors_file("{\"w\":" + deep + "}", 0), "E0210"},
    {"json_nested_in_metadata", safetensors_file(R"({"__metadata__":{"a":)" + deep + "}}", 0), "E0210"},
    {"json_cut_off", safetensors_file(good_header.substr(0, 20), 24), "E0210"},
    {"json_with_more_behind", safetensors_file(good_header + "{}", 24), "E0210"},
    {"json_that_is_no_utf8", safetensors_file("{\"\xff\xfe\":{}}", 0), "E0210"},
    {"header_longer_than_the_file", little_endian(1000, 8) + good_header, "E0203"},
    {"header_shorter_than_it_is", little_endian(10, 8) + good_header + std::string(24, '\0'), "E0210"},
    {"header_of_2_63", little_endian((std::uint64_t{1} << 63) + 1, 8) + good_header, "E0214"},
    {"header_above_the_limit", little_endian(100'000'001, 8) + good_header, "E0214"},
    {"names_that_take_too_much", safetensors_file(many_names(), 0), "E0214"},
};

class hostile : public ::testing::TestWithParam<hostile_file> {};

TEST_P(hostile, is_refused_or_read) {
  const weights_folder folder;
  EXPECT_THAT(bounded_weights_outcome(folder.write("weights", GetParam().bytes)), HasSubstr(GetParam().code));
}

const auto by_name = [](const auto& each) { return each.param.name; };
INSTANTIATE_TEST_SUITE_P(zip, hostile, ::testing::ValuesIn(zip_files), by_name);
INSTANTIATE_TEST_SUITE_P(safetensors, hostile, ::testing::ValuesIn(safetensors_files), by_name);

TEST(hostile_bomb, is_not_unpacked) {
  const weights_folder folder;
  for (const hostile_file& each : bombs()) {
    EXPECT_THAT(bounded_weights_outcome(folder.write("weights", each.bytes)), HasSubstr(each.code)) << each.name;
  }
}

const std::string good_shard = safetensors_file(one("F32", "[2,3]", "[0,24]"), 24);
constexpr auto index_name = "model.safetensors.index.json";

struct hostile_index {
  std::string name;
  /// "{}" stands for the folder.
  std::string json;
  std::string code;

  friend void PrintTo(const hostile_index& each, std::ostream* out) { *out << each.name; }
};

std::string map_to(const std::string& file, const std::string& key = "w") {
  return R"({"metadata":{"total_size":24},"weight_map":{")" + key + R"(":")" + file + R"("}})";
}

const std::vector<hostile_index> indexes{
    {"good", map_to("a.safetensors"), "good"},
    {"good_of_another_form", R"({"weight_map":{"w":"a.safetensors"},"metadata":{"x":[1,{"weight_map":2}],"y":null}})",
     "good"},
    {"file_above", map_to("../outside.safetensors"), "E0210"},
    {"file_above_by_a_detour", map_to("b/../../outside.safetensors"), "E0210"},
    {"file_in_a_folder", map_to("b/c.safetensors"), "E0210"},
    {"file_by_an_absolute_path", map_to("{}/a.safetensors"), "E0210"},
    {"file_of_the_system", map_to("/etc/passwd"), "E0210"},
    {"file_behind_a_link", map_to("link.safetensors"), "E0210"},
    {"file_that_is_a_folder", map_to("b"), "E0202"},
    {"file_that_is_this_folder", map_to("."), "E0210"},
    {"file_that_is_the_folder_above", map_to(".."), "E0210"},
    {"file_without_a_name", map_to(""), "E0210"},
    {"file_with_a_zero", map_to("a.safetensors\\u0000b"), "E0210"},
    {"file_that_is_missing", map_to("nothing.safetensors"), "E0207"},
    {"file_that_is_the_index", map_to(index_name), "E0207"},
    {"file_that_is_another_index", map_to("other.json"), "E0207"},
    {"file_that_is_a_fifo", map_to("fifo"), "E0210"},
    {"tensor_that_its_file_does_not_have", map_to("a.safetensors", "x"), "E0210"},
    {"tensor_twice", R"({"weight_map":{"w":"a.safetensors","w":"a.safetensors"}})", "E0210"},
    {"map_twice", R"({"weight_map":{"w":"a.safetensors"},"weight_map":{}})", "E0210"},
    {"map_missing", R"({"metadata":{}})", "E0210"},
    {"map_of_numbers", R"({"weight_map":{"w":1}})", "E0210"},
    {"map_of_maps", R"({"weight_map":{"w":{"x":"a.safetensors"}}})", "E0210"},
    {"map_that_is_an_array", R"({"weight_map":["a.safetensors"]})", "E0210"},
    {"map_that_is_a_text", R"({"weight_map":"a.safetensors"})", "E0210"},
    {"json_cut_off", R"({"weight_map":{"w":"a.safe)", "E0210"},
    {"json_nested", R"({"metadata":)" + std::string(1'000'000, '[') + "}", "E0210"},
    {"map_that_is_empty", R"({"weight_map":{}})", "good"},
};

class hostile_folder : public ::testing::TestWithParam<hostile_index> {};

TEST_P(hostile_folder, is_refused_or_read) {
  const weights_folder outer;
  outer.write("outside.safetensors", good_shard);
  const auto inner = outer.path() / "model";
  std::filesystem::create_directories(inner / "b");
  outer.write("model/a.safetensors", good_shard);
  outer.write("model/b/c.safetensors", good_shard);
  outer.write("model/other.json", map_to("a.safetensors"));
  std::filesystem::create_symlink("../outside.safetensors", inner / "link.safetensors");
  ASSERT_EQ(mkfifo((inner / "fifo").c_str(), 0600), 0);
  std::string json = GetParam().json;
  if (const auto at = json.find("{}/"); at != std::string::npos) json.replace(at, 2, inner.string());
  outer.write(std::string("model/") + index_name, json);
  EXPECT_THAT(bounded_weights_outcome(inner), HasSubstr(GetParam().code));
}

INSTANTIATE_TEST_SUITE_P(all, hostile_folder, ::testing::ValuesIn(indexes), by_name);

TEST(folder, of_the_cache_of_hugging_face_has_links_to_its_blobs) {
  const weights_folder outer;
  const auto snapshot = outer.path() / "models--a--b/snapshots/1234";
  std::filesystem::create_directories(snapshot);
  std::filesystem::create_directories(outer.path() / "models--a--b/blobs");
  outer.write("models--a--b/blobs/5678", good_shard);
  outer.write("models--a--b/blobs/9abc", map_to("a.safetensors"));
  std::filesystem::create_symlink("../../blobs/5678", snapshot / "a.safetensors");
  std::filesystem::create_symlink("../../blobs/9abc", snapshot / index_name);
  EXPECT_EQ(weights_outcome(snapshot), "good");
  EXPECT_EQ(weights_outcome(snapshot / index_name), "good");
}

}  // namespace
}  // namespace troupe::testing
