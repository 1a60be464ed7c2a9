#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "command.hpp"
#include <troupe/error.hpp>

namespace CLI {
class App;
}

namespace troupe::cli {

enum class parsed : std::uint8_t { go_on, help_printed };

/// The arguments that `troupe NAME` takes; `examples` stand below them in its help. CLI11 behind it is seen by
/// parse.cpp alone: each source that sees it takes g++ five seconds longer.
class parser {
 public:
  parser(const std::string& name, const std::string& description, const std::string& examples);
  ~parser();
  parser(const parser&) = delete;
  parser& operator=(const parser&) = delete;

  enum class presence : std::uint8_t { optional, required };

  /// An argument with a text: "--data" for a flag, "MODEL" for a place. The help shows `value_name` for the text.
  /// `into` must live until parse() has returned.
  void add_text(const std::string& name, std::string& into, const std::string& help, const std::string& value_name,
                presence needed = presence::optional);
  /// The same for a flag that may be given several times.
  void add_texts(const std::string& name, std::vector<std::string>& into, const std::string& help,
                 const std::string& value_name);
  /// Two or more arguments without a flag.
  void add_places(const std::string& name, std::vector<std::string>& into, const std::string& help);
  /// A flag without a value; "true" as a text.
  void add_toggle(const std::string& name, std::string& into, const std::string& help);
  void add_toggle(const std::string& name, bool& into, const std::string& help);

  /// A flag of eval that changes nothing here: parse() says so.
  void leave_to_eval(const std::string& flag);
  [[nodiscard]] bool is_of_eval(const std::string& flag) const { return of_eval_.contains(flag); }

  /// After parse(): whether the argument was there. `name` as it was added.
  [[nodiscard]] bool is_given(const std::string& name) const;

  [[nodiscard]] CLI::App& app() const { return *app_; }

 private:
  std::unique_ptr<CLI::App> app_;
  std::set<std::string> of_eval_;
};

/// Reads the arguments. Objections are usage errors: E0101 with a suggestion, E0103, E0104, E0105. So is an empty
/// value, of every argument (E0103): it is what an unset variable of a script leaves.
expected<parsed> parse(parser& into, const arguments& given);

}  // namespace troupe::cli
