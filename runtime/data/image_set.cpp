#include "runtime/data/image_set.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <thread>

#include "messages/check.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "runtime/data/kept_rows.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/image/picture_steps.hpp"
#include "runtime/os/cores.hpp"
#include "runtime/os/crc32c.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {

namespace {

constexpr std::size_t channel_count = 3;

/// A picture in memory, of float32.
std::uint64_t picture_numbers(picture_size size) {
  return channel_count * std::uint64_t{size.width} * size.height;
}

struct image_parts {
  std::unique_ptr<const picture_files> files;
  picture_reader reader;
  picture_size size;
  kept_rows kept;
  std::vector<std::string> reasons = {};
  std::vector<std::string> more_files = {};
  std::string name = {};
  std::string reading = {};
};

class image_set final : public data_set {
 public:
  explicit image_set(image_parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return parts_.kept.size(); }
  [[nodiscard]] std::uint64_t left_out() const noexcept override {
    return parts_.kept.left_out() + parts_.files->left_out();
  }
  [[nodiscard]] std::vector<std::string> left_out_reasons() const override { return parts_.reasons; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override {
    return {channel_count, parts_.size.height, parts_.size.width};
  }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return parts_.files->classes(); }
  [[nodiscard]] std::string name() const override { return parts_.name; }
  [[nodiscard]] std::string reading() const override { return parts_.reading; }
  [[nodiscard]] std::vector<std::string> files() const override {
    std::vector<std::string> all = parts_.files->paths();
    all.insert(all.end(), parts_.more_files.begin(), parts_.more_files.end());
    return all;
  }

  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    TROUPE_CHECK(range.begin < range.end && range.end <= size(), "only samples of the data set are read");
    at::Tensor inputs = TROUPE_TRY(new_tensor(with_rows(range.size(), sample_shape()), at::kFloat, parts_.name));
    at::Tensor labels = TROUPE_TRY(new_tensor(with_rows(range.size(), {}), at::kLong, parts_.name));
    const std::uint64_t numbers = picture_numbers(parts_.size);
    std::span room(inputs.mutable_data_ptr<float>(), range.size() * numbers);
    auto* label = labels.mutable_data_ptr<std::int64_t>();
    std::vector<std::uint8_t> file;
    for (const sample_range& run : parts_.kept.runs(range)) {
      for (std::uint64_t row = run.begin; row < run.end; ++row) {
        TROUPE_TRY(parts_.files->read(row, file));
        TROUPE_TRY(parts_.reader.read(file, parts_.files->place(row), parts_.size, room.first(numbers)));
        room = room.subspan(numbers);
        *label++ = parts_.files->label(row);
      }
    }
    return sample_block{std::move(inputs), std::move(labels)};
  }

 private:
  image_parts parts_;
};

expected<picture_size> size_of_first(const picture_files& files, const picture_steps& steps, bool skips_bad) {
  std::vector<std::uint8_t> file;
  for (std::uint64_t i = 0; i < files.size(); ++i) {
    auto read = files.read(i, file);
    auto size = read ? read_picture_size(file, files.place(i)) : tl::make_unexpected(read.error());
    if (!size && skips_bad) continue;
    if (!size) return size;
    const picture_plan plan = plan_steps(steps, *size);
    if (plan.columns.to <= wanted_side_max && plan.rows.to <= wanted_side_max) {
      return picture_size{plan.columns.count, plan.rows.count};
    }
    return fail(error_code::value_out_of_range, files.place(i), "a side would have more than 16384 pixels",
                "cut pictures to one size, as with crop=224");
  }
  return fail(error_code::data_empty, files.place(0), "no picture can be decoded", "give other pictures");
}

void add_left_out_reason(const std::string& reason, std::vector<std::string>& into) {
  if (into.size() < left_out_reasons_max) into.push_back(printable(reason));
}

/// A picture that was left out.
struct bad_picture {
  std::uint64_t index = 0;
  std::string reason;
};

/// Decodes the pictures [range.begin, range.end).
std::vector<bad_picture> bad_pictures(const image_parts& parts, sample_range range) {
  const picture_files& files = *parts.files;
  std::vector<float> room(picture_numbers(parts.size));
  std::vector<std::uint8_t> file;
  std::vector<bad_picture> bad;
  for (std::uint64_t i = range.begin; i < range.end; ++i) {
    expected<void> done = files.read(i, file);
    if (done) done = parts.reader.read(file, files.place(i), parts.size, room);
    // Pictures of another size are good, and a fault of the options.
    if (done || done.error().code == error_code::data_mismatch) continue;
    const bool is_told = bad.size() < left_out_reasons_max;
    bad.push_back({i, is_told ? done.error().where + ": " + done.error().cause : ""});
  }
  return bad;
}

/// Decodes all pictures, an equal part on each core.
expected<void> leave_out_bad(image_parts& parts) {
  const std::uint64_t rows = parts.files->size();
  const std::uint64_t workers = std::min<std::uint64_t>(usable_cores(), rows);
  std::vector<std::vector<bad_picture>> found(workers);
  const auto check = [&](std::uint64_t part) {
    found[part] = bad_pictures(parts, {rows * part / workers, rows * (part + 1) / workers});
  };
  std::vector<std::thread> threads;
  std::optional<error> refused;
  for (std::uint64_t part = 1; part < workers && !refused; ++part) {
    auto thread = start_thread(parts.name, [&check, part] { check(part); });
    if (!thread) refused = thread.error();
    if (thread) threads.push_back(std::move(*thread));
  }
  if (!refused) check(0);
  for (std::thread& each : threads) each.join();
  if (refused) return tl::make_unexpected(*refused);
  for (const auto& part : found) {
    for (const bad_picture& each : part) {
      parts.kept.leave_out(each.index);
      if (!each.reason.empty()) add_left_out_reason(each.reason, parts.reasons);
    }
  }
  return {};
}

/// A journal compares it: the same pictures in other folders have other labels.
std::string labels_mark(const picture_files& files) {
  std::uint32_t sum = 0;
  for (std::uint64_t i = 0; i < files.size(); ++i) {
    const std::array label{files.label(i)};
    sum = crc32c(std::as_bytes(std::span(label)), sum);
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ",labels-crc32c=%08x", sum);
  return text.data();
}

}  // namespace

expected<data_set_ptr> make_image_set(std::unique_ptr<const picture_files> files, image_choice choice, std::string name,
                                      std::string reading) {
  TROUPE_CHECK(files->size() > 0, "empty sets were refused");
  const auto fixed = fixed_size(choice.steps);
  const picture_size size = fixed ? *fixed : TROUPE_TRY(size_of_first(*files, choice.steps, choice.skips_bad));
  const std::uint64_t rows = files->size();
  image_parts parts{.files = std::move(files),
                    .reader = picture_reader(choice.steps),
                    .size = size,
                    .kept = kept_rows(rows),
                    .more_files = std::move(choice.files),
                    .name = std::move(name)};
  parts.reading = std::move(reading) + labels_mark(*parts.files);
  for (const std::string& each : parts.files->left_out_reasons()) add_left_out_reason(each, parts.reasons);
  if (choice.skips_bad) TROUPE_TRY(leave_out_bad(parts));
  if (parts.kept.size() == 0) {
    return fail(error_code::data_empty, parts.name,
                "none of its " + std::to_string(rows) + " pictures can be decoded; the first: " + parts.reasons.front(),
                "give other pictures");
  }
  return std::make_shared<const image_set>(std::move(parts));
}

}  // namespace troupe
