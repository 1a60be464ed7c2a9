#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/text_metric/squad_rules.hpp"
#include <troupe/error.hpp>

namespace troupe {

struct squad_question {
  std::string id;
  std::string text;
  /// Which of squad_file::contexts it asks about.
  std::size_t context = 0;
  /// In the order of the file. v1: at least one; v2: none where the context does not say it.
  std::vector<std::string> answers;
};

/// A file of questions in the form of SQuAD, https://rajpurkar.github.io/SQuAD-explorer. All texts are UTF-8.
struct squad_file {
  /// v2 where the file's version begins with 2 or v2, or where a question says is_impossible.
  squad_version version = squad_version::v1;
  std::vector<std::string> contexts;
  /// In the order of the file. Their ids differ.
  std::vector<squad_question> questions;
};

/// Reads `path` without keeping more than its texts. Members that are not needed are skipped. Errors: E0301 there is no
/// such file; E0307 it cannot be read; E0303 it has another form: no JSON, nested more than 200 deep, a byte that is no
/// UTF-8, a member that is missing, of another type or there twice, an empty context, an id that is there twice, a
/// question of v1 without answers, or one with more than 1000; E0305 an answer that does not stand at its answer_start;
/// E0306 no question.
expected<squad_file> read_squad_file(const std::string& path);

}  // namespace troupe
