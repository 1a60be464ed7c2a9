#include "messages/version.hpp"

#include "messages/limits.hpp"

namespace troupe {

std::string version_text() {
  return std::string(TROUPE_VERSION) + ", wire " + std::to_string(limits::wire_version) + ", frames " +
         std::to_string(limits::frame_version);
}

}  // namespace troupe
