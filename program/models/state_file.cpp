#include "program/models/state_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <ATen/ops/zeros.h>
#include <fcntl.h>
#include <unistd.h>

#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// A tensor beside those of the state, so that the reader finds no prefix that all names have, and takes none off.
constexpr const char* marker_name = "/";

tl::unexpected<error> unwritable(const std::string& cause) {
  return fail(error_code::output_unwritable, "weights for worker processes", "they cannot be written: " + cause,
              "set TMPDIR to a folder with space for all weights of the model");
}

}  // namespace

expected<state_file> state_file::write(const state_dict& state) {
  std::error_code problem;
  const fs::path folder = fs::temp_directory_path(problem);
  std::string made = (folder / "troupe-weights-XXXXXX").string();
  if (problem || ::mkdtemp(made.data()) == nullptr) return unwritable(problem ? problem.message() : errno_text());
  state_dict marked = state;
  marked.push_back({marker_name, at::zeros({1})});
  const fs::path file = fs::path(made) / "weights.safetensors";
  const auto saved = save_weights(file, marked);
  unique_fd opened(saved ? ::open(file.c_str(), O_RDONLY | O_CLOEXEC) : -1);
  const int failed = opened ? 0 : errno;
  fs::remove_all(made, problem);
  if (!saved) return unwritable(saved.error().cause);
  if (!opened) return unwritable(errno_text(failed));
  std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(opened.get());
  return state_file(std::move(opened), std::move(path));
}

expected<state_dict> read_state_file(const std::string& path) {
  return load_weights(path).map([](state_dict&& state) {
    std::erase_if(state, [](const named_tensor& each) { return each.name == marker_name; });
    return std::move(state);
  });
}

}  // namespace troupe
