#pragma once

#include <map>
#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// The official file of predictions, {"id": "text", ...}. Errors: E0301, E0307; E0303 for another form, an id that is
/// there twice, or more than 500,000 of them.
expected<std::map<std::string, std::string>> read_answer_file(const std::string& path);
/// A number for each question, {"id": 0.25, ...}: how sure the model is that there is no answer.
expected<std::map<std::string, double>> read_number_file(const std::string& path);

}  // namespace troupe
