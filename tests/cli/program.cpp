#include "tests/cli/program.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages/check.hpp"

extern char** environ;

namespace troupe::testing {
namespace {

using clock = std::chrono::steady_clock;

struct pipe_ends {
  int read = -1;
  int write = -1;
};

pipe_ends make_pipe() {
  std::array<int, 2> ends{};
  TROUPE_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0, "a test has file descriptors left");
  return {ends[0], ends[1]};
}

void fill(int fd) {
  const std::array<char, 4096> filler{};
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  while (::write(fd, filler.data(), filler.size()) > 0) {
  }
  ::fcntl(fd, F_SETFL, 0);
}

void close_end(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_for(const program_call& call) {
  std::vector<std::string> result = call.environment;
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::strncmp(*each, "TROUPE_", 7) != 0) result.emplace_back(*each);
  }
  return result;
}

/// A shell starts what runs in its background with these ignored, and the program would inherit that from its test.
constexpr std::array signals_of_a_shell = {SIGINT, SIGQUIT, SIGHUP};

/// With the usual actions of signals_of_a_shell.
int spawn(pid_t& child, const std::string& program, const posix_spawn_file_actions_t& actions, char** arguments,
          char** environment) {
  sigset_t usual;
  sigemptyset(&usual);
  for (const int each : signals_of_a_shell) sigaddset(&usual, each);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int status = ::posix_spawn(&child, program.c_str(), &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  return status;
}

pid_t start(const program_call& call, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, call.directory.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (call.stdout_file.empty()) {
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, call.stdout_file.c_str(), O_WRONLY | O_CREAT, 0644);
  }
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  const std::string program = call.program.empty() ? TROUPE_PROGRAM : call.program;
  std::vector<std::string> arguments = {program};
  arguments.insert(arguments.end(), call.arguments.begin(), call.arguments.end());
  std::vector<std::string> environment = environment_for(call);
  pid_t child = -1;
  const int status = spawn(child, program, actions, pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  TROUPE_CHECK(status == 0, "the program is built before its tests");
  return child;
}

void redirect(int from, int to) {
  TROUPE_CHECK(from >= 0 && ::dup2(from, to) == to, "a child of a test has its descriptors");
}

/// As start(), without another program.
pid_t start_body(const program_call& call, int out, int err) {
  std::vector<std::string> environment = environment_for(call);
  const std::vector<char*> variables = pointers(environment);
  std::fflush(nullptr);  // or the child, too, writes what this program has not written yet
  const pid_t child = ::fork();
  TROUPE_CHECK(child >= 0, "a test may start a process");
  if (child > 0) return child;
  for (const int each : signals_of_a_shell) ::signal(each, SIG_DFL);
  TROUPE_CHECK(::chdir(call.directory.c_str()) == 0, "a test's directory exists");
  redirect(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  const bool has_file = !call.stdout_file.empty();
  redirect(has_file ? ::open(call.stdout_file.c_str(), O_WRONLY | O_CREAT, 0644) : out, STDOUT_FILENO);
  redirect(err, STDERR_FILENO);
  environ = const_cast<char**>(variables.data());
  ::_exit(call.body(call.arguments));
}

/// False at the end of the file, which closes it.
void read_some(int& fd, std::string& into) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) {
    into.append(buffer.data(), static_cast<std::size_t>(got));
  } else {
    close_end(fd);
  }
}

/// False if the deadline came first.
bool read_to_end(const program_call& call, pid_t child, pipe_ends& out, pipe_ends& err, program_outcome& outcome) {
  const auto end = clock::now() + call.deadline;
  while (out.read >= 0 || (err.read >= 0 && !call.stderr_full)) {
    std::array<pollfd, 2> waited = {{{out.read, POLLIN, 0}, {call.stderr_full ? -1 : err.read, POLLIN, 0}}};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now()).count();
    if (left <= 0) return false;
    const int patience = static_cast<int>(call.on_tick ? 1 : left);
    if (::poll(waited.data(), waited.size(), patience) == 0 && !call.on_tick) return false;
    if (call.on_tick) {
      for (const int signal : call.on_tick()) ::kill(child, signal);
    }
    if (waited[0].revents != 0) read_some(out.read, outcome.out);
    if (waited[1].revents == 0) continue;
    read_some(err.read, outcome.err);
    if (!call.on_stderr) continue;
    for (const int signal : call.on_stderr(outcome.err)) ::kill(child, signal);
  }
  return true;
}

}  // namespace

std::function<std::vector<int>()> kill_when_grown(std::filesystem::path file, std::uintmax_t bytes) {
  return [file = std::move(file), bytes, is_sent = false]() mutable -> std::vector<int> {
    std::error_code missing;
    const auto size = std::filesystem::file_size(file, missing);
    if (missing || size < bytes || is_sent) return {};
    is_sent = true;
    return {SIGKILL};
  };
}

program_outcome run_troupe(const program_call& call) {
  program_outcome outcome;
  pipe_ends out = make_pipe();
  pipe_ends err = make_pipe();
  if (call.stdout_closed) close_end(out.read);
  if (call.stderr_full) fill(err.write);
  const pid_t child = (call.body != nullptr ? start_body : start)(call, out.write, err.write);
  close_end(out.write);
  close_end(err.write);
  if (call.on_start) call.on_start(child);
  const bool in_time = read_to_end(call, child, out, err, outcome);
  if (!in_time) ::kill(child, SIGKILL);
  close_end(out.read);
  close_end(err.read);
  int status = 0;
  TROUPE_CHECK(::waitpid(child, &status, 0) == child, "a child is waited for once");
  if (in_time) outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace troupe::testing
