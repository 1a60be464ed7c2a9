#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "messages/try.hpp"
#include "runtime/monitor/event_record.hpp"
#include "runtime/monitor/scalar_targets.hpp"
#include "runtime/monitor/written_scalars.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/os/write_all.hpp"
#include "runtime/report/atomic_file.hpp"
#include "runtime/report/writable_directory.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// At the end of the names of our files, so that those of a training are not read.
constexpr const char* own_ending = ".troupe";

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  name.resize(name.find('\0'));
  return name;
}

/// As TensorBoard takes files in the order of their names, the time stands first.
fs::path new_name(const fs::path& folder, double now) {
  const std::string base =
      fmt::format("events.out.tfevents.{:010d}.{}.{}", static_cast<std::int64_t>(now), host_name(), ::getpid());
  for (int number = 0;; ++number) {
    fs::path path = folder / fmt::format("{}.{}{}", base, number, own_ending);
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(path, ignored))) return path;
  }
}

void read_names(const fs::path& path, written_scalars& into) {
  std::ifstream file(path, std::ios::binary);
  while (const auto data = next_record(file)) {
    const auto event = names_in_event(*data);
    if (!event || into.is_full()) return;
    for (const std::string& name : event->names) into.add(name, event->step);
  }
}

expected<written_scalars> read_folder(const fs::path& folder) {
  written_scalars found;
  std::error_code problem;
  if (!fs::exists(folder, problem)) return found;
  for (fs::directory_iterator each(folder, problem), end; !problem && each != end; each.increment(problem)) {
    const std::string name = each->path().filename().string();
    const bool is_own = name.starts_with("events.out.tfevents.") && name.ends_with(own_ending);
    if (is_own && each->is_regular_file(problem)) read_names(each->path(), found);
    if (found.is_full()) {
      return not_for_scalars(folder, fmt::format("it holds more than {} scalars", written_scalars::count_max));
    }
  }
  if (problem) return unwritable(folder, problem.value());
  return found;
}

class event_files final : public scalar_log {
 public:
  event_files(fs::path folder, written_scalars written) : folder_(std::move(folder)), written_(std::move(written)) {}

  expected<std::size_t> write(std::uint64_t step, std::span<const scalar> scalars) override {
    TROUPE_TRY(check_scalars(step, scalars));
    const std::vector<scalar> made = written_.missing(step, scalars);
    if (made.empty()) return std::size_t{0};
    const double now = wall_seconds_now();
    TROUPE_TRY(append(record_of(scalars_event(now, step, made)), now));
    for (const scalar& each : made) written_.add(each.name, step);
    return made.size();
  }

 private:
  /// The first record comes with the file, so that none is empty.
  expected<void> append(const std::string& record, double now) {
    if (path_.empty()) {
      const fs::path path = new_name(folder_, now);
      TROUPE_TRY(atomic_write_file(path, record_of(version_event(now)) + record));
      path_ = path;
      return {};
    }
    const unique_fd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!file) return unwritable(path_, errno);
    int reason = write_all(file.get(), record);
    if (reason == 0 && ::fsync(file.get()) != 0) reason = errno;
    if (reason == 0) return {};
    // readers stop at a part of a record, so what comes later needs another file
    const fs::path damaged = std::exchange(path_, {});
    return unwritable(damaged, reason);
  }

  const fs::path folder_;
  /// Empty before the first write.
  fs::path path_;
  written_scalars written_;
};

}  // namespace

expected<std::unique_ptr<scalar_log>> open_event_files(const fs::path& folder) {
  std::error_code problem;
  const fs::file_status there = fs::status(folder, problem);
  if (fs::exists(there) && !fs::is_directory(there)) {
    return not_for_scalars(folder, "it is a file, and its name does not end in .csv or .jsonl");
  }
  TROUPE_TRY(check_writable_directory(folder));
  auto written = TROUPE_TRY(read_folder(folder));
  return std::make_unique<event_files>(folder, std::move(written));
}

}  // namespace troupe
