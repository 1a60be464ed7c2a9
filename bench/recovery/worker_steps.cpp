#include "worker_steps.hpp"

#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/flow/stage_body.hpp"
#include "runtime/os/clock.hpp"

namespace troupe::bench {
namespace {

constexpr std::string_view mark = "@step ";

class speaking_body final : public stage_body {
 public:
  speaking_body(std::shared_ptr<stage_body> inner, stage_index stage) : inner_(std::move(inner)), stage_(stage) {}

  void on_start() override {
    const auto begin = steady_now();
    inner_->on_start();
    say_step("warmed", stage_, begin);
  }
  [[nodiscard]] expected<void> run(std::span<const activation> inputs, std::span<activation> outputs) override {
    if (has_run_) return inner_->run(inputs, outputs);
    has_run_ = true;
    const auto begin = steady_now();
    auto ran = inner_->run(inputs, outputs);
    say_step("ran", stage_, begin);
    return ran;
  }

 private:
  const std::shared_ptr<stage_body> inner_;
  const stage_index stage_;
  bool has_run_ = false;
};

}  // namespace

void say_step(const std::string& name, stage_index stage, std::chrono::nanoseconds begin) {
  fmt::print(stderr, "{}{} {} {} {} {}\n", mark, name, stage, ::getpid(), begin.count(), steady_now().count());
}

std::optional<worker_step> parse_step(std::string_view line) {
  // the driver quotes the last lines of a lost worker in its own
  if (!line.starts_with(mark)) return std::nullopt;
  std::istringstream text{std::string(line.substr(mark.size()))};
  worker_step step;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  if (!(text >> step.name >> step.stage >> step.pid >> begin >> end)) return std::nullopt;
  step.begin = std::chrono::nanoseconds{begin};
  step.end = std::chrono::nanoseconds{end};
  return step;
}

std::shared_ptr<stage_body> with_steps(std::shared_ptr<stage_body> inner, stage_index stage) {
  return std::make_shared<speaking_body>(std::move(inner), stage);
}

}  // namespace troupe::bench
