#include "tests/runtime/launcher/launch_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/join/join_ticket.hpp"

namespace troupe::testing {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto long_enough = 120s;

}  // namespace

scratch_directory::scratch_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "troupe-launch-XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  path_ = name;
}

scratch_directory::~scratch_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ticket_text(const std::string& node, std::chrono::seconds valid) {
  auto secret = join_secret::make();
  EXPECT_TRUE(secret);
  const std::int64_t expires = std::time(nullptr) + valid.count();
  const join_ticket ticket{{{"127.0.0.1"}, 4000, {}}, node, *secret, expires - 60, expires};
  const auto text = to_text(ticket);
  EXPECT_TRUE(text) << to_string(text.error());
  return std::string(text->view());
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class launch_run::heard_lines final : public process_listener {
 public:
  void on_output(worker_id, output_stream stream, std::string_view line) override {
    const std::lock_guard lock(mutex_);
    (stream == output_stream::standard_output ? out_ : said_).emplace_back(line);
    changed_.notify_all();
  }
  void on_exit(const exit_report& report) override {
    const std::lock_guard lock(mutex_);
    end_ = report;
    changed_.notify_all();
  }

  std::string await_line(const std::string& start) {
    std::unique_lock lock(mutex_);
    const auto find = [&] {
      return std::ranges::find_if(out_, [&](const std::string& line) { return line.starts_with(start); });
    };
    changed_.wait_for(lock, long_enough, [&] { return find() != out_.end() || end_; });
    EXPECT_NE(find(), out_.end()) << "no line " << start;
    return find() == out_.end() ? std::string() : find()->substr(start.size());
  }
  int status() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, long_enough, [&] { return end_.has_value(); }));
    if (!end_) return -1;
    return end_->kind == exit_kind::signalled ? 128 + end_->value : end_->value;
  }
  [[nodiscard]] bool has_ended() {
    const std::lock_guard lock(mutex_);
    return end_.has_value();
  }
  std::vector<std::string> out() {
    const std::lock_guard lock(mutex_);
    return out_;
  }
  std::vector<std::string> said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> out_;
  std::vector<std::string> said_;
  std::optional<exit_report> end_;
};

launch_run::launch_run(options made) : heard_(std::make_shared<heard_lines>()) {
  auto host = process_host::create();
  EXPECT_TRUE(host);
  host_ = std::move(*host);
  spawn_request request;
  request.name = "launcher";
  request.program = LAUNCH_PROGRAM;
  request.arguments = {"launch_program", made.grace_ms, made.nodes};
  const std::vector<std::string> agents = made.ssh == "files"
                                              ? std::vector<std::string>{"files", (place() / "job").string(), "--"}
                                              : std::vector<std::string>{FAKE_SSH, made.ssh, place().string(), "--"};
  request.arguments.insert(request.arguments.end(), agents.begin(), agents.end());
  if (made.command.empty()) {
    made.command = std::move(made.driver);
    made.command.insert(made.command.begin(), LAUNCH_DRIVER);
  }
  request.arguments.insert(request.arguments.end(), made.command.begin(), made.command.end());
  const auto started = host_->start(std::move(request), heard_);
  EXPECT_TRUE(started) << to_string(started.error());
  if (started) launcher_ = *started;
}

launch_run::~launch_run() = default;

std::string launch_run::await_line(const std::string& start) {
  return heard_->await_line(start);
}

void launch_run::await_file(const std::string& name) {
  const auto until = steady_clock::now() + long_enough;
  while (!std::filesystem::exists(place() / name) && steady_clock::now() < until && !heard_->has_ended())
    std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(std::filesystem::exists(place() / name)) << name;
}

void launch_run::send(int signal) {
  EXPECT_TRUE(host_->kill(launcher_, signal));
}

int launch_run::status() {
  return heard_->status();
}

std::vector<std::string> launch_run::out() {
  return heard_->out();
}

std::vector<std::string> launch_run::said() {
  return heard_->said();
}

watched_process::watched_process(const std::string& pid)
    : pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, std::atoi(pid.c_str()), 0))) {
  EXPECT_TRUE(pidfd_) << "no process " << pid;
}

bool watched_process::ends_in_time() const {
  pollfd end{pidfd_.get(), POLLIN, 0};
  return ::poll(&end, 1, static_cast<int>(std::chrono::milliseconds(long_enough).count())) == 1;
}

}  // namespace troupe::testing
