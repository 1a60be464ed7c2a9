#include "runtime/process/line_splitter.hpp"

#include "messages/limits.hpp"

namespace troupe {

void line_splitter::feed(std::string_view bytes, const line_sink& sink) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    append(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
    sink(line_);
    line_.clear();
  }
  append(bytes);
}

void line_splitter::finish(const line_sink& sink) {
  if (!line_.empty()) sink(line_);
  line_.clear();
}

void line_splitter::append(std::string_view bytes) {
  line_.append(bytes.substr(0, limits::worker_output_line_bytes_max - line_.size()));
}

}  // namespace troupe
