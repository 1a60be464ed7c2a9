#include "runtime/checkpoint/file_sums.hpp"

#include <algorithm>
#include <sstream>
#include <system_error>
#include <vector>

#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/file_hash.hpp"
#include "runtime/os/file_replacement.hpp"
#include "runtime/os/input_file.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t digits = 64;
/// Between sum and name.
constexpr const char* separator = "  ";
/// 10,000 layers.
constexpr std::size_t file_bytes_max = std::size_t{2} << 20;

tl::unexpected<error> damaged(const fs::path& path, const std::string& cause) {
  return fail(error_code::model_unreadable, path.string(), cause,
              "load another checkpoint; or, where the file was changed on purpose, delete " + std::string(sums_name) +
                  " of this one");
}

bool is_sum(const std::string& text) {
  return text.size() == digits && std::ranges::all_of(text, [](char each) {
           return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f');
         });
}

}  // namespace

expected<file_sums> file_sums::read(const fs::path& folder) {
  const fs::path file = folder / sums_name;
  file_sums made;
  const auto text = read_small_input(file.string(), file_bytes_max);
  if (!text && text.error().number == ENOENT) return made;
  if (!text) return damaged(file, text.error().cause);
  if (text->size() > file_bytes_max) return damaged(file, "it is too long");
  made.sums_.emplace();
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(std::min(line.size(), digits + 2));
    if (name.empty() || !is_sum(line.substr(0, digits)) || line.substr(digits, 2) != separator) {
      return damaged(file, "a line is no sum and name of a file");
    }
    made.sums_->emplace(name, line.substr(0, digits));
  }
  return made;
}

expected<void> file_sums::check(const fs::path& file) const {
  if (!sums_) return {};
  const auto saved = sums_->find(file.filename().string());
  if (saved == sums_->end()) return damaged(file, "it has no sum");
  const std::string now = TROUPE_TRY(sha256_of_file(file.string(), error_code::model_unreadable));
  if (now == saved->second) return {};
  return damaged(file, "its bytes are not those that were saved");
}

expected<void> write_sums(const fs::path& folder) {
  std::error_code problem;
  std::vector<fs::path> files;
  for (const auto& each : fs::directory_iterator(folder, problem)) files.push_back(each.path());
  std::ranges::sort(files);
  std::string text;
  for (const fs::path& each : files) {
    const std::string sum = TROUPE_TRY(sha256_of_file(each.string(), error_code::output_unwritable));
    text += sum + separator + each.filename().string() + "\n";
  }
  file_replacement file(folder / sums_name);
  int number = problem.value();
  if (number == 0) number = file.open();
  if (number == 0) number = file.write(text);
  if (number == 0) number = file.publish();
  if (number == 0) return {};
  return fail(error_code::output_unwritable, (folder / sums_name).string(),
              "it cannot be written: " + errno_text(number), "name a folder that can be written to, with space left");
}

}  // namespace troupe
