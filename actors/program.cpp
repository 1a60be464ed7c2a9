#include <optional>
#include <utility>

#include <troupe/actors/program.hpp>
#include <troupe/actors/workers/worker_face.hpp>

namespace troupe {
namespace {

struct process_role {
  bool known = false;
  std::optional<worker_environment> worker;
};

process_role& role() {
  static process_role of_this_process;
  return of_this_process;
}

}  // namespace

program::program(int, char**) {
  if (std::exchange(role().known, true)) return;
  auto worker = take_worker_environment();
  if (!worker) end_worker(worker.error());
  role().worker = *worker;
}

const worker_environment* program::worker() {
  return role().worker ? &*role().worker : nullptr;
}

bool program::exists() {
  return role().known;
}

}  // namespace troupe
