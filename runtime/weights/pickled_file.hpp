#pragma once

#include <functional>

#include "runtime/weights/pickle_machine.hpp"
#include "runtime/weights/pickled_tensors.hpp"
#include "runtime/weights/reading.hpp"
#include <troupe/weights.hpp>

namespace troupe {

// The state dict in a file of torch.save: E0203, E0207, E0210, E0212, E0213, E0214, E0217. Names as in the file.

/// The zip format, since PyTorch 1.6: NAME/data.pkl and a storage in each NAME/data/KEY. A stored one is a view of the
/// mapping, whose checksum is not compared, as that would read it; a packed one is unpacked.
expected<state_dict> read_zip_weights(weights_reading& reading);
/// The same file, for other values than a state dict: `use` gets what data.pkl has built, and the storages for its
/// tensors.
using pickle_use = std::function<expected<void>(const pickled_values& values, const storage_finder& find)>;
expected<void> read_zip_pickle(weights_reading& reading, const pickle_use& use);

/// The older format: five pickles (a number, the protocol, the machine, the objects, the keys of the storages), then
/// the storages in the order of the keys.
expected<state_dict> read_legacy_weights(weights_reading& reading);

/// The error for a pickle that cannot be built; `name` is what it is called: "data.pkl".
tl::unexpected<error> pickle_error(const weights_reading& reading, const pickle_fault& fault, const std::string& name);

}  // namespace troupe
