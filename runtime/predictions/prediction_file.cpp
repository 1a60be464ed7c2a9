#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "messages/try.hpp"
#include "runtime/predictions/array_rows.hpp"
#include "runtime/predictions/named_lines.hpp"
#include "runtime/predictions/prediction_output.hpp"
#include "runtime/predictions/prediction_rows.hpp"

namespace troupe {
namespace {

class prediction_file : public row_writer {
 public:
  explicit prediction_file(std::string path) : file_(std::move(path)) {}

  [[nodiscard]] expected<void> open() { return file_.open(); }
  [[nodiscard]] expected<void> finish() override { return file_.publish(); }

 protected:
  [[nodiscard]] expected<void> write(std::span<const std::byte> bytes) {
    return file_.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  prediction_output file_;
};

/// What a peer sent for rows, and is none.
error no_rows(micro_batch_id id, const char* what) {
  return {error_code::wire_malformed, to_string(id), what, "run the same version of Troupe everywhere"};
}

class line_file final : public prediction_file {
 public:
  line_file(std::string path, data_set_ptr data) : prediction_file(std::move(path)), data_(std::move(data)) {}

  [[nodiscard]] expected<void> append(micro_batch_id id, std::span<const std::byte> rows) override {
    if (data_ == nullptr) return write(rows);
    const std::string_view lines(reinterpret_cast<const char*>(rows.data()), rows.size());
    return file_.write(TROUPE_TRY(with_ids(lines, *data_, no_rows(id, "its predictions are no lines"))));
  }

 private:
  data_set_ptr data_;
};

/// The first micro-batch says what the array is. A file without rows is an empty array of int64.
class array_file final : public prediction_file {
 public:
  using prediction_file::prediction_file;

  [[nodiscard]] expected<void> append(micro_batch_id id, std::span<const std::byte> rows) override {
    const auto part = read_array(rows);
    if (!part) return tl::make_unexpected(no_rows(id, "its predictions are no array"));
    if (descr_.empty()) {
      descr_ = part->descr;
      shape_ = part->shape;
      shape_.front() = 0;
      TROUPE_TRY(file_.write(npy_header_text(descr_, shape_)));
    }
    TROUPE_TRY(check(id, *part));
    shape_.front() += part->shape.front();
    return write(part->content);
  }

  [[nodiscard]] expected<void> finish() override {
    if (descr_.empty()) {
      TROUPE_TRY(file_.write(npy_header_text("<i8", {0})));
    } else {
      TROUPE_TRY(file_.write_at_begin(npy_header_text(descr_, shape_)));
    }
    return prediction_file::finish();
  }

 private:
  [[nodiscard]] expected<void> check(micro_batch_id id, const array_part& part) const {
    std::vector<std::int64_t> shape = part.shape;
    shape.front() = shape_.front();
    if (part.descr == descr_ && shape == shape_) return {};
    return fail(error_code::metric_failed, to_string(id) + ", predictions",
                "its samples have values of another type or shape than those before, and a file .npy has one array",
                "write a file .jsonl");
  }

  std::string descr_;
  std::vector<std::int64_t> shape_;
};

template <class File, class... More>
expected<std::shared_ptr<row_writer>> opened(const std::string& file, More&&... more) {
  auto made = std::make_shared<File>(file, std::forward<More>(more)...);
  TROUPE_TRY(made->open());
  return made;
}

}  // namespace

expected<std::shared_ptr<row_writer>> open_prediction_file(const std::string& file, prediction_format format,
                                                           data_set_ptr data) {
  if (format == prediction_format::jsonl) return opened<line_file>(file, std::move(data));
  return opened<array_file>(file);
}

}  // namespace troupe
