// Goal: with any number of data workers a source gives the same micro-batches, bits and errors, also where it is asked
// again, begins in the middle, or is left in the middle. Method: sets that note who reads what, against one worker.
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/data/data_set_source.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "sample_files.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

/// Sample i is i, i + 1, ...; the width depends on the range where sizes vary.
class noting_set final : public data_set {
 public:
  explicit noting_set(std::uint64_t size, bool varies = false) : size_(size), varies_(varies) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {3}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return "noting"; }
  [[nodiscard]] bool has_varying_sizes() const noexcept override { return varies_; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    {
      const std::lock_guard lock(mutex_);
      readers.insert(std::this_thread::get_id());
    }
    if (range.begin <= bad_sample && bad_sample < range.end) {
      if (throws) throw std::runtime_error("sample " + std::to_string(bad_sample));
      return fail(error_code::data_bad_format, "sample " + std::to_string(bad_sample), "is bad", "none");
    }
    const auto rows = static_cast<std::int64_t>(range.size());
    const auto width = varies_ ? 1 + static_cast<std::int64_t>(range.begin % 5) : 3;
    at::Tensor first = at::arange(static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end));
    return sample_block{(first.unsqueeze(1) + at::arange(width)).to(at::kFloat), first.reshape({rows})};
  }

  std::uint64_t bad_sample = UINT64_MAX;
  bool throws = false;
  mutable std::set<std::thread::id> readers;

 private:
  std::uint64_t size_;
  bool varies_;
  mutable std::mutex mutex_;
};

struct copied {
  sample_range samples;
  at::Tensor inputs;
  at::Tensor labels;
};

copied copy_of(const loaded_micro_batch& given) {
  const auto tensor = [](const payload_ptr& payload) {
    return static_cast<const tensor_set&>(*payload).tensors().front().clone();
  };
  return {given.samples, tensor(given.tensors), tensor(given.labels)};
}

void expect_same(const copied& a, const copied& b) {
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_TRUE(at::equal(a.inputs, b.inputs));
  EXPECT_TRUE(at::equal(a.labels, b.labels));
}

std::vector<copied> all_of(data_set_source& source) {
  std::vector<copied> all;
  while (const auto next = get(source.next())) all.push_back(copy_of(*next));
  return all;
}

TEST(data_workers, give_the_same_micro_batches_for_every_number) {
  for (const bool varies : {false, true}) {
    const auto data = std::make_shared<noting_set>(3001, varies);
    for (const std::uint64_t first : {0U, 3U, 60U}) {
      data_set_source plain(data, 50, 3000, first);
      const std::vector<copied> wanted = all_of(plain);
      ASSERT_EQ(wanted.size(), 60 - first);
      for (const std::uint32_t workers : {2U, 3U, 8U}) {
        data_set_source source(data, 50, 3000, first, workers);
        const std::vector<copied> found = all_of(source);
        ASSERT_EQ(found.size(), wanted.size());
        for (std::size_t i = 0; i < found.size(); ++i) expect_same(found[i], wanted[i]);
        EXPECT_EQ(get(source.next()), std::nullopt);
      }
    }
  }
}

TEST(data_workers, give_any_again_between_others) {
  const auto data = std::make_shared<noting_set>(3001, true);
  data_set_source plain(data, 50);
  const std::vector<copied> wanted = all_of(plain);
  data_set_source source(data, 50, std::nullopt, 0, 3);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    expect_same(copy_of(*get(source.next())), wanted[i]);
    expect_same(copy_of(get(source.reread(i / 2))), wanted[i / 2]);
    expect_same(copy_of(get(source.reread(i))), wanted[i]);
  }
}

TEST(data_workers, one_is_the_thread_that_asks) {
  const auto data = std::make_shared<noting_set>(3000);
  data_set_source source(data, 50);
  static_cast<void>(all_of(source));
  EXPECT_EQ(data->readers, std::set{std::this_thread::get_id()});
  const auto other = std::make_shared<noting_set>(3000);
  data_set_source threaded(other, 50, std::nullopt, 0, 2);
  static_cast<void>(all_of(threaded));
  EXPECT_FALSE(other->readers.contains(std::this_thread::get_id()));
}

TEST(data_workers, tell_the_first_bad_sample_and_try_again) {
  for (const bool throws : {false, true}) {
    for (const std::uint32_t workers : {1U, 2U, 5U}) {
      const auto data = std::make_shared<noting_set>(3000);
      data->bad_sample = 1300;
      data->throws = throws;
      data_set_source source(data, 50, std::nullopt, 0, workers);
      std::uint64_t before = 0;
      expected<std::optional<loaded_micro_batch>> next;
      while ((next = source.next())) ++before;
      EXPECT_EQ(before, 1200U / 50) << "blocks of 300";
      EXPECT_THAT(to_string(next.error()), HasSubstr("sample 1300"));
      EXPECT_FALSE(source.next());
      data->bad_sample = UINT64_MAX;
      EXPECT_EQ(get(source.next())->samples, (sample_range{1200, 1250}));
      EXPECT_EQ(all_of(source).size(), 3000U / 50 - 25);
    }
  }
}

TEST(data_workers, end_when_the_source_is_left) {
  const auto data = std::make_shared<noting_set>(100000, true);
  for (int taken = 1; taken < 10; ++taken) {
    data_set_source source(data, 10, std::nullopt, 0, 4);
    for (int i = 0; i < taken; ++i) static_cast<void>(get(source.next()));
  }
  EXPECT_EQ(data.use_count(), 1) << "no thread holds it";
}

}  // namespace
}  // namespace troupe
