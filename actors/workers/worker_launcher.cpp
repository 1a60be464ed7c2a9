#include <fstream>
#include <iterator>
#include <utility>

#include <troupe/actors/workers/worker_launcher.hpp>
#include <troupe/runtime/process/job_credentials.hpp>
#include <troupe/runtime/process/run_token.hpp>
#include <troupe/runtime/process/worker_environment.hpp>

namespace troupe {
namespace {

constexpr worker_environment numbers{
    .channel = 3, .ca_certificate = 4, .certificate = 5, .key = 6, .token = 7, .port = 0};

/// With argv[0], as the kernel has them: a worker is the same program with the same arguments.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    arguments.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

}  // namespace

expected<std::unique_ptr<worker_launcher>> worker_launcher::create(std::function<void(std::string)> log) {
  const auto credentials = make_job_credentials();
  if (!credentials) return tl::make_unexpected(credentials.error());
  auto ca = memory_file::make("troupe-ca", credentials->ca_certificate);
  auto driver_certificate = memory_file::make("troupe-certificate", credentials->driver.certificate);
  auto driver_key = memory_file::make("troupe-key", credentials->driver.key);
  auto worker_certificate = memory_file::make("troupe-certificate", credentials->worker.certificate);
  auto worker_key = memory_file::make("troupe-key", credentials->worker.key);
  for (const auto* each : {&ca, &driver_certificate, &driver_key, &worker_certificate, &worker_key}) {
    if (!*each) return tl::make_unexpected(each->error());
  }
  auto host = process_host::create();
  if (!host) return tl::make_unexpected(host.error());
  return std::unique_ptr<worker_launcher>(
      new worker_launcher({std::move(*ca), std::move(*driver_certificate), std::move(*driver_key),
                           std::move(*worker_certificate), std::move(*worker_key)},
                          std::move(*host), std::move(log)));
}

worker_launcher::worker_launcher(files made, std::unique_ptr<process_host> host, std::function<void(std::string)> log)
    : files_(std::move(made)), log_(std::move(log)), arguments_(own_arguments()), host_(std::move(host)) {}

secure_identity worker_launcher::identity() const {
  return {files_.ca.path(), files_.driver_certificate.path(), files_.driver_key.path()};
}

expected<std::shared_ptr<worker_process>> worker_launcher::launch(
    std::function<void(const std::shared_ptr<worker_process>&, const exit_report&)> on_exit) {
  if (closed_) return fail(error_code::engine_stopped, "workers", "the run is stopping");
  auto channel = fd_channel::make();
  if (!channel) return tl::make_unexpected(channel.error());
  const auto token = run_token::make();
  if (!token) return tl::make_unexpected(token.error());
  const auto token_file = memory_file::make("troupe-token", token->hex());
  if (!token_file) return tl::make_unexpected(token_file.error());

  const std::string name = "worker " + std::to_string(launched_++);
  auto asked = request(name, std::move(channel->second), *token_file);
  if (!asked) return tl::make_unexpected(asked.error());
  auto made = std::make_shared<worker_process>(name, token->hex(), std::move(channel->first), *host_);
  made->listen({.on_line = log_,
                .on_exit = [weak = std::weak_ptr(made), on_exit = std::move(on_exit)](const exit_report& report) {
                  if (const auto self = weak.lock()) on_exit(self, report);
                }});
  const auto id = host_->start(std::move(*asked), made);
  if (!id) return tl::make_unexpected(id.error());
  made->started(*id);
  return made;
}

expected<spawn_request> worker_launcher::request(std::string name, unique_fd socket, const memory_file& token) const {
  worker_environment environment = numbers;
  environment.port = port_;
  spawn_request made{.name = std::move(name),
                     .arguments = arguments_,
                     .environment = {{worker_variable, encode(environment)}},
                     .fds = {}};
  made.fds.push_back({std::move(socket), numbers.channel});
  const std::pair<const memory_file*, int> inherited[] = {{&files_.ca, numbers.ca_certificate},
                                                          {&files_.worker_certificate, numbers.certificate},
                                                          {&files_.worker_key, numbers.key},
                                                          {&token, numbers.token}};
  for (const auto& [file, number] : inherited) {
    auto copy = file->duplicate();
    if (!copy) return tl::make_unexpected(copy.error());
    made.fds.push_back({std::move(*copy), number});
  }
  return made;
}

bool worker_launcher::stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) {
  return host_->stop(deadline, grace);
}

}  // namespace troupe
