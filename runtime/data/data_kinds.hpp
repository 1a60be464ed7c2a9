#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "runtime/data/array_options.hpp"
#include "runtime/data/data_option.hpp"
#include "runtime/data/image_options.hpp"
#include "runtime/data/table_options.hpp"
#include "runtime/data/text_options.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// One row of the table: a kind of data, as KIND:PATH names it.
struct data_kind {
  std::string_view name;
  /// What PATH is: "DIR".
  std::string_view path;
  /// One line for docs/data.md (a test compares them).
  std::string_view help;
  /// Gets checked options; what they mean together is its affair.
  expected<data_set_ptr> (*open)(const data_request& request);
  /// The kind's options: data_option.hpp says how they are declared.
  std::span<const data_option> options = {};
  /// Every part that is no option is a path, and not the first alone.
  bool takes_several_paths = false;
};

// Formats to the byte: docs/data.md.
expected<data_set_ptr> open_mnist(const data_request& request);
expected<data_set_ptr> open_cifar10(const data_request& request);
expected<data_set_ptr> open_cifar100(const data_request& request);
expected<data_set_ptr> open_npy(const data_request& request);
expected<data_set_ptr> open_npz(const data_request& request);
expected<data_set_ptr> open_imagefolder(const data_request& request);
expected<data_set_ptr> open_webdataset(const data_request& request);
expected<data_set_ptr> open_csv(const data_request& request);
expected<data_set_ptr> open_jsonl(const data_request& request);
expected<data_set_ptr> open_squad(const data_request& request);
expected<data_set_ptr> open_text(const data_request& request);
expected<data_set_ptr> open_choices(const data_request& request);

inline constexpr std::array cifar100_options = {
    data_option{.name = "coarse",
                .form = data_value::toggle,
                .help = "the labels are the 20 superclasses of CIFAR-100, and not its 100 classes"}};

/// All kinds of data. A new one has its row here, its function above, a source file of its own and its row in
/// docs/data.md.
inline constexpr std::array data_kinds = {
    data_kind{"mnist", "FILE_OR_DIR",
              "MNIST, EMNIST and their like: a file of images, or the directory of t10k, gzip or not", open_mnist},
    data_kind{"cifar10", "FILE_OR_DIR", "CIFAR-10 binary records", open_cifar10},
    data_kind{"cifar100", "FILE_OR_DIR[,coarse]", "CIFAR-100 binary records, with fine labels or coarse ones",
              open_cifar100, cifar100_options},
    data_kind{"imagefolder", "DIR[,resize=PIXELS][,crop=PIXELS][,mean=NUMBERS][,std=NUMBERS][,...]",
              "JPEG and PNG pictures, each class in a folder of its own", open_imagefolder, imagefolder_options},
    data_kind{"webdataset", "SHARDS[,json=KEY][,resize=PIXELS][,crop=PIXELS][,...]",
              "JPEG and PNG pictures with labels in tar files, {000..004} for several", open_webdataset,
              webdataset_options},
    data_kind{"npy", "INPUTS,LABELS[,DTYPE][,ignore=LABEL]",
              "NumPy files: two, or one for each name (NAME=FILE,...); DTYPE casts the inputs", open_npy, npy_options,
              true},
    data_kind{"npz", "FILE[,label=NAME][,inputs=A+B][,trim=MASK][,DTYPE][,ignore=LABEL]",
              "a NumPy archive of numpy.savez, with inputs and labels by name", open_npz, npz_options},
    data_kind{"csv", "FILE[,NAME=VALUE,...]", "a table of numbers with a column of labels, in CSV", open_csv,
              csv_options},
    data_kind{"jsonl", "FILE[,NAME=VALUE,...]", "the same with one JSON object per line", open_jsonl, jsonl_options},
    data_kind{"squad", "FILE,tokenizer=FOLDER[,max-length=TOKENS][,stride=TOKENS][,...]",
              "questions about contexts, JSON in the form of SQuAD 1.1 or 2.0", open_squad, squad_options},
    data_kind{"text", "FILE,tokenizer=FOLDER[,block=TOKENS][,stride=TOKENS][,inputs=A+B]",
              "plain text for a language model, in blocks or sliding windows", open_text, language_options},
    data_kind{"choices", "FILE,tokenizer=FOLDER[,max-length=TOKENS][,...]",
              "questions with choices, as lines of JSON, for a language model", open_choices, choice_options},
};

/// "mnist:FILE_OR_DIR, cifar10:FILE_OR_DIR, npy:INPUTS,LABELS[,DTYPE][,ignore=LABEL], npz:..."
std::string data_forms();
std::vector<std::string> data_kind_names();

}  // namespace troupe
