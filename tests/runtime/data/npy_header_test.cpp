// Goal: nothing but a well-formed header is taken for one. Method: every prefix, a table of malformed dictionaries, and
// every value of every byte.
#include "runtime/data/npy_header.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_files.hpp"

namespace troupe {
namespace {

using testing::bytes;
using testing::dictionary;
using ::testing::HasSubstr;
using testing::npy;

TEST(npy_header, preamble) {
  const bytes good = npy(dictionary("<f4", "(2, 2)"), {});
  ASSERT_TRUE(parse_npy_header("f", good).has_value());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(parse_npy_header("f", std::span(good).first(size)).error().code, error_code::data_truncated) << size;
  }
  for (std::size_t at = 0; at < 8; ++at) {
    bytes bad = good;
    bad[at] = 9;
    EXPECT_EQ(parse_npy_header("f", bad).error().code, error_code::data_bad_format) << at;
  }
  bytes greedy = npy(dictionary("<f4", "(2, 2)"), {}, 2);
  greedy[11] = 0x7f;
  EXPECT_THAT(parse_npy_header("f", greedy).error().cause, HasSubstr("limit"));
}

TEST(npy_header, an_archive_of_arrays_is_told_apart) {
  bytes archive = npy(dictionary("<f4", "(2, 2)"), {});
  std::copy_n("PK\x03\x04", 4, archive.begin());
  const auto refused = parse_npy_header("x.npz", archive);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().cause, HasSubstr("archive of arrays (.npz)"));
  EXPECT_THAT(refused.error().fix, HasSubstr("write npz:FILE"));
}

TEST(npy_header, malformed_dictionaries) {
  const std::string d = "'descr': '<f4'";
  const std::string f = "'fortran_order': False";
  const std::string s = "'shape': (2,)";
  const std::string braced = "{" + d + ", " + f + ", " + s + "}";
  ASSERT_TRUE(parse_npy_header("f", npy(braced, {})).has_value());
  std::vector<std::string> bad = {"",
                                  "{",
                                  "}",
                                  "{}",
                                  "[]",
                                  d,
                                  "{" + d + "}",
                                  "{" + d + ", " + f + "}",
                                  braced + "}",
                                  braced + ";",
                                  braced + " #",
                                  "{" + d + " " + f + ", " + s + "}",
                                  "{," + d + ", " + f + ", " + s + "}",
                                  "{" + d + ",, " + f + ", " + s + "}",
                                  "{" + d + ", " + d + ", " + f + ", " + s + "}",
                                  "{" + d + ", " + f + ", " + s + ", 'extra': 1}",
                                  "{" + d + ", " + f + ", " + f + "}"};
  for (const char* shape : {"(2)", "(2", "2", "[2]", "(,)", "(2,,3)", "(-2,)", "(2.0,)", "(02,)", "(2L,)", "(+2,)",
                            "(0x2,)", "(2 3)", "None", "(9223372036854775808,)", "((2,),)"}) {
    bad.push_back("{" + d + ", " + f + ", 'shape': " + shape + "}");
  }
  for (const char* order : {"false", "0", "None", "'False'", "Falsehood", ""}) {
    bad.push_back("{" + d + ", 'fortran_order': " + order + ", " + s + "}");
  }
  for (const char* descr : {"[('a', '<f4')]", "'<f4", "<f4", "\"<f4'", "'<\\f4'", "None", ""}) {
    bad.push_back("{'descr': " + std::string(descr) + ", " + f + ", " + s + "}");
  }
  std::string deep = "(";
  for (int i = 0; i < 40; ++i) deep += "1, ";
  bad.push_back("{" + d + ", " + f + ", 'shape': " + deep + ")}");
  for (const std::string& text : bad) {
    const expected<npy_header> header = parse_npy_header("f", npy(text, {}));
    ASSERT_FALSE(header.has_value()) << text;
    EXPECT_EQ(header.error().code, error_code::data_bad_format) << text;
    EXPECT_THAT(header.error().where, HasSubstr("byte ")) << text;
  }
}

TEST(npy_header, no_single_byte_change_crashes_or_moves_the_data) {
  const bytes good = npy(dictionary("<f4", "(2, 2)"), {});
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      bytes changed = good;
      changed[at] = static_cast<std::uint8_t>(value);
      const expected<npy_header> header = parse_npy_header("f", changed);
      if (header.has_value()) {
        EXPECT_LE(header->data_offset, good.size());
      }
    }
  }
}

}  // namespace
}  // namespace troupe
