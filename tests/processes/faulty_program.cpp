// A program with a topology of its own, one of whose stages does harm when it meets a certain sample. Its arguments are
// NAME=VALUE:
//   fault=none|kill|abort|exit|throw|hang|slow|sparse|noise
//   fault=list             prints the descriptors of a program that it starts
//   fault=orphan           starts a program that leaves its group, and is killed
//   fault=unready          a worker hangs that makes the stage
//   at=SAMPLE
//   once=FILE              made at the first time; no harm after that
//   processes=all|first|none    transport=KIND    trace=yes    runs=N
//   program=no             main() makes no troupe::program
//   other=pid|second-run   workers or a later run describe another topology
//   forward_deadline=SECONDS    start_deadline=SECONDS
//   pace=MICROSECONDS      of each micro-batch
//   model=FILE             a pipeline in place of the stages
//   deadline=SECONDS       of the whole run
//   stop=at-last-words     asks the run to stop once a worker has said something
//   shared=yes             one object computes, and tells how often
//   hooks=none             the log goes where it goes by itself    log=info
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <thread>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <unistd.h>

#include "messages/try.hpp"
#include "runtime/process/worker_environment.hpp"
#include <troupe/troupe.hpp>

namespace {

using namespace std::chrono_literals;
using settings = std::map<std::string, std::string>;

constexpr std::uint64_t samples = 400;
constexpr std::uint64_t micro_batch = 4;
constexpr std::int64_t classes = 10;

settings parse(int argc, char** argv) {
  settings found = {{"fault", "none"}, {"at", "101"}, {"processes", "all"}, {"runs", "1"}, {"pace", "0"}};
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    found[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  return found;
}

/// Sample n is the number n, of class n % 10.
class numbers final : public troupe::data_set {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return samples; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {1}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return ::classes; }
  [[nodiscard]] std::string name() const override { return "numbers"; }
  [[nodiscard]] troupe::expected<troupe::sample_block> read(troupe::sample_range range) const override {
    const auto each = at::arange(static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end));
    return troupe::sample_block{each.to(at::kFloat).unsqueeze(1), each.remainder(::classes)};
  }
};

void do_harm(const std::string& fault) {
  std::fprintf(stderr, "last words before %s\n", fault.c_str());
  if (fault == "list" && std::system("ls -l /proc/self/fd 1>&2") != 0) std::abort();
  constexpr const char* leave_the_group =
      "setsid sh -c 'echo > left; exec sleep 600' </dev/null >/dev/null 2>&1 & until [ -e left ]; do :; done";
  if (fault == "orphan" && std::system(leave_the_group) != 0) std::abort();
  if (fault == "kill" || fault == "orphan") ::raise(SIGKILL);
  if (fault == "abort") std::abort();
  if (fault == "exit") ::_exit(3);
  if (fault == "throw") throw std::runtime_error("thrown on purpose");
  if (fault == "hang" || fault == "unready") std::this_thread::sleep_for(24h);
  if (fault == "slow") std::this_thread::sleep_for(3s);
}

/// Far more than a pipe holds.
void make_noise() {
  const std::string line(200, '.');
  for (int i = 0; i < 2000; ++i) std::fprintf(stderr, "%s\n", line.c_str());
}

/// Passes on what it gets.
struct fragile {
  std::string fault;
  std::uint64_t at;
  std::string once;
  std::chrono::microseconds pace;

  [[nodiscard]] bool is_harmless() const { return !once.empty() && std::ifstream(once).good(); }
  void do_harm_once() const {
    if (!once.empty()) std::ofstream(once) << "met";
    do_harm(fault);
  }

  at::Tensor operator()(const at::Tensor& input, const troupe::micro_batch_info& which) const {
    std::this_thread::sleep_for(pace);
    if (fault == "noise") make_noise();
    const bool meets_it = which.samples.begin <= at && at < which.samples.end;
    if (fault != "none" && meets_it && !is_harmless()) {
      do_harm_once();
      if (fault == "sparse") return input.to_sparse();
    }
    return input;
  }
};

/// Counts what it computes, and passes it on.
class counting final : public troupe::stage_function {
 public:
  [[nodiscard]] troupe::named_tensors run(const troupe::named_tensors& inputs,
                                          const troupe::micro_batch_info&) override {
    ++calls_;
    return inputs;
  }
  ~counting() override { std::fprintf(stderr, "counted %d\n", calls_); }

 private:
  int calls_ = 0;
};

