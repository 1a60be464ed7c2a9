#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// How code reaches a name.
enum class name_place : std::uint8_t {
  plain,   ///< print
  member,  ///< behind a dot: torch.save, x.save, ops.aten.save
  prim,    ///< ops.prim.Print
};

/// What code of this name does outside of the tensors it is given, for people ("writes a file"); nothing for the
/// others.
std::optional<std::string_view> effect_of_name(std::string_view name, name_place place);

/// Whether all operators of this namespace have been read and have no other effect; false for those that are not known.
bool is_known_namespace(std::string_view name);

/// The same of C++ classes, __torch__.torch.classes.NAMESPACE.Class, which make and restore themselves by their own
/// code.
bool is_known_class_namespace(std::string_view name);

}  // namespace troupe
