#include "runtime/log/log_writer.hpp"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/log/repeat_limit.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/input_file.hpp"
#include "runtime/os/message_writer.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/os/write_all.hpp"

namespace troupe {
namespace {

using line_output = std::function<void(std::string_view)>;

class output_sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit output_sink(line_output output) : output_(std::move(output)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    output_({line.data(), line.size()});
  }
  void flush_() override {}

 private:
  line_output output_;
};

/// For all objects of this process: the descriptor is one.
void write_to_stderr(std::string_view line) {
  static auto* const mutex = new std::mutex;  // never destroyed: a thread that was left behind may still log
  static auto* const writer = new message_writer(STDERR_FILENO);
  const std::lock_guard lock{*mutex};
  writer->write(line, limits::stderr_patience);
}

spdlog::level::level_enum level_of(log_level level) {
  switch (level) {
    case log_level::debug:
      return spdlog::level::debug;
    case log_level::info:
      return spdlog::level::info;
    case log_level::warning:
      return spdlog::level::warn;
    case log_level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// The part of a line of JSON that comes behind time and level.
std::string json_members(const log_record& record) {
  nlohmann::ordered_json members = {{"message", record.text}};
  if (record.rank) members["rank"] = *record.rank;
  if (!record.stage.empty()) members["stage"] = record.stage;
  const std::string object = members.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  return object.substr(1);
}

std::string pattern_of(const log_writer_options& options) {
  if (options.format == log_format::json) return R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v)";
  return options.file.empty() ? "%v" : "%Y-%m-%dT%H:%M:%S.%eZ %v";
}

/// What spdlog does not say well: it makes directories, waits for the reader of a named pipe, and throws.
expected<void> try_to_open(const std::string& file) {
  const unique_fd opened(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
  if (opened) return {};
  return fail(error_code::output_unwritable, file, std::string("the log cannot be written: ") + std::strerror(errno),
              "name a file that can be written to");
}

tl::unexpected<error> refused_log(const std::string& file, std::string cause) {
  return fail(error_code::output_unwritable, file, std::move(cause),
              "remove it if it is not wanted, or name a directory that only this user can write to");
}

/// Another user of a directory may have put something else there.
expected<unique_fd> open_own(const std::string& file) {
  constexpr int how = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  unique_fd made(::open(file.c_str(), how | O_CREAT | O_EXCL, 0666));
  if (made || errno != EEXIST) return made ? expected<unique_fd>(std::move(made)) : refused_log(file, errno_text());
  made.reset(::open(file.c_str(), how));
  if (!made && errno == ELOOP)
    return refused_log(file, "it is a symbolic link, and the log is not written through one");
  struct stat found {};
  if (!made || ::fstat(made.get(), &found) != 0) return refused_log(file, errno_text());
  if (const std::string_view kind = kind_of_file(found.st_mode); !kind.empty())
    return refused_log(file, "it is " + std::string(kind) + ", not a regular file");
  if (found.st_uid != ::geteuid()) return refused_log(file, "it belongs to another user");
  if (found.st_nlink != 1) return refused_log(file, "the file has another name, too (a hard link)");
  return made;
}

spdlog::sink_ptr sink_into(unique_fd file) {
  return std::make_shared<output_sink>([to = std::make_shared<unique_fd>(std::move(file))](std::string_view line) {
    if (const int reason = write_all(to->get(), line)) throw spdlog::spdlog_ex("it takes no more", reason);
  });
}

expected<spdlog::sink_ptr> make_sink(const log_writer_options& options) try {
  if (options.output) return std::make_shared<output_sink>(options.output);
  if (options.file.empty()) return std::make_shared<output_sink>(write_to_stderr);
  if (options.is_own_name) return open_own(options.file).map(&sink_into);
  return try_to_open(options.file).map([&]() -> spdlog::sink_ptr {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file, false);
  });
} catch (const spdlog::spdlog_ex& e) {
  return fail(error_code::output_unwritable, options.file, e.what(), "name a file that can be written to");
}

}  // namespace

struct log_writer::impl {
  impl(log_format chosen, const spdlog::sink_ptr& sink) : format(chosen), logger("troupe", sink) {}

  const log_format format;
  spdlog::logger logger;
  std::mutex mutex;
  repeat_limit repeats;

  void put(const log_record& record) {
    const std::string line = format == log_format::json ? json_members(record) : to_string(record);
    // spdlog formats the string itself where it is given one alone
    logger.log(record.time, spdlog::source_loc{}, level_of(record.level), spdlog::string_view_t(line));
  }
};

expected<std::unique_ptr<log_writer>> log_writer::open(const log_writer_options& options) {
  auto sink = TROUPE_TRY(make_sink(options));
  auto state = std::make_unique<impl>(options.format, sink);
  state->logger.set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern_of(options), spdlog::pattern_time_type::utc, "\n"));
  state->logger.set_level(spdlog::level::trace);
  state->logger.flush_on(spdlog::level::trace);
  state->logger.set_error_handler([file = options.file, told = false](const std::string& why) mutable {
    if (!std::exchange(told, true)) write_to_stderr("warning: " + file + ": the log cannot be written: " + why + "\n");
  });
  return std::unique_ptr<log_writer>(new log_writer(std::move(state)));
}

log_writer::log_writer(std::unique_ptr<impl> state) : impl_(std::move(state)) {}

log_writer::~log_writer() {
  for (const log_record& each : impl_->repeats.finish()) impl_->put(each);
}

void log_writer::write(log_record record) {
  const std::lock_guard lock{impl_->mutex};
  for (const log_record& each : impl_->repeats.take(std::move(record))) impl_->put(each);
}

}  // namespace troupe
