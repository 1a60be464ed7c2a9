#include "runtime/process/fork_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/process/child_side.hpp"
#include "runtime/process/exec_image.hpp"
#include "runtime/process/process_host.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

constexpr const char* name_in_log = "fork server";
constexpr int socket_number = 3;
/// The first of two messages has the standard descriptors, as one may not carry all.
constexpr const char* standard_ones = "standard";
constexpr std::size_t standard_count = 3;

// --- a request as text: the numbers of its descriptors, then its variables, a line each -----------------------------

/// Read at run time, and by no library while it is loaded: a copy may have another value than the fork server.
bool may_differ(std::string_view variable) {
  constexpr std::array names = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR"};
  return variable.starts_with("TROUPE_") || std::ranges::find(names, variable) != names.end();
}

std::string_view name_in(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

/// Empty if it does not fit a message, or asks for what a copy cannot have.
std::string text_of(const exec_image& image, std::span<const fd_move> moves,
                    const std::set<std::string, std::less<>>& of_fork_server) {
  std::string text;
  for (const fd_move& each : moves) text += std::to_string(each.to) + " ";
  std::set<std::string_view> wanted;
  for (char* const* entry = image.environment(); *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    wanted.insert(name_in(variable));
    if (of_fork_server.contains(variable)) continue;
    if (!may_differ(name_in(variable)) || variable.find('\n') != std::string_view::npos) return {};
    text.append("\n").append(variable);
  }
  const bool has_all =
      std::ranges::all_of(of_fork_server, [&](const std::string& each) { return wanted.contains(name_in(each)); });
  return has_all && text.size() <= limits::channel_tag_bytes_max ? text : std::string{};
}

std::vector<int> numbers_in(std::string_view line) {
  std::vector<int> found;
  const char* const end = line.data() + line.size();
  for (const char* at = line.data(); at < end;) {
    int number = 0;
    at = std::from_chars(at, end, number).ptr + 1;
    found.push_back(number);
  }
  return found;
}

void set_variables(std::string_view lines) {
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    const std::string line(lines.substr(0, end));
    const auto middle = line.find('=');
    ::setenv(line.substr(0, middle).c_str(), line.substr(middle + 1).c_str(), 1);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

// --- the fork server's side
// ----------------------------------------------------------------------------------------------

bool has_one_thread() {
  std::error_code problem;
  const std::filesystem::directory_iterator threads("/proc/self/task", problem);
  return !problem && std::distance(begin(threads), end(threads)) == 1;
}

/// Where the C library keeps the number of this thread, which the kernel writes in the copy, as in every fork. Null:
/// this kernel does not say.
std::uint64_t place_of_thread_number() {
  int* place = nullptr;
  return ::prctl(PR_GET_TID_ADDRESS, &place) == 0 ? reinterpret_cast<std::uint64_t>(place) : 0;
}

/// A fork whose end is told by no signal: wait() of a program for any child does not see it (__WALL does), nor its
/// siblings, which take that from it. No lock is held, as there is one thread.
pid_t make_copy(std::uint64_t flags, std::uint64_t thread_number) {
  clone_args how{};
  how.flags = flags | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  how.child_tid = thread_number;
  return static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
}

/// Turns a copy into the process that exec would have made.
void become(std::string_view text, std::vector<unique_fd> fds, fd_channel& channel, pid_t driver) {
  const auto end = std::min(text.find('\n'), text.size());
  const std::vector<int> numbers = numbers_in(text.substr(0, end));
  std::vector<fd_move> moves;
  for (std::size_t i = 0; i < std::min(numbers.size(), fds.size()); ++i)
    moves.push_back({fds[i].release(), numbers[i], -1});
  if (moves.empty() || !settle_child({.moves = moves, .driver = driver})) ::_exit(EXIT_FAILURE);
  const auto told = channel.send(std::to_string(::getpid()));
  if (!told || *told != channel_status::done || !close_others(moves)) ::_exit(EXIT_FAILURE);
  set_variables(text.substr(std::min(end + 1, text.size())));
}

/// Returns in copies.
void serve(unique_fd socket, std::function<void()> prepare) {
  const pid_t driver = ::getppid();
  // out of the way of the numbers that copies have
  auto channel =
      fd_channel::adopt(unique_fd(::fcntl(socket.get(), F_DUPFD_CLOEXEC, limits::worker_inherited_fd_max + 1)), driver);
  socket.reset();
  const std::uint64_t thread_number = place_of_thread_number();
  if (!channel || thread_number == 0 || !has_one_thread()) ::_exit(EXIT_SUCCESS);
  std::vector<unique_fd> fds;
  while (true) {
    pollfd waits{channel->fd(), POLLIN, 0};
    ::poll(&waits, 1, -1);
    auto input = channel->receive();
    if (!input || input->status == channel_status::closed) ::_exit(EXIT_SUCCESS);
    if (input->status != channel_status::done) continue;
    std::ranges::move(input->message.fds, std::back_inserter(fds));
    if (input->message.tag == standard_ones) continue;
    if (prepare) std::exchange(prepare, nullptr)();
    std::fflush(nullptr);  // or each copy writes it
    const pid_t made = make_copy(CLONE_PARENT, thread_number);
    if (made == 0) return become(input->message.tag, std::move(fds), *channel, driver);
    if (made < 0) ::_exit(EXIT_FAILURE);
    fds.clear();
  }
}

/// What a copy of a process has and should not keep open, such as ends of its channels.
void close_all_but(int socket) {
  std::array<fd_move, 4> kept{};
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) kept.at(standard).to = standard;
  kept.back().to = socket;
  static_cast<void>(close_others(kept));
}

std::string own_name() {
  std::array<char, 16> name{};
  ::prctl(PR_GET_NAME, name.data());
  return name.data();
}

void serve_under_its_name(unique_fd socket, fork_server_preparation when, std::function<void()> prepare) {
  const std::string name = own_name();
  ::prctl(PR_SET_NAME, name_in_log);
  if (prepare && when == fork_server_preparation::at_once) std::exchange(prepare, nullptr)();
  serve(std::move(socket), std::move(prepare));
  ::prctl(PR_SET_NAME, name.c_str());
}

std::set<std::string, std::less<>> entries_of(char* const* environment) {
  std::set<std::string, std::less<>> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) found.emplace(*environment);
  return found;
}

