#include "runtime/model/model_output.hpp"

#include <cerrno>
#include <string>
#include <string_view>

#include <torch/csrc/jit/runtime/print_handler.h>
#include <unistd.h>

namespace troupe {
namespace {

/// What standard error does not take is lost: a model's output is no result.
void write_to_stderr(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void send_model_output_to_stderr() {
  if (torch::jit::getPrintHandler() == torch::jit::getDefaultPrintHandler())
    torch::jit::setPrintHandler(write_to_stderr);
}

}  // namespace troupe
