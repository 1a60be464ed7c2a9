#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "runtime/weights/pickle_values.hpp"

namespace troupe {

struct pickle_fault {
  enum class kind : std::uint8_t {
    cut_off,  ///< the pickle ends before its last opcode
    damaged,  ///< an opcode that is not known, or that does not fit the stack
    refused,  ///< it names what no file of weights has any use for
    too_large,
  };
  kind what = kind::damaged;
  /// "at byte 12: it takes more from the stack than there is".
  std::string cause;
};

struct built_pickle {
  pickled_values values;
  /// How many bytes it has.
  std::size_t bytes = 0;
  /// An estimate, from above, of the memory that was used.
  std::uint64_t memory_bytes = 0;
};

/// Builds what the pickle at the beginning of `bytes` says, as data: protocol 2 to 5. Nothing is imported and nothing
/// is called. A class or function is its name, and a call the name with its arguments, whatever they are; so is the
/// state that an object is given. Refused at once are names of modules and functions that start programs, run code or
/// touch files (os.system, builtins.eval), and the registry of extensions, where a number stands for a name.
///
/// `bytes` must outlive the values, which refer to them. Takes memory_bytes_max at most.
tl::expected<built_pickle, pickle_fault> build_pickle(std::string_view bytes, std::uint64_t memory_bytes_max);

/// Why a file that names this class or function is refused: "starts programs"; empty if it is not.
std::string_view danger_of(std::string_view module, std::string_view name);

}  // namespace troupe
