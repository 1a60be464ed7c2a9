#include "runtime/question_answering/squad_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/question_answering/squad_reader.hpp"

namespace troupe {

expected<squad_file> read_squad_file(const std::string& path) {
  if (std::error_code none; !std::filesystem::exists(path, none)) {
    return fail(error_code::data_missing, path, "there is no such file", "correct the path behind squad:");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    return fail(error_code::data_unreadable, path, "it cannot be read, or is empty",
                "give a file in the form of SQuAD that this user may read");
  }
  squad_reader reader(path);
  const bool is_whole = nlohmann::json::sax_parse(file, &reader);
  if (file.bad()) {
    return fail(error_code::data_unreadable, path, "it cannot be read to its end", "copy it to another disk");
  }
  if (reader.problem()) return tl::make_unexpected(*reader.problem());
  if (!is_whole) return fail(error_code::data_bad_format, path, "it is no JSON text", "copy the file again");
  return reader.take();
}

}  // namespace troupe
