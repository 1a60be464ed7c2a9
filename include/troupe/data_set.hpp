#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>
#include <troupe/named_tensors.hpp>

namespace troupe {

class metric;

/// Samples with their labels. Dimension 0 of every tensor is the sample and has the same size, 1 or more. All tensors
/// are on the CPU, in any strides. The run copies them, so that their memory may be filled anew. It shares the memory
/// of a tensor to which nothing else refers: no other handle, no other tensor of its storage, and not memory of your
/// own (at::from_blob). Memory that is never written again need not be copied: data_set::has_constant_memory(),
/// eval_batch_options::constant_batches. A single tensor needs no name; several have one each:
///
///   sample_block{images, digits}                                        block.inputs.only()
///   sample_block{{{"ids", ids}, {"mask", mask}}, {{"start", start}}}    block.inputs.at("ids")
///
struct sample_block {
  named_tensors inputs;
  /// May be empty where neither a metric nor a loss needs labels; else E0603. Labels that are classes are int64 [N]
  /// or [N, 1], each in [0, columns of the outputs).
  named_tensors labels;
};

/// What a user is told whose metrics do not fit the data.
struct metric_advice {
  /// Metrics that these data are for, without options: where one of them was asked for, its own error stands.
  std::vector<std::string> metrics = {};
  /// In place of the fix of E0108: "choose the metric of these data: --metrics squad". Empty: there is no advice.
  std::string fix = {};
  /// When it holds. `no_labels`: it also goes before the fix of a model that does not take the inputs, since a label
  /// may be among them. `several_labels`: only where none was chosen.
  enum class reason : std::uint8_t { kind_of_labels, no_labels, several_labels };
  reason why = reason::kind_of_labels;
};

/// A data set with random access. A run may read a sample several times, also as part of another range, and must get
/// the same bits each time. All functions are called by several threads at a time.
class data_set {
 public:
  data_set() = default;
  data_set(const data_set&) = delete;
  data_set& operator=(const data_set&) = delete;
  virtual ~data_set() = default;

  /// How many samples of its files the set has left out, as a user asked it to (npy:INPUTS,LABELS,ignore=LABEL). The
  /// result says it.
  [[nodiscard]] virtual std::uint64_t left_out() const noexcept { return 0; }
  /// Why, one line for each, with the file (imagefolder:DIR,skip-bad). May be fewer than left_out() where they are
  /// many, and none where the user named the reason. They are warnings of the result.
  [[nodiscard]] virtual std::vector<std::string> left_out_reasons() const { return {}; }
  /// What a reader of the result has to know about how samples were made: "3 of 300 texts have more than 64 tokens, and
  /// are cut". They are warnings of the result, too.
  [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
  /// Number of samples: always the same. A run over 0 samples ends with E0306 before it starts.
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  /// Shape of one sample without the sample dimension: [1, 28, 28]. With several inputs: of the one with most elements.
  /// The loader derives from it, as float32, how many samples it reads at a time; another shape costs speed only.
  [[nodiscard]] virtual std::vector<std::int64_t> sample_shape() const = 0;
  /// Number of classes of the format (10 for MNIST), also where a file lacks some of them; 0 if labels are no classes.
  [[nodiscard]] virtual std::uint32_t classes() const noexcept = 0;
  /// "mnist:data/mnist": how errors and results name it.
  [[nodiscard]] virtual std::string name() const = 0;
  /// How samples are made of the files, where that can be chosen: ",float32,ignore=-100". A journal keeps it, as it
  /// does the files.
  [[nodiscard]] virtual std::string reading() const { return {}; }
  /// Paths of all files with samples or labels. A journal keeps a hash of their content and compares it when a run is
  /// resumed. Empty: such data take no journal (E0104).
  [[nodiscard]] virtual std::vector<std::string> files() const { return {}; }
  /// true: a promise that the memory of what read() gives is never written again while a run has it, as with views of
  /// tensors that hold all samples. The run then shares it where it begins at a multiple of 64 bytes, and copies the
  /// rest.
  [[nodiscard]] virtual bool has_constant_memory() const noexcept { return false; }
  /// true: the sizes of what read() gives depend on the range, as where sequences are padded to the longest of them. A
  /// run then reads exactly one micro-batch at a time, so that its samples alone decide; the same micro-batch has the
  /// same bits again.
  [[nodiscard]] virtual bool has_varying_sizes() const noexcept { return false; }
  /// Where sizes vary: the number with which read() fills up shorter samples, for each input and label that it fills
  /// up. Then samples from any places can be put into one micro-batch, as a shuffled training does, with the same
  /// values as if they stood beside each other. Empty: such a training reads the samples in their order (E0104).
  [[nodiscard]] virtual std::map<std::string, std::int64_t> padding() const { return {}; }
  /// The metric of that name, if these data alone can compute it, such as squad, which needs the texts of the
  /// questions; else null, and the metric is that of the table (make_metric). It keeps what the one of the table keeps,
  /// since stages in other processes do not have the data.
  [[nodiscard]] virtual std::shared_ptr<const metric> own_metric([[maybe_unused]] const std::string& name) const {
    return nullptr;
  }
  [[nodiscard]] virtual metric_advice advice() const { return {}; }
  /// The names that the data have for the samples of `range`, as of read(), which a file of predictions then has, too
  /// (csv:FILE,id=COLUMN): in UTF-8, one for each sample, or none where samples have no names.
  [[nodiscard]] virtual expected<std::vector<std::string>> ids([[maybe_unused]] sample_range range) const {
    return std::vector<std::string>();
  }
  /// Decodes [range.begin, range.end), which is not empty and lies inside [0, size()): one row per sample in every
  /// tensor. An error or an exception ends the call.
  [[nodiscard]] virtual expected<sample_block> read(sample_range range) const = 0;
};

using data_set_ptr = std::shared_ptr<const data_set>;

/// Opens the data set that `--data KIND:PATH` names; docs/data.md lists the kinds. Existence, headers, sizes, equal
/// counts of samples and labels, and the range of labels are checked here. Errors: E0102 for the kind, E03xx.
expected<data_set_ptr> open_data(const std::string& specification);

/// A view of `data` whose inputs are cast to `dtype`, a floating type, when they are read: the bits of `x.to(dtype)` in
/// PyTorch, so pixels of 0 to 255 keep these values. An only input is cast whatever its type; of several, those of a
/// floating type, as the integers among them are ids and masks. Its name ends in the type ("...,float32"); everything
/// else is as in `data`.
data_set_ptr cast_inputs(data_set_ptr data, at::ScalarType dtype);

/// One micro-batch of an iterator. The number of samples may differ from one to the next.
using batch = sample_block;

/// A user's iterator: returns the next micro-batch, or nothing at the end. The loader's thread calls it, and only while
/// the call of eval_batch() loads that was given it. What a replay needs is kept: the iterator is not asked twice. An
/// exception ends the call with E0604, which names the micro-batch.
using data_iterator = std::function<std::optional<batch>()>;
/// Applied to each batch of an iterator before it is sent, in the same thread, with the same rule for exceptions
/// (DeepSpeed's set_batch_fn).
using batch_function = std::function<batch(batch)>;

}  // namespace troupe
