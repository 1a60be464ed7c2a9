#include "program/models/local_file.hpp"

#include <cstdlib>

#include <sys/stat.h>

#include "runtime/agent/fetched_files.hpp"

namespace troupe {

std::string local_file(const std::string& path) {
  const char* text = std::getenv(files_variable);
  if (text == nullptr) return path;
  if (struct stat seen{}; ::stat(path.c_str(), &seen) == 0) return path;
  const auto fetched = fetched_files::parse(text);
  return fetched ? fetched->find(path).value_or(path) : path;
}

}  // namespace troupe
