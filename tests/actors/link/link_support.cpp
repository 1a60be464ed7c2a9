#include "tests/actors/link/link_support.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

namespace troupe::testing {
namespace {

wire_actor::behavior_type take_all(wire_actor::pointer self, const std::shared_ptr<inbox>& box) {
  self->set_down_handler([box](const caf::down_msg& down) { box->lose(down.reason); });
  return {[self, box](const wire_message& message) {
    const auto& sender = self->current_sender();
    if (sender && caf::actor_cast<wire_actor>(sender) != box->last_sender()) self->monitor(sender);
    box->take(message, sender ? caf::actor_cast<wire_actor>(sender) : wire_actor{});
  }};
}

}  // namespace

void inbox::take(const wire_message& message, const wire_actor& sender) {
  const std::lock_guard lock(mutex_);
  messages_.push_back(message);
  if (sender) sender_ = sender;
  changed_.notify_all();
}

void inbox::lose(const caf::error&) {
  const std::lock_guard lock(mutex_);
  ++losses_;
  changed_.notify_all();
}

std::optional<wire_message> inbox::next(clock::duration at_most) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, at_most, [&] { return !messages_.empty(); })) {
    ADD_FAILURE() << "no message";
    return std::nullopt;
  }
  auto message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

bool inbox::await_loss(clock::duration at_most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [&] { return losses_ > 0; });
}

bool inbox::has_loss() const {
  const std::lock_guard lock(mutex_);
  return losses_ > 0;
}

wire_actor inbox::last_sender() const {
  const std::lock_guard lock(mutex_);
  return sender_;
}

void inbox::clear() {
  const std::lock_guard lock(mutex_);
  sender_ = nullptr;
  messages_.clear();
}

link_end::link_end(liveness times)
    : config_(times), system_(config_), box_(std::make_shared<inbox>()), actor_(system_.spawn(take_all, box_)) {}

link_end::~link_end() {
  caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
  actor_ = nullptr;
  box_->clear();
}

unique_fd link_end::offer(const wire_actor& actor) {
  auto link = make_link();
  EXPECT_TRUE(link) << to_string(link.error());
  offer_link(system_, std::move(link->first), actor);
  return std::move(link->second);
}

expected<wire_actor> link_end::join(unique_fd worker_end) {
  if (auto greeted = greet_driver(worker_end); !greeted) return tl::make_unexpected(greeted.error());
  return join_driver(system_, std::move(worker_end));
}

void link_end::answer(wire_message message) {
  // Named, so that the other end knows whom to answer.
  caf::scoped_actor self{system_};
  self->send(box_->last_sender(), std::move(message));
}

void probe_listener::on_output(worker_id, output_stream, std::string_view line) {
  const std::lock_guard lock(mutex_);
  lines_.emplace_back(line);
  changed_.notify_all();
}

void probe_listener::on_exit(const exit_report& report) {
  const std::lock_guard lock(mutex_);
  report_ = report;
  changed_.notify_all();
}

std::optional<std::string> probe_listener::next_line() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, patience, [&] { return !lines_.empty(); })) return std::nullopt;
  auto line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

std::optional<exit_report> probe_listener::await_exit() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return report_.has_value(); });
  return report_;
}

probe::probe(std::vector<std::string> arguments, unique_fd link)
    : host_(std::move(*process_host::create())), listener_(std::make_shared<probe_listener>()) {
  spawn_request request;
  request.name = "probe";
  request.program = CONTROL_LINK_PROBE;
  request.arguments = std::move(arguments);
  request.arguments.insert(request.arguments.begin(), "probe");
  request.fds.push_back({std::move(link), 3});
  auto started = host_->start(std::move(request), listener_);
  EXPECT_TRUE(started) << to_string(started.error());
  if (started) id_ = *started;
}

probe probe::echo_of(link_end& driver) {
  probe made({"echo", std::to_string(driver.times().timeout.count())}, driver.offer());
  EXPECT_EQ(driver.box().next(), message_of("hi"));
  return made;
}

wire_message message_of(const std::string& text) {
  return {std::vector<std::uint8_t>(text.begin(), text.end())};
}

std::size_t forget_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;  // proc(5): the mark is the present size
  return peak_memory_kib();
}

std::size_t peak_memory_kib(const std::string& process) {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6));
  }
  return 0;
}

std::size_t open_descriptors() {
  namespace fs = std::filesystem;
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

bool eventually(const std::function<bool()>& holds, clock::duration at_most) {
  const auto deadline = clock::now() + at_most;
  while (!holds()) {
    if (clock::now() >= deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

}  // namespace troupe::testing
