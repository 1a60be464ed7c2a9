#include "runtime/image/weigh_code.hpp"

namespace troupe {

weigh_functions portable_weighing() {
  return {&weigh_across, &weigh_down};
}

}  // namespace troupe
