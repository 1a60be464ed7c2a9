#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::testing {

/// One broken rule: "messages/a.hpp:3: ...".
using findings = std::vector<std::string>;

/// Dependencies point one way: cli, examples -> program -> actors -> runtime -> messages. messages/ includes only the
/// standard library, tl::expected and msgpack; runtime/ no CAF; the folders of runtime/ that run no kernels no LibTorch
/// and nothing that does; actors/ and program/ no command line. Looks at the includes of all sources and at what the
/// CMakeLists.txt link.
findings dependency_findings(const std::filesystem::path& root);

/// No circle between folders: not between those of any one depth, with their subfolders, nor between a folder and its
/// own subfolders. One finding per include that closes a circle: "a -> b: a/x.hpp includes b/y.hpp".
findings circle_findings(const std::filesystem::path& root);

/// The file of the tree, relative to its root, that this line of `file` includes; nothing for any other line.
std::optional<std::filesystem::path> included_in_tree(const std::filesystem::path& root,
                                                      const std::filesystem::path& file, const std::string& line);

/// No source of 400 lines or more, `#pragma once` in every header, no tabs, no white space at the end of a line, no
/// notes to self.
findings style_findings(const std::filesystem::path& root);

/// What a caught std::exception says becomes text in the product by exception_text() alone
/// (messages/exception_text.hpp): its what() may have a stack of C++ frames, or be of any length and content.
findings exception_findings(const std::filesystem::path& root);

/// No function of more than 60 lines, from the first line of its head to its closing brace. A lambda in a function
/// counts as lines of that function.
findings function_findings(const std::filesystem::path& root);

/// No comment has one of the refused_words (tests/support/refused_words.hpp), also not across the lines of one comment.
/// Literals may: a message follows other rules.
findings comment_findings(const std::filesystem::path& root);

/// No two headers of the product define a type of one name in one namespace: the linker would take the functions of one
/// for those of the other, without a word.
findings name_findings(const std::filesystem::path& root);

/// Sources (.hpp, .cpp, CMakeLists.txt) below the layers, as paths relative to the root, in order.
std::vector<std::filesystem::path> source_files(const std::filesystem::path& root);

std::vector<std::string> read_lines(const std::filesystem::path& file);

}  // namespace troupe::testing
