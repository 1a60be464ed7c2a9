#include "runtime/question_answering/squad_file.hpp"

#include "messages/try.hpp"
#include "runtime/question_answering/json_file.hpp"
#include "runtime/question_answering/squad_reader.hpp"

namespace troupe {

expected<squad_file> read_squad_file(const std::string& path) {
  squad_reader reader(path);
  TROUPE_TRY(read_json_file(
      path, reader, "correct the path behind squad:", "give a file in the form of SQuAD that this user may read"));
  return reader.take();
}

}  // namespace troupe
