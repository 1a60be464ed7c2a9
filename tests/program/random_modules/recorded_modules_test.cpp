// Goal: an optimised model gives what eager PyTorch gave in Python. Method: models that generate.py drew, traced or
// scripted, each with the values of its eager form in extra files of its archive (README.md); a small choice is in
// recorded/, and TROUPE_RECORDED_MODULES names a folder with others. Each runs with each mode of optimisation, one to
// three stages and, some of them, in worker processes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include "tests/program/random_modules/module_places.hpp"
#include "tests/program/random_modules/random_module.hpp"
#include "tests/support/case_choice.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

/// As generate.py has it.
constexpr std::int64_t recorded_in_first_batch = 4;

at::Tensor read_extra(const std::string& text) {
  static const std::map<std::string, at::ScalarType> types = {
      {"float32", at::kFloat}, {"float64", at::kDouble}, {"float16", at::kHalf}, {"bfloat16", at::kBFloat16}};
  const std::size_t end = text.find('\n');
  std::istringstream head(text.substr(0, end));
  std::string type;
  std::string format;
  head >> type >> format;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 0; head >> size;) sizes.push_back(size);
  at::Tensor made = at::empty(sizes, types.at(type));
  if (text.size() - end - 1 != made.nbytes()) throw std::runtime_error("an extra file has another size than it says");
  std::memcpy(made.mutable_data_ptr(), text.data() + end + 1, made.nbytes());
  if (format == "channels_last") return made.contiguous(at::MemoryFormat::ChannelsLast);
  if (format == "channels_last_3d") return made.contiguous(at::MemoryFormat::ChannelsLast3d);
  return made;
}

std::vector<at::Tensor> in_two(const at::Tensor& all) {
  return {all.narrow(0, 0, recorded_in_first_batch),
          all.narrow(0, recorded_in_first_batch, all.size(0) - recorded_in_first_batch)};
}

module_case recorded_case(const std::filesystem::path& file) {
  torch::jit::ExtraFilesMap extra = {{"input", ""}, {"output", ""}};
  static_cast<void>(torch::jit::load(file.string(), c10::nullopt, extra));
  const at::Tensor input = read_extra(extra.at("input"));
  return {.name = file.filename().string(),
          .model = file,
          .batches = in_two(input),
          .wanted = in_two(read_extra(extra.at("output"))),
          .tolerance = tolerance_of(input.scalar_type())};
}

/// Sorted by name.
std::vector<std::filesystem::path> models_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".pt") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

class places_and_findings {
 public:
  void add(const module_case& what, const std::vector<module_place>& places) {
    for (const module_place& each : places) ++runs_[to_string(each)];
    const std::vector<module_finding> found = findings_of(what, places);
    if (found.empty()) return;
    ++wrong_modules_;
    std::map<std::string, std::string> by_place;
    for (const auto& [place, why] : found) by_place[to_string(place)] += why + '\n';
    for (const auto& [place, why] : by_place) {
      ++wrong_[place];
      ADD_FAILURE() << what.name << ", " << place << ": " << why;
    }
  }

  void print(std::size_t modules) const {
    std::cout << wrong_modules_ << " of " << modules << " models are wrong somewhere\n";
    for (const auto& [place, runs] : runs_) {
      const auto wrong = wrong_.find(place);
      std::cout << "  " << place << ": " << (wrong == wrong_.end() ? 0 : wrong->second) << " of " << runs << '\n';
    }
  }

 private:
  std::map<std::string, int> runs_;
  std::map<std::string, int> wrong_;
  int wrong_modules_ = 0;
};

TEST(recorded_modules, give_the_values_of_eager_pytorch_everywhere) {
  const char* const given = std::getenv("TROUPE_RECORDED_MODULES");
  const std::filesystem::path folder =
      given != nullptr ? given : source_dir() / "tests/program/random_modules/recorded";
  const std::vector<std::filesystem::path> all = models_in(folder);
  ASSERT_FALSE(all.empty()) << folder;
  const auto files = given != nullptr || !sanitized ? all : some_of(all, 10);
  places_and_findings outcome;
  for (std::size_t index = 0; index < files.size(); ++index) {
    std::vector<module_place> places = places_of_turn(index);
    if (index % 20 == 0) {
      for (const module_place& each : worker_places()) places.push_back(each);
    }
    outcome.add(recorded_case(files[index]), places);
  }
  if (given != nullptr) outcome.print(files.size());
}

}  // namespace
}  // namespace troupe::testing
