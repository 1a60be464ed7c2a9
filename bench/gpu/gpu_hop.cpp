// The hop of a tensor from one process to another on one GPU, over the edges that stages have there: half of a message
// there and one of the same size back; docs/gpu.md has the figures. torch_nccl.py measures the same with
// torch.distributed.
//
//   gpu_hop [--lane cuda_ipc|nccl|copy|turns] [--bytes N]... [--hops N] [--device NAME]
//
// Prints one JSON object: microseconds by size. A message is ready on the device when it is sent, and complete when it
// is received. The lanes `copy` and `turns` have no edge (bare_hop.hpp): one process, and two in turns.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <ATen/ops/full.h>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare_hop.hpp"
#include "program/stage_devices.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_device.hpp"
#include "runtime/transport/transport_table.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;
using steady = std::chrono::steady_clock;

struct bench_options {
  std::string lane = "cuda_ipc";
  std::string device = "cuda:0";
  std::vector<std::size_t> sizes = {4096, 65536, 1u << 20, 16u << 20, 64u << 20};
  std::uint32_t hops = 1000;
};

constexpr edge_options shape{.slots = 4};
constexpr std::uint32_t warm_up_hops = 20;
constexpr std::chrono::seconds patience{60};

/// What one process tells the other; both are the same program.
class wire {
 public:
  explicit wire(int fd) : fd_(fd) {}
  void say(const std::vector<std::uint64_t>& words) const {
    std::array<std::uint64_t, 16> all{};
    all[0] = words.size();
    std::ranges::copy(words, all.begin() + 1);
    if (::write(fd_, all.data(), sizeof all) != sizeof all) throw std::runtime_error("the other process is gone");
  }
  [[nodiscard]] std::vector<std::uint64_t> hear() const {
    std::array<std::uint64_t, 16> all{};
    if (::recv(fd_, all.data(), sizeof all, MSG_WAITALL) != sizeof all) throw std::runtime_error("no word came");
    return {all.begin() + 1, all.begin() + 1 + static_cast<std::ptrdiff_t>(all[0])};
  }

 private:
  int fd_;
};

/// Edges of one process: `out` to the other one, `in` from there.
struct ends {
  std::shared_ptr<transport> edges;
  std::unique_ptr<edge_producer> out;
  std::unique_ptr<edge_consumer> in;
  c10::Device device = c10::Device(c10::kCPU);
};

std::shared_ptr<transport> open_edges(const bench_options& how, device_tools tools) {
  transport_options options;
  options.codec = std::make_shared<tensor_codec>();
  options.devices = std::move(tools);
  return get(between_processes(how.lane).between(options));
}

ends open_ends(const bench_options& how, std::array<edge_offer, 2> offers, std::size_t in, const wire& other) {
  const c10::Device device = get(torch_device(get(parse_device(how.device, "--device")), "of the benchmark", 0));
  ends made{.edges = open_edges(how, tools_of(device)), .out = nullptr, .in = nullptr, .device = device};
  if (!offers[0].memory) {
    for (std::size_t each = 0; each < 2; ++each) {
      if (in == 0) offers[each] = get(made.edges->offer(shape, edge_reach::devices));
      if (in == 0) other.say(offers[each].words);
      if (in == 1) offers[each].words = other.hear();
    }
  }
  other.say({made.edges->contact()});
  const edge_contact there{.node = {}, .address = {}, .number = other.hear().front()};
  const auto site = [&](std::size_t channel) {
    return edge_site{.epoch = 1,
                     .channel = channel,
                     .shape = shape,
                     .offer = offers[channel],
                     .peer = there,
                     .on_lost = [](const error& why) { fmt::print(stderr, "lost: {}\n", to_string(why)); }};
  };
  made.in = get(made.edges->open_consumer(site(in)));
  made.out = get(made.edges->open_producer(site(1 - in)));
  return made;
}

void send(ends& of, const payload_ptr& tensors, std::uint64_t number) {
  activation message{{0, number}, {number, number + 1}, tensors, nullptr};
  const auto limit = steady::now() + patience;
  while (of.out->try_send(message) == send_status::no_credit) {
    if (steady::now() > limit) throw std::runtime_error("no slot came back");
    ::sched_yield();
  }
}

