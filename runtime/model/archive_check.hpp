#pragma once

#include "runtime/archive/archive_file.hpp"
#include <troupe/error.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// For a model with operators that LibTorch does not have, such as those of torchvision.
inline constexpr auto own_operators_fix =
    "write the model with PyTorch's own operators in place of these, and export it again";

/// Looks at a TorchScript archive before LibTorch does, as LibTorch says of every wrong file that it is "corrupted" at
/// best, and runs its code while it loads it. No object is made and no code runs; all of the file is read once. Peak
/// memory: the largest entry of code or pickled objects, unpacked; weights are read in blocks.
/// Errors name the file: E0203 an entry is cut off. E0204 it is a state dict. E0207 it is an archive of another kind,
/// or of the format before PyTorch 1.3. E0210 it cannot be read, or lacks an entry. E0212 the code prints, touches
/// files or processes, or uses operators that are not known, and `how.allow_effects` is false. E0213 the size or the
/// CRC-32 of an entry is wrong. E0214 an entry of code or objects is larger than limits::model_text_bytes_max, all
/// packed entries together unpack to more than limits::model_unpacked_bytes_max, or objects or code are nested so deep
/// that LibTorch's recursive reader would overflow its stack. Any thread.
[[nodiscard]] expected<void> check_torchscript(archive_file& file, const model_loading& how = {});

}  // namespace troupe
