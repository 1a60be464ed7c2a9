// Decodes all JPEG files of a folder, resizes, cuts and normalises them, on one thread; image_table.py runs it in turns
// with torchvision. For each line of stdin it goes through the folder once, and prints the milliseconds that the thread
// was on its core.
#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/image/picture_steps.hpp"

namespace {

constexpr troupe::picture_size side{224, 224};

double thread_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

bool read_picture(const troupe::picture_reader& reader, const std::string& path, std::vector<float>& into) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto done = reader.read({begin, bytes.size()}, path, side, into);
  if (!done) std::cerr << troupe::to_string(done.error()) << "\n";
  return done.has_value();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: image_bench FOLDER\n";
    return 2;
  }
  std::vector<std::string> paths;
  for (const auto& each : std::filesystem::directory_iterator(argv[1])) paths.push_back(each.path().string());
  std::ranges::sort(paths);
  const troupe::picture_reader reader({.shorter_side = 256,
                                       .crop = side,
                                       .mean = std::array{0.485, 0.456, 0.406},
                                       .deviation = std::array{0.229, 0.224, 0.225}});
  std::vector<float> tensor(std::size_t{3} * side.width * side.height);
  for (std::string line; std::getline(std::cin, line);) {
    const double start = thread_milliseconds();
    for (const std::string& path : paths) {
      if (!read_picture(reader, path, tensor)) return 1;
    }
    std::cout << thread_milliseconds() - start << std::endl;
  }
}
