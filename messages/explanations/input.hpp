#pragma once

#include <array>

#include <troupe/error_code.hpp>

/// What the codes 1xx to 4xx mean: something the user gave to the program.
namespace troupe::explanations {

inline constexpr std::array input = {
    error_explanation{
        error_code::unknown_flag, exit_status::usage, "unknown command or flag",
        "The command line has a command, flag or argument that this program does not know. Usually it is a "
        "misspelling, or a flag of another command. Look at the suggestion in the message, or at the list "
        "that --help prints."},
    error_explanation{error_code::unknown_name, exit_status::usage, "unknown name",
                      "A metric, partition method, kind of data or kind of schedule was named that does not exist. The "
                      "message lists the names that do and the one that looks most alike. Names are lower case, with "
                      "underscores in metrics and hyphens in kinds."},
    error_explanation{
        error_code::value_out_of_range, exit_status::usage, "value out of range",
        "A flag, an environment variable or an argument of a call has a value that is not a number, or lies "
        "outside the permitted range. The message names both ends of the range. Give a value inside it; "
        "all upper limits stand in messages/limits.hpp."},
    error_explanation{
        error_code::flags_contradict, exit_status::usage, "flags contradict each other",
        "Two settings were given that cannot both hold. They may come from different places: flags win over "
        "TROUPE_* variables, these over the config file. `troupe print-config` shows where each value comes "
        "from; take one of the two away."},
    error_explanation{
        error_code::missing_flag, exit_status::usage, "required flag is missing",
        "The command cannot start without a value that was given neither on the command line, nor in a "
        "TROUPE_* variable, nor in the config file. `troupe eval` needs --data, and --model or both of --arch "
        "and --weights. Add the flag that the message names."},
    error_explanation{
        error_code::more_stages_than_layers, exit_status::usage, "more stages than layers",
        "Every stage of a pipeline runs at least one layer, so a model cannot be cut into more stages than it "
        "has layers. A layer is a module, such as a residual block, or operators between modules; where no cut is "
        "possible, several of them are one layer. The message says why, and `troupe inspect MODEL` lists all layers. "
        "Ask for fewer stages; to use more cores, add --replicas or --threads."},
    error_explanation{
        error_code::unknown_code, exit_status::usage, "no such error code",
        "`troupe explain` was asked for a code that no message of this version carries. Codes look like E0203; "
        "the E and the zeros may be left out. docs/errors.md lists all of them."},
    error_explanation{
        error_code::metric_does_not_fit, exit_status::usage, "metric does not fit model or data",
        "A metric was asked for that cannot be computed from what the model gives for the first micro-batch, or "
        "from the labels of the data: accuracy of labels that are no classes, top9 of 5 outputs, nll of outputs "
        "that are no log-probabilities. The message names the metric, the shapes that were seen and a metric or "
        "model that fits. Nothing was evaluated."},
    error_explanation{
        error_code::fault_invalid, exit_status::usage, "fault plan is not valid",
        "A fault that the run should inject into itself is misspelled, does not exist for its target, or names a "
        "stage, edge, worker or journal that the run does not have. The message has the column. docs/faults.md lists "
        "the kinds of faults with their targets, triggers and parameters. Nothing was evaluated."},
    error_explanation{
        error_code::device_unavailable, exit_status::usage, "device is not available",
        "A stage should run on a device that this machine does not have, or cannot use: there is no driver, no such "
        "number, or the LibTorch at hand has no kernels for it. The message names stage, device and cause. `troupe "
        "doctor` lists the devices. Nothing was evaluated; without a device, or with --device cpu, the processor "
        "runs the stage."},

    error_explanation{
        error_code::model_missing, exit_status::bad_input, "model file does not exist",
        "There is nothing at the path given as the model. Relative paths are taken from the directory the "
        "program was started in. Check the spelling, or give an absolute path."},
    error_explanation{
        error_code::model_is_directory, exit_status::bad_input, "model path is a directory",
        "The path names a directory without config.json. A directory is a model if it has the config.json "
        "of Hugging Face's transformers and the weights (docs/weights.md). Otherwise a model is one "
        "file: give the path of the .pt2 or .pt file itself. Weights alone, and the directory of a "
        "checkpoint, are given with --weights."},
    error_explanation{
        error_code::model_truncated, exit_status::bad_input, "model file is truncated",
        "The file starts as the archive of a model but its end is missing, so it cannot be opened. A download or "
        "copy that was cut short is the usual cause, or a full disk while saving. Fetch or save the file again "
        "and compare its size with the original."},
    error_explanation{
        error_code::model_state_dict, exit_status::bad_input, "model file is a state dict",
        "The file holds parameters by name (torch.save(model.state_dict(), ...)) and no code, so the file does not "
        "say what the model computes. Give it as --weights, with --arch NAME or with an exported model as --model "
        "(docs/weights.md); or load the parameters into the model in Python and export that with torch.export.save or "
        "torch.jit.trace (docs/exporting.md). A whole model that torch.save(model, ...) has pickled has to be loaded "
        "in Python and exported."},
    error_explanation{
        error_code::model_legacy_pickle, exit_status::bad_input, "model file is a legacy pickle",
        "The file was written by torch.save in the format used before PyTorch 1.6, a bare Python pickle without "
        "an archive around it, or in the tar format of PyTorch 0.1. It has no code that runs without Python. If it "
        "has weights, give it as --weights (docs/weights.md); else load it in Python and export the model with "
        "torch.export.save or torch.jit.trace (docs/exporting.md)."},
    error_explanation{
        error_code::model_lfs_pointer, exit_status::bad_input, "model file is a git-lfs pointer",
        "The file is the small text that git-lfs keeps in place of the real one, which was never downloaded. "
        "This happens when a repository is cloned without git-lfs. Install it and run `git lfs pull` in the "
        "repository the file belongs to."},
    error_explanation{
        error_code::model_not_torchscript, exit_status::bad_input, "file is no model that can be read",
        "The file is neither an archive of torch.export (.pt2) nor one of TorchScript (.pt), nor one of the "
        "look-alikes that have codes of their own. ONNX, safetensors, a zip of something else, a failed export and "
        "plain text end "
        "here. Export the model with torch.export.save or torch.jit.trace (docs/exporting.md). A file of weights ends "
        "here if it has no dict of tensors: it is a whole module of Python, a checkpoint without a state dict, or no "
        "file of weights at all (docs/weights.md)."},
    error_explanation{
        error_code::model_not_usable, exit_status::bad_input, "model takes or gives what cannot be used",
        "The model's forward must take tensors, or arguments with a default value, and give a tensor, or tuples, lists "
        "and dicts of tensors whose number is known before a run. The message names the argument or the output that is "
        "something else. Wrap the model in a module whose forward takes and gives tensors, and export that one."},
    error_explanation{
        error_code::model_rejects_sample, exit_status::bad_input, "model does not accept the data",
        "One real sample goes through all layers before a run begins, and a layer refused it. Mostly the shape is "
        "another one than the model was made for: number of channels, image size, or a missing flatten. The "
        "message names the layer and the shapes; use the data that belongs to the model. Types must fit as well: "
        "inputs of "
        "another floating-point type than the weights are cast by a type behind the data or by --dtype, and a layer "
        "must "
        "not give a sparse tensor, as dense ones pass between layers."},
    error_explanation{
        error_code::model_unreadable, exit_status::bad_input, "model file cannot be read",
        "The file exists, but the operating system or LibTorch would not read it. Missing permission, a damaged "
        "disk, or an archive whose content is corrupt are the usual causes. The message carries their words; "
        "check the permissions and the checksum of the file."},
    error_explanation{
        error_code::model_has_effects, exit_status::bad_input, "model reaches outside of itself",
        "A model is a program, and this one's code may do more than turn a tensor into a tensor: it prints, reads or "
        "writes files, or uses operators whose effects are not known; or a file of weights has a call in place of a "
        "tensor, or names functions that start programs or run code (docs/weights.md). It was refused before any of it "
        "ran. The message names the class, the method and the line, or the function. Use another model, or "
        "--allow-effects if you trust this one as you would trust a program; weights have no such way out."},
    error_explanation{
        error_code::model_damaged, exit_status::bad_input, "model file is damaged",
        "A model file is a zip archive with a checksum (CRC-32) per entry, and an entry does not have the checksum or "
        "the size that the archive tells, or entries lie on top of each other. A flipped bit on a disk or on the way "
        "is the usual cause. Fetch or save the file again."},
    error_explanation{
        error_code::model_beyond_limits, exit_status::bad_input, "model file is beyond the limits",
        "The archive unpacks to far more than a model holds besides its weights, a file of weights would take more "
        "than twice its size and 64 MiB of memory, or objects or expressions are "
        "nested far deeper than in any model that was exported; LibTorch could run out of memory or stack on it. The "
        "message names the entry and the limit, and messages/limits.hpp has them all. Export the model again, and use "
        "no file that you did not ask for."},
    error_explanation{
        error_code::model_crashed, exit_status::bad_input, "model ends its process when it is tried out",
        "Before a run with worker processes the model, or each stage of a topology, computes one micro-batch in a "
        "process "
        "of its own. That process crashed, was killed or came to no end. The message names the part that was being "
        "tried "
        "out, the signal or exit status, and the last lines of standard error. A model that crashes there would crash "
        "every worker; SIGKILL usually means that memory ran out."},
    error_explanation{
        error_code::model_not_repeatable, exit_status::bad_input, "model gives other results for the same input",
        "A layer or stage draws random numbers or keeps a state, so that its results are no property of the model, and "
        "a micro-batch that is computed again gives other ones. Mostly the model was traced in training mode: call "
        "model.eval() before torch.jit.trace, and write F.dropout(x, training=self.training), as F.dropout(x) is "
        "always on. The message names the layer and the operator, or that two runs of the first micro-batch differed. "
        "--allow-random takes the model as it is, with a warning in log and result."},
    error_explanation{
        error_code::model_unsupported, exit_status::bad_input, "model has a part that is not supported",
        "The file is a model, and something in it cannot be run here: an operator that is not one of PyTorch's own, a "
        "custom object, a part under autocast, a buffer or an input that the model changes, or a format of another "
        "version. Nothing of it ran. The message names the operator with its line in your Python code, where the file "
        "has it, and what to write in its place. Batch norm that was exported in training mode is the usual cause of a "
        "changed buffer: call model.eval() before the export."},
    error_explanation{
        error_code::weights_do_not_fit, exit_status::bad_input, "weights do not fit the architecture",
        "An architecture asks for tensors of certain names and sizes, and the file has others. The message lists all "
        "that are missing, that have other sizes, and that no layer has taken. Mostly the weights belong to a larger "
        "or "
        "smaller model of the family, or to one with another last layer: give that --arch, or the config.json that "
        "came with the weights. --not-strict leaves out tensors that no layer has taken; one that is missing has no "
        "value that could be computed with."},
    error_explanation{
        error_code::architecture_unknown, exit_status::bad_input, "architecture is not known",
        "The name given as --arch is none of the architectures that are built in, or config.json asks for an "
        "architecture, a size or an option that is not: the message names the key and its value, and what there is. "
        "Any other model can be exported from Python as a .pt2 file."},

    error_explanation{
        error_code::data_missing, exit_status::bad_input, "data does not exist",
        "There is no file or directory at the path given as data, or a file that belongs to the set is not in "
        "the directory, or an array is not in the archive. mnist:DIR wants the t10k pair, gzip or not; cifar10: wants "
        "a .bin file or the directory that holds test_batch.bin; npz:FILE wants an array named labels, or label=NAME. "
        "Check what is behind the colon."},
    error_explanation{
        error_code::data_truncated, exit_status::bad_input, "data file is truncated",
        "A data file is shorter than its own header or its record size says, or became shorter while it was "
        "evaluated. A download or unpacking that was cut short is the usual cause. The message gives the offset, the "
        "bytes expected and the bytes found; fetch "
        "the file again."},
    error_explanation{
        error_code::data_bad_format, exit_status::bad_input, "data file has the wrong format",
        "The bytes of a data file are not what its kind demands: wrong magic number, wrong element type, damaged "
        "gzip, or more bytes than the header announces. Perhaps the kind before the colon belongs to another "
        "file. The message gives the offset and both values."},
    error_explanation{
        error_code::data_mismatch, exit_status::bad_input, "data files do not belong together",
        "Inputs and labels have different numbers of samples, or shapes that cannot be paired. One of the files "
        "probably belongs to another split, such as train images with t10k labels. Give the two files of one "
        "set."},
    error_explanation{
        error_code::data_label_out_of_range, exit_status::bad_input, "label out of range",
        "A label is negative or not below the number of classes. The file may be damaged, the labels may start at "
        "1, or the model has fewer outputs than the data has classes. The message names the sample and the "
        "label."},
    error_explanation{
        error_code::data_empty, exit_status::bad_input, "data set is empty",
        "The data set has no samples, so no metric has a value. An empty file, or a limit of 0, leads here. Check "
        "the file's size and --limit."},
    error_explanation{
        error_code::data_unreadable, exit_status::bad_input, "data file cannot be read",
        "The file exists, but the operating system would not read it. Missing permission and a damaged disk are "
        "the usual causes. The message carries the system's own words; check the permissions."},
    error_explanation{
        error_code::tokenizer_unusable, exit_status::bad_input, "tokenizer cannot be used",
        "A tokenizer's file has a part that Troupe does not compute, or parts that contradict each other: a kind of "
        "normalizer that is not known, a merge of tokens that the vocabulary does not have, a regular expression that "
        "is broken. The message names the part. docs/text.md lists what is supported."},

    error_explanation{
        error_code::config_missing, exit_status::bad_input, "config file, hostfile or ticket does not exist",
        "There is no readable file at the given path: --config has a file of options, --hostfile a list of nodes, and "
        "an agent a join ticket. Relative paths are taken from the directory the program was started in. Check the "
        "path."},
    error_explanation{
        error_code::config_syntax, exit_status::bad_input, "config file or hostfile breaks its format",
        "A config file is TOML, or JSON with comments where its name ends in .json: strings need quotes, lists need "
        "brackets, and a key may stand there once; the file has at most 64 KiB, and nests little. A hostfile has one "
        "line per node, NAME slots=N. Correct the line at the "
        "place in the message."},
    error_explanation{
        error_code::config_unknown_key, exit_status::bad_input, "unknown key in the config file",
        "The config file sets a key that does not exist; it would have had no effect. Keys are the flags with "
        "underscores in place of hyphens: micro_batch for --micro-batch. The message suggests the key that "
        "looks most alike."},
    error_explanation{
        error_code::config_bad_value, exit_status::bad_input, "bad value in a config file, hostfile, ticket or address",
        "A value has the wrong type or lies outside the permitted range. The message says where it stands, with line "
        "and column in a file or the path of its key, and what is wanted there. In a config file numbers stand without "
        "quotes, names with them. In a DeepSpeed configuration train_batch_size has to be the micro-batch times the "
        "gradient accumulation steps times the replicas."},
};

}  // namespace troupe::explanations
