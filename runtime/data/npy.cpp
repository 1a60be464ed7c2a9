#include <algorithm>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/kept_rows.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/npy_array.hpp"
#include "runtime/data/npy_path.hpp"

namespace troupe {

namespace {

using row_reader = expected<at::Tensor> (npy_array::*)(sample_range) const;

/// The rows of all runs behind each other.
expected<at::Tensor> read_runs(const npy_array& array, const std::vector<sample_range>& runs, row_reader reader) {
  if (runs.size() == 1) return (array.*reader)(runs.front());
  std::uint64_t rows = 0;
  for (const sample_range& run : runs) rows += run.size();
  expected<at::Tensor> result;
  std::int64_t at = 0;
  for (const sample_range& run : runs) {
    expected<at::Tensor> part = (array.*reader)(run);
    if (!part) return part;
    if (at == 0) result = new_tensor(with_rows(rows, array.row_shape()), part->scalar_type(), array.path());
    if (!result) return result;
    result->narrow(0, at, part->size(0)).copy_(*part);
    at += part->size(0);
  }
  return result;
}

/// Integer labels are classes, and [N, 1] is a column of them, as Keras has it.
bool is_class_column(const npy_array& labels) {
  return !labels.is_floating() && labels.row_shape() == std::vector<std::int64_t>{1};
}

class npy_set final : public data_set {
 public:
  npy_set(std::string name, std::string reading, npy_array inputs, npy_array labels, kept_rows rows,
          std::uint32_t classes)
      : name_(std::move(name)),
        reading_(std::move(reading)),
        inputs_(std::move(inputs)),
        labels_(std::move(labels)),
        rows_(std::move(rows)),
        classes_(classes) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return rows_.size(); }
  [[nodiscard]] std::uint64_t left_out() const noexcept override { return rows_.left_out(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return inputs_.row_shape(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return classes_; }
  [[nodiscard]] std::string name() const override { return name_ + reading_; }
  [[nodiscard]] std::string reading() const override { return reading_; }
  [[nodiscard]] std::vector<std::string> files() const override { return {inputs_.path(), labels_.path()}; }

  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const std::vector<sample_range> runs = rows_.runs(range);
    at::Tensor inputs = TROUPE_TRY(read_runs(inputs_, runs, &npy_array::read_rows));
    at::Tensor labels =
        TROUPE_TRY(read_runs(labels_, runs, labels_.is_floating() ? &npy_array::read_rows : &npy_array::as_int64));
    return sample_block{std::move(inputs), is_class_column(labels_) ? labels.squeeze(1) : std::move(labels)};
  }

 private:
  std::string name_;
  std::string reading_;
  npy_array inputs_;
  npy_array labels_;
  kept_rows rows_;
  std::uint32_t classes_;
};

tl::unexpected<error> no_class(const npy_array& labels, const npy_path& path, std::uint64_t element,
                               std::int64_t found) {
  const bool is_beyond = labels.type() == npy_type::u8 && found < 0;
  const std::string label = is_beyond ? std::to_string(static_cast<std::uint64_t>(found)) : std::to_string(found);
  std::string fix = "save integer labels as class numbers from 0 on, or targets that are no classes as '<f4'";
  if (found < 0 && !is_beyond && !path.ignored && elements_of(labels.row_shape()) == 1) {
    fix = "leave out the samples with this label, npy:" + path.text + ",ignore=" + label + ", or " + fix;
  }
  return fail(error_code::data_label_out_of_range, labels.path() + ", element " + std::to_string(element),
              "expected an integer label from 0 to " + std::to_string(INT32_MAX) + ", found " + label, std::move(fix));
}

/// Goes through all labels, and leaves samples with the ignored one out. Gives the greatest other label + 1. Blockwise,
/// so that a large file of labels is never in memory as int64.
expected<std::uint32_t> count_classes(const npy_array& labels, const npy_path& path, kept_rows& rows) {
  std::int64_t greatest = 0;
  const auto per_row = elements_of(labels.row_shape());
  const std::uint64_t step = std::max<std::uint64_t>(1, limits::decode_block_bytes / sizeof(std::int64_t) / per_row);
  for (std::uint64_t begin = 0; begin < labels.rows(); begin += step) {
    const sample_range block{begin, std::min(labels.rows(), begin + step)};
    const at::Tensor found = TROUPE_TRY(labels.as_int64(block));
    const auto* values = found.const_data_ptr<std::int64_t>();
    for (std::uint64_t i = 0; i < block.size() * per_row; ++i) {
      if (path.ignored == values[i]) {
        rows.leave_out(begin + i);
        continue;
      }
      if (values[i] < 0 || values[i] >= INT32_MAX) return no_class(labels, path, begin * per_row + i, values[i]);
      greatest = std::max(greatest, values[i]);
    }
  }
  return static_cast<std::uint32_t>(greatest + 1);
}

tl::unexpected<error> needs_a_type(const npy_array& inputs, const npy_path& path) {
  return fail(
      error_code::data_bad_format, inputs.path(),
      "inputs of element type '" + inputs.descr() + "', which LibTorch hardly computes with",
      "have them cast, npy:" + path.text + ",float32, or save them again with numpy.save(path, array.astype('<i8'))");
}

/// Which label is ignored can be said of one class per sample.
expected<void> check_ignored(const npy_array& labels, const npy_path& path) {
  if (!path.ignored || (!labels.is_floating() && elements_of(labels.row_shape()) == 1)) return {};
  return fail(error_code::value_out_of_range, "npy:" + path.text,
              "ignore= needs one integer label per sample, found element type '" + labels.descr() + "' with " +
                  std::to_string(elements_of(labels.row_shape())) + " per sample",
              "leave ignore= out, and save the samples that count alone");
}

}  // namespace

expected<data_set_ptr> open_npy(const std::string& text) {
  const npy_path path = TROUPE_TRY(parse_npy_path(text));
  npy_array inputs = TROUPE_TRY(npy_array::open(path.inputs));
  if (inputs.is_castable_only() && !path.dtype) return needs_a_type(inputs, path);
  npy_array labels = TROUPE_TRY(npy_array::open(path.labels));
  if (inputs.rows() != labels.rows()) {
    return fail(error_code::data_mismatch, inputs.path() + ", " + labels.path(),
                std::to_string(inputs.rows()) + " samples but " + std::to_string(labels.rows()) + " labels",
                "give the inputs and labels of the same set");
  }
  TROUPE_TRY(check_ignored(labels, path));
  kept_rows rows(labels.rows());
  std::uint32_t classes =
      TROUPE_TRY(labels.is_floating() ? expected<std::uint32_t>(0U) : count_classes(labels, path, rows));
  const std::string name = "npy:" + path.inputs + "," + path.labels;
  const std::string reading = path.ignored ? ",ignore=" + std::to_string(*path.ignored) : std::string();
  if (rows.size() == 0) {
    return fail(error_code::data_empty, name + reading,
                "all " + std::to_string(rows.left_out()) + " samples have the ignored label",
                "ignore another label, or none");
  }
  data_set_ptr made =
      std::make_shared<const npy_set>(name, reading, std::move(inputs), std::move(labels), std::move(rows), classes);
  return path.dtype ? cast_inputs(std::move(made), *path.dtype) : made;
}

}  // namespace troupe