/// One that hangs in the kernel stays a zombie until the end of this process.
void reap(pid_t pid) {
  const unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd death{pidfd.get(), POLLIN, 0};
  if (pidfd) ::poll(&death, 1, static_cast<int>(limits::worker_reap_time.count()));
  ::waitpid(pid, nullptr, WNOHANG | __WALL);
}

struct silent_listener final : process_listener {
  void on_output(worker_id, output_stream, std::string_view) override {}
  void on_exit(const exit_report&) override {}
};

}  // namespace

// --- the driver's or the agent's side --------------------------------------------------------------------------------

fork_server::fork_server(fd_channel channel, char* const* environment, std::chrono::milliseconds patience)
    : patience_(patience),
      channel_(std::make_unique<fd_channel>(std::move(channel))),
      environment_(entries_of(environment)) {}

fork_server::~fork_server() {
  end();
}

void fork_server::end() {
  pid_t killed = 0;
  {
    const std::lock_guard lock{mutex_};
    retire();
    killed = std::exchange(killed_, 0);
  }
  if (killed != 0) reap(killed);
}

/// Does not wait for its end: one that hangs in the kernel may take long.
void fork_server::retire() {
  channel_.reset();
  awaited_.reset();
  if (pid_ != 0) {
    ::kill(pid_, SIGKILL);  // not reaped yet: the number is still its own
    killed_ = std::exchange(pid_, 0);
  }
  if (host_) static_cast<void>(host_->kill(executed_, SIGKILL));
}

std::shared_ptr<fork_server> fork_server::fork_here(fork_server_preparation when,
                                                    const std::function<void()>& prepare) {
  auto ends = fd_channel::make();
  const std::uint64_t thread_number = place_of_thread_number();
  if (!ends || thread_number == 0 || !has_one_thread()) return nullptr;
  std::fflush(nullptr);
  const pid_t driver = ::getpid();
  const pid_t pid = make_copy(0, thread_number);
  if (pid < 0) return nullptr;
  if (pid > 0) {
    std::shared_ptr<fork_server> made(new fork_server(std::move(ends->first), ::environ, fork_server_patience));
    made->pid_ = pid;
    return made;
  }
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != driver || ::setpgid(0, 0) != 0) ::_exit(EXIT_SUCCESS);
  { const fd_channel of_driver = std::move(ends->first); }  // in a copy its number is another's
  close_all_but(ends->second.get());
  serve_under_its_name(std::move(ends->second), when, prepare);
  return nullptr;
}

