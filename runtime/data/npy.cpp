#include <algorithm>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/data/cast_names.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/npy_array.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

class npy_set final : public data_set {
 public:
  npy_set(std::string name, npy_array inputs, npy_array labels, std::uint32_t classes)
      : name_(std::move(name)), inputs_(std::move(inputs)), labels_(std::move(labels)), classes_(classes) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return inputs_.rows(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return inputs_.row_shape(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return classes_; }
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::vector<std::string> files() const override { return {inputs_.path(), labels_.path()}; }

  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    TROUPE_CHECK(range.begin <= range.end && range.end <= size(), "only samples of the data set are read");
    expected<at::Tensor> inputs = inputs_.read_rows(range);
    if (!inputs) return tl::make_unexpected(inputs.error());
    expected<at::Tensor> labels = labels_.is_floating() ? labels_.read_rows(range) : labels_.as_int64(range);
    if (!labels) return tl::make_unexpected(labels.error());
    return sample_block{std::move(*inputs), std::move(*labels)};
  }

 private:
  std::string name_;
  npy_array inputs_;
  npy_array labels_;
  std::uint32_t classes_;
};

tl::unexpected<error> no_class(const npy_array& labels, std::uint64_t element, std::int64_t found) {
  return fail(error_code::data_label_out_of_range, labels.path() + ", element " + std::to_string(element),
              "expected an integer label from 0 to " + std::to_string(INT32_MAX) + ", found " + std::to_string(found),
              "save integer labels as class numbers from 0 on, or targets that are no classes as '<f4'");
}

/// Greatest label + 1. Blockwise, so that a large file of labels is never in memory as int64.
expected<std::uint32_t> count_classes(const npy_array& labels) {
  std::int64_t greatest = 0;
  const auto per_row = elements_of(labels.row_shape());
  const std::uint64_t step = std::max<std::uint64_t>(1, limits::decode_block_bytes / sizeof(std::int64_t) / per_row);
  for (std::uint64_t begin = 0; begin < labels.rows(); begin += step) {
    const sample_range rows{begin, std::min(labels.rows(), begin + step)};
    const expected<at::Tensor> block = labels.as_int64(rows);
    if (!block) return tl::make_unexpected(block.error());
    const auto* values = block->const_data_ptr<std::int64_t>();
    for (std::uint64_t i = 0; i < rows.size() * per_row; ++i) {
      if (values[i] < 0 || values[i] >= INT32_MAX) return no_class(labels, begin * per_row + i, values[i]);
      greatest = std::max(greatest, values[i]);
    }
  }
  return static_cast<std::uint32_t>(greatest + 1);
}

tl::unexpected<error> unsigned_inputs(const npy_array& inputs) {
  return fail(error_code::data_bad_format, inputs.path(),
              "inputs of element type '" + inputs.descr() + "', which LibTorch hardly computes with",
              "save it again with numpy.save(path, array.astype('<i8'))");
}

/// INPUTS,LABELS[,DTYPE]
struct npy_paths {
  std::string inputs;
  std::string labels;
  std::string dtype;
};

expected<npy_paths> parse_paths(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  const bool is_complete = std::ranges::none_of(parts, [](const std::string& each) { return each.empty(); });
  if (is_complete && (parts.size() == 2 || parts.size() == 3)) {
    return npy_paths{parts[0], parts[1], parts.size() == 3 ? parts[2] : std::string()};
  }
  return fail(error_code::value_out_of_range, "npy:" + text,
              "expected two paths with one comma between, and perhaps a type behind another, npy:INPUTS,LABELS[,DTYPE]",
              "give both paths, and rename files that have a comma in their name");
}

expected<at::ScalarType> parse_dtype(const npy_paths& paths) {
  if (paths.dtype.empty()) return at::ScalarType::Undefined;
  const at::ScalarType found = cast_type(paths.dtype);
  if (found != at::ScalarType::Undefined) return found;
  std::vector<std::string> known;
  known.reserve(cast_names.size());
  for (const cast_name& each : cast_names) known.emplace_back(each.name);
  return fail(error_code::value_out_of_range, "npy:" + paths.inputs + "," + paths.labels + "," + paths.dtype,
              "expected npy:INPUTS,LABELS[,DTYPE], and there is no type \"" + paths.dtype + "\"",
              suggest_fix(paths.dtype, known));
}

}  // namespace

expected<data_set_ptr> open_npy(const std::string& text) {
  const expected<npy_paths> paths = parse_paths(text);
  if (!paths) return tl::make_unexpected(paths.error());
  const expected<at::ScalarType> cast = parse_dtype(*paths);
  if (!cast) return tl::make_unexpected(cast.error());
  expected<npy_array> inputs = npy_array::open(paths->inputs);
  if (!inputs) return tl::make_unexpected(inputs.error());
  if (inputs->dtype() == at::ScalarType::Undefined) return unsigned_inputs(*inputs);
  expected<npy_array> labels = npy_array::open(paths->labels);
  if (!labels) return tl::make_unexpected(labels.error());
  if (inputs->rows() != labels->rows()) {
    return fail(error_code::data_mismatch, inputs->path() + ", " + labels->path(),
                std::to_string(inputs->rows()) + " samples but " + std::to_string(labels->rows()) + " labels",
                "give the inputs and labels of the same set");
  }
  expected<std::uint32_t> classes = labels->is_floating() ? expected<std::uint32_t>(0U) : count_classes(*labels);
  if (!classes) return tl::make_unexpected(classes.error());
  data_set_ptr made = std::make_shared<const npy_set>("npy:" + paths->inputs + "," + paths->labels, std::move(*inputs),
                                                      std::move(*labels), *classes);
  return paths->dtype.empty() ? made : cast_inputs(std::move(made), *cast);
}

}  // namespace troupe
