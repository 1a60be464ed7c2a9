// Every stage in a process of its own, and one that kills its process in the middle: the accuracy is that of an
// undisturbed run, and every sample is counted once.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <unistd.h>

#include <troupe/troupe.hpp>

namespace {

/// Known to the driver and to its workers, which inherit the environment: there after the stage has died.
constexpr const char* marker_variable = "SURVIVOR_MARKER";

/// Passes images on. The one that sees sample 5000 first takes its process with it.
at::Tensor fragile(const at::Tensor& images, const troupe::micro_batch_info& info) {
  const std::filesystem::path marker = std::getenv(marker_variable);
  if (info.samples.begin <= 5000 && 5000 < info.samples.end && !std::filesystem::exists(marker)) {
    std::ofstream{marker} << "died at micro-batch " << info.id.index << '\n';
    std::cerr << "out of luck at sample 5000" << std::endl;
    std::raise(SIGKILL);
  }
  return images;
}

}  // namespace

int main(int argc, char** argv) {
  const troupe::program program{argc, argv};  // in a worker everything up to run() happens, too
  const std::string data = argc > 1 ? argv[1] : "data";
  const auto marker = std::filesystem::temp_directory_path() / ("survivor-" + std::to_string(::getpid()));
  ::setenv(marker_variable, marker.c_str(), 0);

  const auto result =
      program.run(troupe::topology{}
                      .source("loader", "mnist:" + data + "/mnist")
                      .stage("fragile", fragile)
                      .pipeline("lenet", data + "/mnist/lenet.pt", {.stages = 2})
                      .sink("metrics", {"accuracy", "nll"}),
                  {.micro_batch = 64, .log = {.level = troupe::log_level::info}, .workers = {.enabled = true}});
  const bool died = std::filesystem::remove(marker);
  if (!result) {
    std::cerr << to_string(result.error()) << '\n';
    return static_cast<int>(troupe::status_of(result.error().code));
  }
  std::cout << troupe::result_table(*result, 100) << '\n'
            << (died ? "one stage died" : "nobody died") << ", " << result->delivery.lost << " lost\n";
  return 0;
}
