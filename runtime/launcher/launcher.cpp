#include "runtime/launcher/launcher.hpp"

#include "runtime/launcher/launcher_loop.hpp"

namespace troupe {

expected<launch_end> run_launch(launch_request request) {
  auto loop = launcher_loop::make(std::move(request));
  if (!loop) return tl::make_unexpected(loop.error());
  return (*loop)->run();
}

}  // namespace troupe