void receive(ends& of) {
  const auto limit = steady::now() + patience;
  while (!of.in->try_receive()) {
    if (steady::now() > limit) throw std::runtime_error("no message came");
  }
  of.in->release();
}

/// Microseconds of each hop; of the side that begins.
std::vector<double> play(ends& of, std::size_t bytes, std::uint32_t hops, bool begins, std::uint64_t& number) {
  const at::Tensor value =
      at::full({static_cast<std::int64_t>(bytes)}, 7, at::TensorOptions(at::kByte).device(of.device));
  const auto probe = value.cpu();  // it is ready
  const payload_ptr tensors = make_tensors(value);
  std::vector<double> made;
  for (std::uint32_t hop = 0; hop < hops + warm_up_hops; ++hop) {
    const auto start = steady::now();
    if (begins) send(of, tensors, number);
    receive(of);
    if (!begins) send(of, tensors, number);
    ++number;
    const std::chrono::duration<double, std::micro> taken = steady::now() - start;
    if (hop >= warm_up_hops) made.push_back(taken.count() / 2);
  }
  return made;
}

double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

nlohmann::ordered_json row_of(std::size_t bytes, const std::vector<double>& us) {
  return {
      {"bytes", bytes}, {"p50_us", quantile(us, 0.5)}, {"p10_us", quantile(us, 0.1)}, {"p90_us", quantile(us, 0.9)}};
}

nlohmann::ordered_json play_bare(const bench_options& how) {
  const auto all = bare_hops(how.sizes, how.hops, how.lane == "turns");
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t at = 0; at < all.size(); ++at) rows.push_back(row_of(how.sizes[at], all[at]));
  return {{"lane", how.lane}, {"rows", rows}};
}

nlohmann::ordered_json play_all(const bench_options& how, std::array<edge_offer, 2> offers, bool begins, int fd) {
  ends of = open_ends(how, std::move(offers), begins ? 0 : 1, wire(fd));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::uint64_t number = 0;
  for (const std::size_t bytes : how.sizes) {
    const std::uint32_t hops = bytes > (4u << 20) ? std::max(20u, how.hops / 10) : how.hops;
    const std::vector<double> us = play(of, bytes, hops, begins, number);
    rows.push_back(row_of(bytes, us));
  }
  of.out->close();
  return {{"lane", how.lane}, {"rows", rows}};
}

int run(const bench_options& how) {
  if (how.lane == "copy" || how.lane == "turns") {
    fmt::print("{}\n", play_bare(how).dump());
    return 0;
  }
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) return 1;
  std::array<edge_offer, 2> offers;
  if (how.lane == "cuda_ipc") {
    const auto none = [] { return fail(error_code::device_unavailable, "driver", "it has no end"); };
    const auto driver = open_edges(how, {.nccl = none, .ipc = none});
    for (edge_offer& each : offers) each = get(driver->offer(shape, edge_reach::devices));
  }
  // A process that has used CUDA cannot be copied.
  const pid_t other = ::fork();
  ::setenv("NCCL_HOSTID", std::to_string(::getpid()).c_str(), 1);
  if (other == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    static_cast<void>(play_all(how, offers, false, fds[1]));
    ::_exit(0);
  }
  fmt::print("{}\n", play_all(how, std::move(offers), true, fds[0]).dump());
  int status = 0;
  return ::waitpid(other, &status, 0) == other ? status : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The hop of a tensor between two processes on one GPU.");
  bench_options how;
  app.add_option("--lane", how.lane, "Which way")
      ->check(CLI::IsMember({"cuda_ipc", "nccl", "copy", "turns"}))
      ->capture_default_str();
  app.add_option("--bytes", how.sizes, "Messages of this size in place of all; may be repeated");
  app.add_option("--hops", how.hops, "Hops per size; a tenth of them above 4 MiB")->capture_default_str();
  app.add_option("--device", how.device, "As troupe eval --device")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(how);
  } catch (const std::exception& caught) {
    fmt::print(stderr, "gpu_hop: {}\n", caught.what());
    return 1;
  }
}
