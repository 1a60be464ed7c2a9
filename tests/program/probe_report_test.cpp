// Goal: what the process that tries a model out reports arrives whole, and whatever else it writes, or leaves
// unwritten, is an error of the driver's and nothing worse. Method: reports that go through the file; the same files
// cut short, with bytes changed at random, and with texts that say what cannot be.
#include "program/start/probe_report.hpp"

#include <random>

#include <ATen/Functions.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

probe_report sample_report() {
  const at::Tensor input = at::arange(24, at::kFloat).reshape({2, 3, 4});
  // A mask beside what the layer before gave.
  const std::vector<at::Tensor> two = {input.transpose(1, 2), at::arange(3)};
  cut_report cut{.name = "lenet",
                 .boundaries = {0, 2, 3},
                 .layers = {{"0 Conv2d", "1 \xff"}, {"2 Linear"}},
                 .warm_up = {make_tensors(input), std::make_shared<const tensor_set>(two)}};
  return {.fingerprint = 0xfedcba9876543210, .cuts = {cut, {}}, .between_bytes = 96, .device_channels = {1, 5}};
}

/// A file, and its bytes.
struct written {
  probe_file file = *probe_file::make();
  int fd = file.duplicate()->release();
  ~written() { ::close(fd); }

  [[nodiscard]] std::string bytes() const {
    struct stat size {};
    ::fstat(fd, &size);
    std::string all(static_cast<std::size_t>(size.st_size), '\0');
    EXPECT_EQ(::pread(fd, all.data(), all.size(), 0), size.st_size);
    return all;
  }
  void put(const std::string& all) const {
    ASSERT_EQ(::ftruncate(fd, 0), 0);
    ASSERT_EQ(::pwrite(fd, all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  }
};

TEST(probe_report, arrives_as_it_was_written) {
  const written one;
  ASSERT_TRUE(one.file.write(sample_report()));
  const auto read = one.file.read();
  ASSERT_TRUE(read && *read);
  const probe_report& found = **read;
  EXPECT_EQ(found.fingerprint, 0xfedcba9876543210);
  EXPECT_EQ(found.between_bytes, 96);
  EXPECT_EQ(found.device_channels, (std::vector<std::uint64_t>{1, 5}));
  ASSERT_EQ(found.cuts.size(), 2);
  const cut_report& cut = found.cuts.front();
  EXPECT_EQ(cut.name, "lenet");
  EXPECT_EQ(cut.boundaries, (std::vector<std::uint64_t>{0, 2, 3}));
  EXPECT_EQ(cut.layers[0][0], "0 Conv2d");
  EXPECT_THAT(cut.layers[0][1], HasSubstr("1 ")) << "a name need not be UTF-8";
  ASSERT_EQ(cut.warm_up.size(), 2);
  const auto sent = sample_report();
  for (std::size_t part = 0; part < 2; ++part) {
    const std::vector<at::Tensor>& before = as_tensors(sent.cuts[0].warm_up[part]).tensors();
    const std::vector<at::Tensor>& after = as_tensors(cut.warm_up[part]).tensors();
    ASSERT_EQ(after.size(), part + 1);
    for (std::size_t each = 0; each < after.size(); ++each) {
      EXPECT_TRUE(at::equal(before.at(each), after[each]));
      EXPECT_EQ(before.at(each).strides(), after[each].strides());
    }
  }
  EXPECT_TRUE(check_cut(cut, 2));
}

TEST(probe_report, may_be_an_error) {
  const written one;
  ASSERT_TRUE(one.file.write(fail(error_code::model_not_usable, "model.pt", "a cause", "a fix")));
  const auto read = one.file.read();
  ASSERT_TRUE(read && !*read);
  EXPECT_EQ(to_string((*read).error()), to_string(error{error_code::model_not_usable, "model.pt", "a cause", "a fix"}));
}

TEST(probe_report, that_was_never_written_is_none_but_its_place_is_known) {
  const written one;
  EXPECT_FALSE(one.file.read());
  EXPECT_FALSE(one.file.place());
  one.file.note("the first stage");
  one.file.note("stage " + std::string(1000, 'x'));
  EXPECT_FALSE(one.file.read());
  EXPECT_EQ(one.file.place()->size(), limits::probe_place_bytes_max);
  EXPECT_THAT(*one.file.place(), HasSubstr("stage x"));
}

TEST(probe_report, leaves_out_a_tensor_that_has_no_bytes) {
  auto report = sample_report();
  report.cuts[0].warm_up[0] = make_tensors(at::eye(3).to_sparse());
  const written one;
  ASSERT_TRUE(one.file.write(report));
  const auto read = one.file.read();
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((**read).cuts[0].warm_up[0], nullptr);
  EXPECT_NE((**read).cuts[0].warm_up[1], nullptr);
}

TEST(probe_report, that_is_cut_short_is_refused_or_none) {
  const written one;
  ASSERT_TRUE(one.file.write(sample_report()));
  const std::string all = one.bytes();
  for (std::size_t size = 0; size < all.size(); size += 7) {
    one.put(all.substr(0, size));
    const auto read = one.file.read();
    EXPECT_FALSE(read && *read) << size;
  }
}

TEST(probe_report, with_other_bytes_is_refused_or_still_a_report) {
  const written one;
  ASSERT_TRUE(one.file.write(sample_report()));
  const std::string all = one.bytes();
  std::mt19937_64 random(7);
  std::size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string other = all;
    for (int change = 0; change < 3; ++change) other[random() % other.size()] = static_cast<char>(random());
    one.put(other);
    const auto read = one.file.read();
    if (!read || !*read) {
      ++refused;
      continue;
    }
    for (const cut_report& cut : (**read).cuts) {
      for (const payload_ptr& input : cut.warm_up) {
        if (input != nullptr) {
          EXPECT_FALSE(as_tensors(input).tensors().empty());
        }
      }
    }
  }
  EXPECT_GT(refused, 500);
}

/// The file of a report whose text is this one.
std::string file_with(const std::string& text) {
  std::string all(256, '\0');
  const std::uint64_t size = text.size();
  all.replace(0, sizeof size, std::string(reinterpret_cast<const char*>(&size), sizeof size));
  return all + text + std::string(4096, '\0');
}

TEST(probe_report, with_a_text_of_something_else_is_refused) {
  const std::vector<std::string> texts = {
      "{}",
      "[]",
      "null",
      "7",
      "\"text\"",
      "{",
      std::string(100'000, '['),
      R"({"error": 3})",
      R"({"error": {"code": "E9999", "where": "", "cause": "", "fix": ""}})",
      R"({"fingerprint": -1, "between_bytes": 0, "cuts": []})",
      R"({"fingerprint": 1.5, "between_bytes": 0, "cuts": []})",
      R"({"fingerprint": 1, "between_bytes": 18446744073709551615, "cuts": []})",
      R"({"fingerprint": 1, "between_bytes": 0, "cuts": {}})",
      R"({"fingerprint": 1, "between_bytes": 0, "cuts": [{"name": 1}]})",
      R"({"fingerprint": 1, "between_bytes": 0, "cuts": [{"name": "", "boundaries": [0, 1], "layers": [["a"]],)"
      R"( "warm_up": [[18446744073709551552, 64]]}]})",
      R"({"fingerprint": 1, "between_bytes": 0, "cuts": [{"name": "", "boundaries": [0, 1], "layers": [["a"]],)"
      R"( "warm_up": [[64, 18446744073709551615]]}]})",
      R"({"fingerprint": 1, "between_bytes": 0, "cuts": [{"name": "", "boundaries": [0, 1], "layers": [["a"]],)"
      R"( "warm_up": [[1, 64]]}]})",
      R"({"fingerprint": 1, "between_bytes": 0, "cuts": [{"name": "", "boundaries": [0, 1], "layers": [["a"]],)"
      R"( "warm_up": [[0, 64]]}]})"};
  for (const std::string& text : texts) {
    const written one;
    one.put(file_with(text));
    const auto read = one.file.read();
    ASSERT_TRUE(read) << text.substr(0, 200);
    ASSERT_FALSE(*read) << text.substr(0, 200);
    EXPECT_EQ((*read).error().code, error_code::wire_malformed);
  }
}

TEST(probe_report, whose_cut_no_chain_can_have_is_refused) {
  const cut_report good = sample_report().cuts.front();
  EXPECT_FALSE(check_cut(good, 1));
  EXPECT_FALSE(check_cut(good, 3));
  EXPECT_FALSE(check_cut({}, 1));
  for (const auto& boundaries : std::vector<std::vector<std::uint64_t>>{
           {1, 2, 3}, {0, 3, 2}, {0, 2, 4}, {0, 2, std::uint64_t{1} << 63}, {0, 2}, {0, 1, 3}}) {
    cut_report other = good;
    other.boundaries = boundaries;
    EXPECT_FALSE(check_cut(other, 2)) << ::testing::PrintToString(boundaries);
  }
}

}  // namespace
}  // namespace troupe::testing
