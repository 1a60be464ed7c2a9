// The program that agents start as a worker: does what its messages say, each a word and what it is about, and answers
// each with a message. Its first argument is liveness::timeout of its link in milliseconds.
#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/link/message_link.hpp"
#include "runtime/link/numbered_link.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/process/adopt_socket.hpp"
#include "runtime/process/fd_channel.hpp"
#include "runtime/process/worker_environment.hpp"
#include "runtime/telemetry/shared_page.hpp"

namespace {

using troupe::fd_channel;
using troupe::unique_fd;

constexpr int patience_ms = 60'000;

[[noreturn]] void die_of(int number) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  std::signal(number, SIG_DFL);  // sanitizers have handlers
  ::raise(number);
  std::_Exit(98);
}

void print(std::FILE* to, const std::string& line) {
  std::fputs((line + "\n").c_str(), to);
  std::fflush(to);
}

/// The descriptors that came over the channel, by their names.
class found_memory {
 public:
  explicit found_memory(fd_channel channel) : channel_(std::move(channel)) {}

  const std::vector<unique_fd>& find(const std::string& name) {
    while (!found_.contains(name)) {
      pollfd waits{channel_.fd(), POLLIN, 0};
      if (::poll(&waits, 1, patience_ms) != 1) std::_Exit(97);
      auto input = channel_.receive();
      if (!input || input->status == troupe::channel_status::closed) std::_Exit(96);
      if (input->status == troupe::channel_status::done)
        found_.insert_or_assign(input->message.tag, std::move(input->message.fds));
    }
    return found_.at(name);
  }

 private:
  fd_channel channel_;
  std::map<std::string, std::vector<unique_fd>> found_;
};

/// Holds what this process has open, its link as well, until it is killed. The number of its process.
std::string fork_one() {
  const pid_t child = ::fork();
  if (child != 0) return std::to_string(child);
  ::setsid();  // not of the worker's group
  while (true) ::pause();
}

std::string read_at(int memory, off_t offset, std::size_t bytes) {
  std::string text(bytes, '?');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(memory, text.data(), bytes, offset))));
  return text;
}

/// FNV-1a.
std::string hash_of(int memory) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  off_t at = 0;
  for (std::string some = read_at(memory, at, 1u << 20); !some.empty(); some = read_at(memory, at, 1u << 20)) {
    for (const char each : some) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3u;
    at += static_cast<off_t>(some.size());
  }
  return std::to_string(hash);
}

std::string kibibytes_in_memory(int memory) {
  struct stat status {};
  ::fstat(memory, &status);
  return std::to_string(status.st_blocks / 2);
}

/// What an engine would write into this page.
void work_on(int memory, std::istream& with) {
  const auto page = troupe::shared_page::adopt(unique_fd(::dup(memory)));
  if (!page) std::_Exit(95);
  troupe::engine_page& place = *page->page();
  std::uint64_t samples = 0;
  with >> samples;
  place.taken = true;
  place.counters.samples = samples;
  place.work.begin({1, samples}, troupe::steady_now());
}

class worker {
 public:
  worker(fd_channel channel, std::unique_ptr<troupe::link_loop> links, std::shared_ptr<troupe::message_link> driver)
      : memory_(std::move(channel)), links_(std::move(links)), driver_(std::move(driver)) {}

  [[noreturn]] void serve() {
    driver_->start({.on_message =
                        [this](const troupe::codec::bytes& message) {
                          const std::lock_guard lock{mutex_};
                          orders_.emplace_back(reinterpret_cast<const char*>(message.data()), message.size());
                          changed_.notify_all();
                        },
                    .on_lost = [](const troupe::error&) { std::_Exit(94); }});
    while (true) obey(next());
  }

 private:
  std::string next() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return !orders_.empty(); });
    std::string first = std::move(orders_.front());
    orders_.pop_front();
    return first;
  }

  void obey(const std::string& order) {
    std::istringstream words(order);
    std::string what;
    words >> what;
    const std::string rest = order.size() > what.size() ? order.substr(what.size() + 1) : std::string{};
    if (what == "echo") return answer(rest);
    if (what == "print") print(stdout, rest);
    if (what == "complain") print(stderr, rest);
    if (what == "exit") std::_Exit(std::stoi(rest));
    if (what == "die-of") die_of(std::stoi(rest));
    if (what == "ignore-term") std::signal(SIGTERM, SIG_IGN);
    if (what == "fork") return answer(fork_one());
    if (what == "lose-link") return links_.reset();
    if (what == "say-bytes") return answer(std::string(std::stoul(rest), 'x'));
    if (what == "variable") return answer(std::getenv(rest.c_str()) == nullptr ? "none" : std::getenv(rest.c_str()));
    if (what == "directory") return answer(std::filesystem::current_path().string());
    if (is_about_memory(what, words)) return;
    answer("done");
  }

  /// All have the name and the index of a descriptor.
  bool is_about_memory(const std::string& what, std::istringstream& words) {
    const std::map<std::string, std::function<std::string(int)>> known = {
        {"count", [&](int) { return std::to_string(last_count_); }},
        {"hash", hash_of},
        {"kibibytes", kibibytes_in_memory},
        {"read",
         [&](int memory) {
           const off_t offset = number(words);
           return read_at(memory, offset, static_cast<std::size_t>(number(words)));
         }},
        {"write", [&](int memory) { return write_at(memory, words); }},
        {"work", [&](int memory) { return work_on(memory, words), "done"; }}};
    const auto found = known.find(what);
    if (found == known.end()) return false;
    std::string name;
    words >> name;
    const auto& memory = memory_.find(name);
    last_count_ = memory.size();
    answer(found->second(memory.at(static_cast<std::size_t>(number(words))).get()));
    return true;
  }

  static off_t number(std::istringstream& words) {
    off_t read = 0;
    words >> read;
    return read;
  }
  static std::string write_at(int memory, std::istringstream& words) {
    const off_t offset = number(words);
    std::string text;
    words >> text;
    return std::to_string(::pwrite(memory, text.data(), text.size(), offset));
  }

  void answer(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    driver_->send({bytes.begin(), bytes.end()});
  }

  found_memory memory_;
  std::size_t last_count_ = 0;
  std::unique_ptr<troupe::link_loop> links_;
  std::shared_ptr<troupe::message_link> driver_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> orders_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto environment = troupe::take_worker_environment();
  if (!environment || !*environment || argc < 2) return 99;
  if (argc > 2 && std::string(argv[2]) == "dies") {
    print(stderr, "nothing to do");
    return 7;
  }
  auto channel = fd_channel::adopt(unique_fd((*environment)->channel), ::getppid());
  if (!channel) return 93;
  auto socket = troupe::adopt_socket(unique_fd((*environment)->link), SOCK_STREAM, ::getppid(), "probe");
  if (!socket) return 92;
  auto links = troupe::link_loop::create({std::chrono::milliseconds(std::stoi(argv[1]))});
  if (!links) return 91;
  auto driver = troupe::number_messages((*links)->open(std::move(*socket), troupe::link_side::worker));
  worker(std::move(*channel), std::move(*links), std::move(driver)).serve();
}