/// Log-probabilities that are right for most samples.
at::Tensor guess(const at::Tensor& numbers) {
  const at::Tensor wanted = (numbers * 1.03).floor().remainder(classes);
  return at::log_softmax(-(wanted - at::arange(classes)).square() / 7, 1);
}

troupe::topology describe(settings& given, int run) {
  troupe::topology made;
  if (given.contains("model")) {
    return made.source("loader", "mnist:" + given["data"])
        .pipeline("lenet", given["model"], {.stages = 2, .process = true})
        .sink("metrics", {"accuracy", "nll"});
  }
  const fragile stage{given["fault"], std::stoull(given["at"]), given["once"],
                      std::chrono::microseconds(std::stoull(given["pace"]))};
  const auto make_stage = [stage](const troupe::stage_context&) {
    if (stage.fault == "unready" && troupe::program::worker() != nullptr && !stage.is_harmless()) stage.do_harm_once();
    return std::make_shared<troupe::callable_stage<fragile>>(stage);
  };
  made.source("loader", std::make_shared<numbers>());
  if (given["shared"] == "yes") made.stage("counting", std::make_shared<counting>());
  made.stage("fragile", troupe::stage_factory(make_stage), {.process = given["processes"] == "first"})
      .stage("guess", guess);
  const bool other = given["other"] == "second-run" && run > 0;
  if (given["other"] == "pid" || other) {
    made.stage(other ? "another" : std::to_string(::getpid()), [](const at::Tensor& scores) { return scores; });
  }
  return made.sink("metrics", {"accuracy", "nll"});
}

std::chrono::milliseconds seconds(const std::string& given) {
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(std::stod(given)));
}

troupe::run_options options_of(settings& given) {
  troupe::run_options options{
      .micro_batch = micro_batch, .threads = 1, .workers = {.enabled = given["processes"] == "all"}};
  if (given.contains("forward_deadline")) options.workers.forward_deadline = seconds(given["forward_deadline"]);
  if (given.contains("start_deadline")) options.workers.start_deadline = seconds(given["start_deadline"]);
  if (given.contains("deadline")) options.deadline = seconds(given["deadline"]);
  if (given.contains("limit")) options.limit = std::stoull(given["limit"]);
  if (given["transport"] == "inproc") options.workers.transport = troupe::transport_kind::inproc;
  if (given["transport"] == "tcp") options.workers.transport = troupe::transport_kind::tcp;
  options.trace = given["trace"] == "yes";
  if (given["log"] == "info") options.log.level = troupe::log_level::info;
  return options;
}

/// As troupe::run(), which nothing can ask to stop.
troupe::expected<troupe::run_result> run_once(settings& given, int run) {
  std::atomic<troupe::evaluator*> running{nullptr};
  const troupe::evaluation_hooks hooks{.on_progress = {}, .on_log = [&](const troupe::log_record& record) {
                                         std::cerr << to_string(record) << std::endl;
                                         const bool is_due = record.text.find("last words") != std::string::npos;
                                         if (!is_due || given["stop"] != "at-last-words" || !running) return;
                                         running.load()->request_stop(troupe::stop_kind::drain);
                                       }};
  const bool has_hooks = given["hooks"] != "none";
  auto made = TROUPE_TRY(troupe::evaluator::create(describe(given, run), options_of(given),
                                                   has_hooks ? hooks : troupe::evaluation_hooks()));
  running = made.get();
  return (made)->run();
}

/// As `troupe eval`: a run that was told to end says so.
int status_of(const troupe::run_result& result) {
  troupe::exit_status status = troupe::status_of(result.errors.front().code);
  for (const troupe::error& each : result.errors) {
    const troupe::exit_status other = troupe::status_of(each.code);
    if (other == troupe::exit_status::deadline || other == troupe::exit_status::interrupted) status = other;
  }
  return static_cast<int>(status);
}

/// A thread that was left behind goes on using what would be destroyed.
int leave(int status) {
  if (troupe::has_abandoned_threads()) std::_Exit(status);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  settings given = parse(argc, argv);
  std::optional<troupe::program> program;
  if (given["program"] != "no") program.emplace(argc, argv);
  for (int run = 0; run < std::stoi(given["runs"]); ++run) {
    const auto result = run_once(given, run);
    if (!result) {
      if (!troupe::has_abandoned_threads()) std::cerr << to_string(result.error()) << '\n';
      return leave(static_cast<int>(troupe::status_of(result.error().code)));
    }
    std::cout << troupe::result_json(*result).text << '\f' << std::flush;
    if (!result->errors.empty()) return leave(status_of(*result));
  }
  return leave(0);
}
