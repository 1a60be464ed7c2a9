#include "runtime/data/array_set.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/data/kept_rows.hpp"
#include "runtime/data/new_tensor.hpp"

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

/// How many columns of a mask [N, L] it takes to have all that are not 0; 1 at the least.
std::int64_t longest_row(const at::Tensor& mask) {
  const std::int64_t length = mask.size(1);
  const auto* values = mask.const_data_ptr<std::int64_t>();
  std::int64_t longest = 1;
  for (std::int64_t row = 0; row < mask.size(0); ++row) {
    for (std::int64_t column = length; column > longest; --column) {
      if (values[row * length + column - 1] == 0) continue;
      longest = column;
      break;
    }
  }
  return longest;
}

/// The first `kept` places of all tensors whose axis behind the samples has `length`.
named_tensors trimmed(const named_tensors& all, std::int64_t length, std::int64_t kept) {
  named_tensors made;
  for (const auto& [name, tensor] : all) {
    const bool has_places = tensor.dim() >= 2 && tensor.size(1) == length;
    made.set(name, has_places ? tensor.narrow(1, 0, kept) : tensor);
  }
  return made;
}

class array_set final : public data_set {
 public:
  array_set(array_files from, kept_rows rows, std::uint32_t classes)
      : from_(std::move(from)), rows_(std::move(rows)), classes_(classes) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return rows_.size(); }
  [[nodiscard]] std::uint64_t left_out() const noexcept override { return rows_.left_out(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override {
    std::vector<std::int64_t> largest;
    for (const named_array& each : from_.inputs) {
      std::vector<std::int64_t> shape = each.array.row_shape();
      if (&each == &from_.inputs.front() || elements_of(shape) > elements_of(largest)) largest = std::move(shape);
    }
    return largest;
  }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return classes_; }
  [[nodiscard]] std::string name() const override { return from_.name; }
  [[nodiscard]] std::string reading() const override { return from_.reading; }
  [[nodiscard]] std::vector<std::string> files() const override { return from_.files; }
  [[nodiscard]] bool has_varying_sizes() const noexcept override { return from_.mask.has_value(); }

  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const std::vector<sample_range> runs = rows_.runs(range);
    sample_block block;
    for (const auto& [name, array] : from_.inputs) {
      block.inputs.set(name, TROUPE_TRY(read_runs(array, runs, &npy_array::read_rows)));
    }
    for (const auto& [name, array] : from_.labels) {
      at::Tensor labels =
          TROUPE_TRY(read_runs(array, runs, array.is_floating() ? &npy_array::read_rows : &npy_array::as_int64));
      block.labels.set(name, is_class_column(array) ? labels.squeeze(1) : std::move(labels));
    }
    if (from_.mask) {
      const std::int64_t length = from_.mask->row_shape().front();
      const std::int64_t kept = longest_row(TROUPE_TRY(read_runs(*from_.mask, runs, &npy_array::as_int64)));
      block.inputs = trimmed(block.inputs, length, kept);
      block.labels = trimmed(block.labels, length, kept);
    }
    return block;
  }

 private:
  array_files from_;
  kept_rows rows_;
  std::uint32_t classes_;
};

tl::unexpected<error> no_class(const npy_array& labels, const array_files& from, std::uint64_t element,
                               std::int64_t found) {
  const bool is_beyond = labels.type() == npy_type::u8 && found < 0;
  const std::string label = is_beyond ? std::to_string(static_cast<std::uint64_t>(found)) : std::to_string(found);
  std::string fix = "save integer labels as class numbers from 0 on, or targets that are no classes as '<f4'";
  const bool can_ignore = from.labels.size() == 1 && elements_of(labels.row_shape()) == 1;
  if (found < 0 && !is_beyond && !from.options.ignored && can_ignore) {
    fix = "leave out the samples with this label, " + from.specification + ",ignore=" + label + ", or " + fix;
  }
  return fail(error_code::data_label_out_of_range, labels.path() + ", element " + std::to_string(element),
              "expected an integer label from 0 to " + std::to_string(INT32_MAX) + ", found " + label, std::move(fix));
}

/// Goes through all labels, and leaves samples with the ignored one out. Gives the greatest other label + 1. Blockwise,
/// so that a large file of labels is never in memory as int64.
expected<std::uint32_t> count_classes(const npy_array& labels, const array_files& from, kept_rows& rows) {
  std::int64_t greatest = 0;
  const auto per_row = elements_of(labels.row_shape());
  const std::uint64_t step = std::max<std::uint64_t>(1, limits::decode_block_bytes / sizeof(std::int64_t) / per_row);
  for (std::uint64_t begin = 0; begin < labels.rows(); begin += step) {
    const sample_range block{begin, std::min(labels.rows(), begin + step)};
    const at::Tensor found = TROUPE_TRY(labels.as_int64(block));
    const auto* values = found.const_data_ptr<std::int64_t>();
    for (std::uint64_t i = 0; i < block.size() * per_row; ++i) {
      if (from.options.ignored == values[i]) {
        rows.leave_out(begin + i);
        continue;
      }
      if (values[i] < 0 || values[i] >= INT32_MAX) return no_class(labels, from, begin * per_row + i, values[i]);
      greatest = std::max(greatest, values[i]);
    }
  }
  return static_cast<std::uint32_t>(greatest + 1);
}

