#include <algorithm>
#include <array>

#include "runtime/weights/pickle_machine.hpp"

namespace troupe {
namespace {

struct danger {
  std::string_view name;
  std::string_view does;
};

/// With all modules below them.
constexpr std::array modules{
    danger{"os", "reaches the operating system"},
    danger{"posix", "reaches the operating system"},
    danger{"nt", "reaches the operating system"},
    danger{"sys", "reaches into the interpreter"},
    danger{"subprocess", "starts programs"},
    danger{"pty", "starts programs"},
    danger{"multiprocessing", "starts programs"},
    danger{"webbrowser", "starts programs"},
    danger{"pip", "starts programs"},
    danger{"runpy", "runs code"},
    danger{"pdb", "runs code"},
    danger{"bdb", "runs code"},
    danger{"timeit", "runs code"},
    danger{"cProfile", "runs code"},
    danger{"doctest", "runs code"},
    danger{"importlib", "imports code"},
    danger{"pkgutil", "imports code"},
    danger{"zipimport", "imports code"},
    danger{"ctypes", "calls machine code"},
    danger{"cffi", "calls machine code"},
    danger{"socket", "opens connections"},
    danger{"requests", "opens connections"},
    danger{"urllib", "opens connections"},
    danger{"httplib", "opens connections"},
    danger{"http", "opens connections"},
    danger{"ftplib", "opens connections"},
    danger{"smtplib", "opens connections"},
    danger{"shutil", "changes files"},
    danger{"tempfile", "changes files"},
    danger{"fileinput", "changes files"},
    danger{"pickle", "reads another pickle"},
    danger{"_pickle", "reads another pickle"},
    danger{"cPickle", "reads another pickle"},
};

/// Programs have folders of these names, too.
constexpr std::array modules_alone{
    danger{"code", "runs code"},   danger{"codeop", "runs code"},         danger{"profile", "runs code"},
    danger{"trace", "runs code"},  danger{"commands", "starts programs"}, danger{"popen2", "starts programs"},
    danger{"imp", "imports code"},
};

constexpr std::array builtins{
    danger{"eval", "runs code"},
    danger{"exec", "runs code"},
    danger{"execfile", "runs code"},
    danger{"compile", "runs code"},
    danger{"apply", "runs code"},
    danger{"breakpoint", "runs code"},
    danger{"__import__", "imports code"},
    danger{"open", "opens files"},
    danger{"file", "opens files"},
    danger{"input", "reads the terminal"},
    danger{"globals", "reaches into the interpreter"},
    danger{"locals", "reaches into the interpreter"},
    danger{"vars", "reaches into the interpreter"},
    danger{"setattr", "changes objects"},
    danger{"delattr", "changes objects"},
};

}  // namespace

std::string_view danger_of(std::string_view module, std::string_view name) {
  if (module == "builtins" || module == "__builtin__") {
    const auto* found = std::ranges::find(builtins, name.substr(0, name.find('.')), &danger::name);
    return found == builtins.end() ? std::string_view() : found->does;
  }
  if (const auto* alone = std::ranges::find(modules_alone, module, &danger::name); alone != modules_alone.end()) {
    return alone->does;
  }
  const auto* found = std::ranges::find(modules, module.substr(0, module.find('.')), &danger::name);
  return found == modules.end() ? std::string_view() : found->does;
}

}  // namespace troupe
