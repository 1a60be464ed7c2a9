// The program that the tests start as a worker: does one thing, named by its first argument.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/process/error_line.hpp"
#include "runtime/process/fd_channel.hpp"
#include "runtime/process/fork_server.hpp"
#include "runtime/process/process_host.hpp"

namespace {

using arguments = std::vector<std::string>;

[[noreturn]] void wait_for_ever() {
  while (true) ::pause();
}

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

int die_of(const arguments& given) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  const int number = std::stoi(given.at(1));
  std::signal(number, SIG_DFL);  // sanitizers have handlers
  ::raise(number);
  wait_for_ever();
}

int flood(const arguments& given) {
  const int lines = std::stoi(given.at(1));
  for (int i = 0; i < lines; ++i) std::fprintf(stderr, "line %d\n", i);
  return 0;
}

int tell(const arguments& given) {
  troupe::tell_starter_errors();
  const troupe::error why{troupe::error_code::process_failed, "probe", "it was asked to", "nothing"};
  std::fputs(("before\n" + troupe::last_words(why)).c_str(), stderr);
  return std::stoi(given.at(1));
}

int partial(const arguments&) {
  std::fputs("whole\nhalf", stderr);
  return 0;
}

int long_line(const arguments& given) {
  say(std::string(std::stoul(given.at(1)), 'x') + "\nnext");
  return 0;
}

int close_output(const arguments&) {
  say("closing");
  ::close(STDOUT_FILENO);
  ::close(STDERR_FILENO);
  wait_for_ever();
}

/// A child that outlives this process with its pipes; "escapes": into a session of its own, so that it is not of the
/// group. It says its pid, and floods if asked to.
int leave_grandchild(const arguments& given) {
  const auto has = [&](const char* what) { return std::ranges::find(given, what) != given.end(); };
  const pid_t child = ::fork();
  if (child != 0) {
    say("grandchild " + std::to_string(child));
    return 0;
  }
  if (has("escapes")) ::setsid();
  while (has("floods")) {
    // Ends by SIGPIPE once its output is not read any more.
    std::fputs("flood\n", stderr);
  }
  wait_for_ever();
}

int ignore_term(const arguments&) {
  std::signal(SIGTERM, SIG_IGN);
  say("ready");
  wait_for_ever();
}

int wait_here(const arguments&) {
  say("ready");
  wait_for_ever();
}

void report_descriptors() {
  // Listed before any is described, and without that of the listing itself.
  std::vector<int> open;
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) open.push_back(fd);
  }
  for (const int fd : open) {
    say("fd " + std::to_string(fd) + " " +
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).string());
  }
}

/// Holds another process as a debugger does, until this one ends.
int trace(const arguments& given) {
  say(::ptrace(PTRACE_SEIZE, std::stoi(given.at(1)), nullptr, nullptr) == 0 ? "traces" : "may not trace");
  wait_for_ever();
}

int report(const arguments& given) {
  for (const std::string& argument : given) say("argument " + argument);
  for (char** entry = ::environ; *entry != nullptr; ++entry) say(std::string("environment ") + *entry);
  report_descriptors();
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  say("open files " + std::to_string(files.rlim_cur));
  say("directory " + std::filesystem::current_path().string());
  say("pid " + std::to_string(::getpid()));
  say("group " + std::to_string(::getpgid(0)));
  int death_signal = 0;
  ::prctl(PR_GET_PDEATHSIG, &death_signal);
  say("death signal " + std::to_string(death_signal));
  sigset_t blocked;
  ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
  for (int number = 1; number < SIGRTMIN; ++number) {
    struct sigaction action {};
    if (::sigismember(&blocked, number) == 1) say("blocked " + std::to_string(number));
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_DFL) {
      say("not default " + std::to_string(number));
    }
  }
  return 0;
}

/// Takes a message with a descriptor from its channel (number given), prints what can be read there, sends it back.
int channel(const arguments& given) {
  auto end = troupe::fd_channel::adopt(troupe::unique_fd(std::stoi(given.at(1))), ::getppid());
  if (!end) return say(to_string(end.error())), 2;
  pollfd waits{end->fd(), POLLIN, 0};
  ::poll(&waits, 1, 20'000);
  auto input = end->receive();
  if (!input) return say(to_string(input.error())), 3;
  std::vector<int> fds;
  for (const auto& fd : input->message.fds) {
    std::string text(64, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(fd.get(), text.data(), text.size(), 0))));
    say(input->message.tag + ": " + text);
    fds.push_back(fd.get());
  }
  const auto sent = end->send("back", fds);
  return sent && *sent == troupe::channel_status::done ? 0 : 4;
}

struct silent_listener : troupe::process_listener {
  void on_output(troupe::worker_id, troupe::output_stream, std::string_view line) override { say(std::string(line)); }
  void on_exit(const troupe::exit_report&) override {}
};

/// A driver with workers of its own, whose output it passes on: each says its pid.
int driver(const arguments& given) {
  auto host = troupe::process_host::create();
  if (!host) return 2;
  for (int i = 0; i < std::stoi(given.at(1)); ++i) {
    troupe::spawn_request request;
    request.arguments = {"probe", "say-pid"};
    if (!(*host)->start(std::move(request), std::make_shared<silent_listener>())) return 3;
  }
  wait_for_ever();
}

struct counting_listener final : silent_listener {
  std::atomic<int> ended{0};
  void on_exit(const troupe::exit_report&) override {
    ++ended;
    ended.notify_one();
  }
};

/// Its two workers are copies of this process, prepared once, and children that wait() does not see.
int nurse(const arguments&) {
  const auto from =
      troupe::fork_server::fork_here(troupe::fork_server_preparation::for_first_copy, [] { say("prepared"); });
  if (std::getenv("TROUPE_TEST_COPY") != nullptr) {
    say("copied");
    return 0;
  }
  auto host = troupe::process_host::create();
  if (!from || !host) return 2;
  const auto listener = std::make_shared<counting_listener>();
  for (int i = 0; i < 2; ++i) {
    troupe::spawn_request request;
    request.program = "/bin/false";
    request.environment = {{"TROUPE_TEST_COPY", "1"}};
    request.from = from;
    if (!(*host)->start(std::move(request), listener)) return 3;
  }
  say(::waitpid(-1, nullptr, WNOHANG) < 0 ? "sees no child" : "sees a child");
  for (int ended = 0; ended < 2; ended = listener->ended) listener->ended.wait(ended);
  return 0;
}

int say_pid(const arguments&) {
  say("pid " + std::to_string(::getpid()));
  wait_for_ever();
}

}  // namespace

int main(int argc, char** argv) {
  troupe::serve_fork_server_if_asked(nullptr);
  const std::map<std::string, std::function<int(const arguments&)>> known = {
      {"exit", [](const arguments& given) { return std::stoi(given.at(1)); }},
      {"die-of", die_of},
      {"flood", flood},
      {"partial", partial},
      {"tell", tell},
      {"long-line", long_line},
      {"close-output", close_output},
      {"leave-grandchild", leave_grandchild},
      {"ignore-term", ignore_term},
      {"wait", wait_here},
      {"trace", trace},
      {"report", report},
      {"channel", channel},
      {"driver", driver},
      {"say-pid", say_pid},
      {"nurse", nurse},
  };
  const arguments given(argv + 1, argv + argc);
  const auto found = given.empty() ? known.end() : known.find(given.front());
  return found == known.end() ? 99 : found->second(given);
}