/// Integers among several inputs are ids and masks, and are not cast.
expected<void> check_types(const array_files& from) {
  const bool is_only = from.inputs.size() == 1;
  for (const named_array& each : from.inputs) {
    if (!each.array.is_castable_only() || (is_only && from.options.dtype)) continue;
    const std::string save_again = "save them again with numpy.save(path, array.astype('<i8'))";
    return fail(error_code::data_bad_format, each.array.path(),
                "inputs of element type '" + each.array.descr() + "', which LibTorch hardly computes with",
                is_only ? "have them cast, " + from.specification + ",float32, or " + save_again : save_again);
  }
  return {};
}

expected<void> check_lengths(const array_files& from) {
  const npy_array& first = from.inputs.front().array;
  const auto check = [&](const named_array& each, const std::string& what) -> expected<void> {
    if (each.array.rows() == first.rows()) return {};
    return fail(error_code::data_mismatch, first.path() + ", " + each.array.path(),
                std::to_string(first.rows()) + " samples but " + std::to_string(each.array.rows()) + " " + what,
                "give the inputs and labels of the same set");
  };
  for (const named_array& each : from.inputs) TROUPE_TRY(check(each, "rows of " + each.name));
  for (const named_array& each : from.labels) TROUPE_TRY(check(each, "labels"));
  return from.mask ? check({"", *from.mask}, "rows of the mask") : expected<void>{};
}

/// Which label is ignored can be said of one class per sample.
expected<void> check_ignored(const array_files& from) {
  if (!from.options.ignored) return {};
  const npy_array& labels = from.labels.front().array;
  if (from.labels.size() > 1) {
    return fail(error_code::value_out_of_range, from.specification,
                "ignore= needs one label per sample, and there are " + std::to_string(from.labels.size()),
                "leave ignore= out, and save the samples that count alone");
  }
  if (!labels.is_floating() && elements_of(labels.row_shape()) == 1) return {};
  return fail(error_code::value_out_of_range, from.specification,
              "ignore= needs one integer label per sample, found element type '" + labels.descr() + "' with " +
                  std::to_string(elements_of(labels.row_shape())) + " per sample",
              "leave ignore= out, and save the samples that count alone");
}

expected<void> check_mask(const array_files& from) {
  if (!from.mask || (!from.mask->is_floating() && from.mask->row_shape().size() == 1)) return {};
  return fail(error_code::value_out_of_range, from.specification,
              "trim= needs a mask of integers [samples, length], found element type '" + from.mask->descr() + "' and " +
                  std::to_string(from.mask->row_shape().size() + 1) + " axes",
              "name the attention mask, or leave trim= out");
}

}  // namespace

expected<void> open_arrays(const array_roles& roles,
                           const std::function<expected<npy_array>(const std::string& name)>& open, array_files& into) {
  std::map<std::string, npy_array> opened;
  const auto array = [&](const std::string& name) -> expected<npy_array> {
    if (!opened.contains(name)) opened.emplace(name, TROUPE_TRY(open(name)));
    return opened.at(name);
  };
  for (const auto& [names, arrays] : {std::pair(&roles.inputs, &into.inputs), std::pair(&roles.labels, &into.labels)}) {
    for (const std::string& name : *names) {
      npy_array found = TROUPE_TRY(array(name));
      arrays->push_back({name, std::move(found)});
    }
  }
  if (!into.options.trim.empty()) into.mask = TROUPE_TRY(array(into.options.trim));
  return {};
}

expected<data_set_ptr> make_array_set(array_files from) {
  TROUPE_TRY(check_types(from));
  TROUPE_TRY(check_lengths(from));
  TROUPE_TRY(check_ignored(from));
  TROUPE_TRY(check_mask(from));
  kept_rows rows(from.labels.front().array.rows());
  std::uint32_t classes = 0;
  for (const named_array& each : from.labels) {
    if (each.array.is_floating()) continue;
    classes = std::max(classes, TROUPE_TRY(count_classes(each.array, from, rows)));
  }
  if (from.options.ignored) {
    const std::string ignored = ",ignore=" + std::to_string(*from.options.ignored);
    from.name += ignored;
    from.reading += ignored;
  }
  if (rows.size() == 0) {
    return fail(error_code::data_empty, from.name,
                "all " + std::to_string(rows.left_out()) + " samples have the ignored label",
                "ignore another label, or none");
  }
  const std::optional<at::ScalarType> dtype = from.options.dtype;
  data_set_ptr made = std::make_shared<const array_set>(std::move(from), std::move(rows), classes);
  return dtype ? cast_inputs(std::move(made), *dtype) : made;
}

}  // namespace troupe