std::shared_ptr<fork_server> fork_server::start(spawn_request request, std::chrono::milliseconds patience) {
  auto ends = fd_channel::make();
  auto host = process_host::create();
  const auto image = exec_image::make(request);
  if (!ends || !host || !image) return nullptr;
  request.name = name_in_log;
  request.environment.emplace_back(fork_server_variable, std::to_string(socket_number));
  request.fds.push_back({std::move(ends->second), socket_number});
  const auto started = (*host)->start(std::move(request), std::make_shared<silent_listener>());
  if (!started) return nullptr;
  std::shared_ptr<fork_server> made(new fork_server(std::move(ends->first), image->environment(), patience));
  made->host_ = std::move(*host);
  made->executed_ = *started;
  return made;
}

bool fork_server::send(const std::string& text, std::span<const fd_move> moves) {
  std::vector<int> fds;
  for (const fd_move& each : moves) fds.push_back(each.from);
  const std::span<const int> all(fds);
  const auto first = channel_->send(standard_ones, all.first(standard_count));
  if (!first || *first != channel_status::done) return false;
  const auto second = channel_->send(text, all.subspan(standard_count));
  return second && *second == channel_status::done;
}

bool fork_server::ask(const exec_image& image, std::span<const fd_move> moves, time_point deadline) {
  const std::lock_guard lock{mutex_};
  if (!channel_ || awaited_) return false;
  const std::string text = text_of(image, moves, environment_);
  if (text.empty() || surroundings::now() != around_ || moves.size() > standard_count + limits::channel_fds_max)
    return false;
  if (!send(text, moves)) {
    retire();
    return false;
  }
  const auto now = steady_clock::now();
  // the other half of the time is for exec
  awaited_ = awaited_copy{.until = now + (deadline - now) / 2, .silent_since = now, .computed = computed()};
  return true;
}

std::optional<pid_t> fork_server::take(time_point now) {
  const std::lock_guard lock{mutex_};
  if (!channel_ || !awaited_) return 0;
  const auto answer = channel_->receive();
  if (answer && answer->status == channel_status::done) {
    awaited_.reset();
    return numbers_in(answer->message.tag).front();
  }
  if (answer && answer->status == channel_status::empty && !is_silent(now)) return std::nullopt;
  return last_look();
}

pid_t fork_server::give_up() {
  const std::lock_guard lock{mutex_};
  return channel_ && awaited_ ? last_look() : 0;
}

/// A copy that has told its number runs; one that has not finds that it may not, and ends.
pid_t fork_server::last_look() {
  channel_->refuse_more();
  const auto answer = channel_->receive();
  const bool is_there = answer && answer->status == channel_status::done;
  retire();
  return is_there ? numbers_in(answer->message.tag).front() : 0;
}

/// One that loads, or copies on a busy machine, computes.
bool fork_server::is_silent(time_point now) {
  if (now >= awaited_->until) return true;
  if (now < awaited_->silent_since + patience_) return false;
  const auto so_far = computed();
  if (so_far <= awaited_->computed) return true;
  awaited_->computed = so_far;
  awaited_->silent_since = now;
  return false;
}

std::chrono::nanoseconds fork_server::computed() const {
  const auto pid = known_pid();
  clockid_t clock{};
  timespec time{};
  if (!pid || ::clock_getcpuclockid(*pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::optional<pid_t> fork_server::known_pid() const {
  if (pid_ != 0) return pid_;
  return host_ ? host_->pid_of(executed_) : std::nullopt;
}

std::optional<pid_t> fork_server::pid() const {
  const std::lock_guard lock{mutex_};
  return known_pid();
}

int fork_server::fd() const {
  const std::lock_guard lock{mutex_};
  return channel_ ? channel_->fd() : -1;
}

fork_server::time_point fork_server::wakes_at() const {
  const std::lock_guard lock{mutex_};
  if (!channel_ || !awaited_) return {};
  return std::min(awaited_->until, awaited_->silent_since + patience_);
}

void serve_fork_server_if_asked(const std::function<void()>& prepare) {
  const char* found = std::getenv(fork_server_variable);
  if (found == nullptr) return;
  const bool is_ours = std::string_view(found) == std::to_string(socket_number);
  ::unsetenv(fork_server_variable);
  if (is_ours) serve_under_its_name(unique_fd(socket_number), fork_server_preparation::at_once, prepare);
}

}  // namespace troupe
