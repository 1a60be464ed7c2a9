#include "runtime/launcher/launcher.hpp"

#include "messages/try.hpp"
#include "runtime/launcher/launcher_loop.hpp"

namespace troupe {

expected<launch_end> run_launch(launch_request request) {
  auto loop = TROUPE_TRY(launcher_loop::make(std::move(request)));
  return (loop)->run();
}

}  // namespace troupe
