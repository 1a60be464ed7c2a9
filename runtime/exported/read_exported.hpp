#pragma once

#include "runtime/archive/archive_file.hpp"
#include "runtime/graph/operator_graph.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Whether the entries have names as torch.export, of whatever version, writes them: a file for read_exported(), which
/// tells what those are that it cannot read.
bool is_exported(const archive_file& file);

/// Reads a model that torch.export.save wrote with schema version 8, as torch 2.11 does. Nothing in the file runs.
///
/// Inputs are the tensors of forward's arguments, by their names; members of a dict, list or tuple follow a dot:
/// "images.0". A size that is an argument has the value of the example as what it is otherwise. An argument that was a
/// constant at the export (a number, a text, None) is part of the graph, and no input. Outputs are named as
/// operator_graph says, members of members with a dot ("parts.0"); None and constant numbers are left out, and a size
/// becomes a tensor without dimensions. Assertions on shapes are left out.
///
/// Weights keep their strides, and weights that share memory in the file share storage.
///
/// Errors name the file, and the operator with its line in the user's Python where the file has it: E0203 an entry is
/// cut off; E0207 another kind of file, or a failed export; E0210 cannot be read, or says what cannot be;
/// E0212 an operator with effects outside of its tensors; E0213 checksums; E0214 beyond the limits; E0217 a part that
/// is not supported (an operator, a schema version, a custom object, state that the model writes, autocast...). Reading
/// takes at most twice the file and 64 MiB of memory. Any thread.
expected<operator_graph> read_exported(archive_file file);

}  // namespace troupe
