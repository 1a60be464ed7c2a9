#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace troupe {

using line_sink = std::function<void(std::string_view)>;

/// Makes lines of bytes as they come. Keeps at most worker_output_line_bytes_max bytes: what a longer line has beyond
/// that is dropped. One thread at a time.
class line_splitter {
 public:
  /// Calls `sink` once for each line that ends in `bytes`; the text without its '\n' lives as long as the call.
  void feed(std::string_view bytes, const line_sink& sink);

  /// At the end of the bytes: an unfinished last line.
  void finish(const line_sink& sink);

 private:
  void append(std::string_view bytes);

  std::string line_;
};

}  // namespace troupe
