#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/docs/named_things.hpp"
#include "tests/docs/page.hpp"

namespace troupe::testing {

/// "docs/cli.md:12: no flag --stgaes": things that a page names and the tree does not have.
///
/// - links: the file, and its heading after '#'; addresses with a scheme are not looked at.
/// - files: words that begin with a folder of the root ("runtime/edge/edge.hpp", braces expanded), or names that end in
///   .hpp or .cpp. Not those with a wildcard or <a name to fill in>.
/// - flags: "--x", everywhere.
/// - symbols: names in backticks with "::" or "_", each part of which must be a word of the sources.
/// - tests: such names that end in "_test".
/// - error codes: "E0203", everywhere.
std::vector<std::string> name_findings(const std::filesystem::path& root, const page& each, const named_things& things);

/// Words that leave a reader to find the subject (refused_words), outside of fenced blocks; and control characters,
/// which no page shows.
std::vector<std::string> language_findings(const page& each);

}  // namespace troupe::testing
