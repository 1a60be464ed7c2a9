#include "parse.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "messages/try.hpp"
#include "output.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe::cli {
namespace {

std::string up_to_equals(const std::string& argument) {
  return argument.substr(0, argument.find('='));
}

std::vector<std::string> flags_of(const CLI::App& into) {
  std::vector<std::string> names;
  for (const CLI::Option* each : into.get_options()) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

tl::unexpected<error> unknown_argument(const parser& read) {
  const CLI::App& into = read.app();
  const std::vector<std::string> left = into.remaining();
  const auto flag =
      std::find_if(left.begin(), left.end(), [](const std::string& each) { return each.starts_with("-"); });
  if (flag == left.end()) {
    const std::string first = left.empty() ? "" : left.front();
    const bool may_be_model = first.ends_with(".pt") && into.get_option_no_throw("--model") != nullptr;
    const bool may_be_shard = first.starts_with("webdataset:") && into.get_option_no_throw("--data") != nullptr;
    std::string fix = fmt::format("leave it out, or see {} --help", into.get_name());
    if (may_be_model) fix = fmt::format("write --model {}", first);
    if (may_be_shard) fix = "put the value of --data in single quotes, so that the shell leaves its braces as they are";
    return fail(error_code::unknown_flag, first, fmt::format("{} does not take this argument", into.get_name()), fix);
  }
  const std::string name = up_to_equals(*flag);
  if (read.is_of_eval(name)) {
    return fail(error_code::unknown_flag, name,
                fmt::format("it changes nothing in {}; troupe eval takes it", into.get_name()), "leave it out");
  }
  const auto near = suggest(name, flags_of(into));
  return fail(error_code::unknown_flag, name, fmt::format("{} has no such flag", into.get_name()),
              near ? fmt::format("write {}", *near) : fmt::format("see {} --help for its flags", into.get_name()));
}

tl::unexpected<error> given_twice(const std::string& name) {
  return fail(error_code::flags_contradict, name, "is given more than once", fmt::format("write {} once", name));
}

/// CLI11 names the problem in one sentence that begins with the flag's name.
tl::unexpected<error> wrong_argument(const CLI::App& into, const arguments& given, const CLI::ParseError& e) {
  for (const std::string& name : flags_of(into)) {
    const auto is_it = [&](const std::string& each) { return up_to_equals(each) == name; };
    if (std::count_if(given.begin(), given.end(), is_it) > 1 && std::string_view(e.what()).starts_with(name)) {
      return given_twice(name);
    }
  }
  return fail(error_code::value_out_of_range, into.get_name(), e.what(), fmt::format("see {} --help", into.get_name()));
}

tl::unexpected<error> empty_value(const std::string& name, const std::string& type) {
  return fail(error_code::value_out_of_range, name,
              type.empty() ? "is empty" : fmt::format("is empty, expected {}", type),
              "give it a value (is a variable of a script not set?), or leave it out");
}

/// --journal= in the middle, which CLI11 would read as if the next argument, or true, were its value.
expected<void> refuse_empty_assignments(const CLI::App& into, const arguments& given) {
  for (const CLI::Option* each : into.get_options()) {
    const auto assigns_nothing = [&](const std::string& argument) { return argument == each->get_name() + "="; };
    if (std::any_of(given.begin(), given.end(), assigns_nothing)) {
      return empty_value(each->get_name(), each->get_type_name());
    }
  }
  return {};
}

expected<parsed> refuse_empty_values(const CLI::App& into) {
  for (const CLI::Option* each : into.get_options()) {
    const std::vector<std::string> values = each->results();
    const bool is_empty =
        std::any_of(values.begin(), values.end(), [](const std::string& value) { return value.empty(); });
    if (is_empty) return empty_value(each->get_name(), each->get_type_name());
  }
  return parsed::go_on;
}

/// Flags without a value, which CLI11 takes as often as they come.
expected<void> refuse_repeated_flags(const CLI::App& into) {
  for (const CLI::Option* each : into.get_options()) {
    const bool may_repeat = each->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (!may_repeat && each->count() > 1) return given_twice(each->get_name());
  }
  return {};
}

}  // namespace

parser::parser(const std::string& name, const std::string& description, const std::string& examples)
    : app_(std::make_unique<CLI::App>(description, "troupe " + name)) {
  app_->get_formatter()->column_width(34);
  app_->set_help_flag("-h,--help", "Print this help");
  app_->footer("Examples:\n" + examples);
}

parser::~parser() = default;

void parser::add_text(const std::string& name, std::string& into, const std::string& help,
                      const std::string& value_name, presence needed) {
  app_->add_option(name, into, help)->type_name(value_name)->required(needed == presence::required);
}

void parser::add_texts(const std::string& name, std::vector<std::string>& into, const std::string& help,
                       const std::string& value_name) {
  app_->add_option(name, into, help)->type_name(value_name)->type_size(1)->expected(1)->take_all();
}

void parser::add_places(const std::string& name, std::vector<std::string>& into, const std::string& help) {
  constexpr int places_max = 1000;
  app_->add_option(name, into, help)->type_name(name)->type_size(1)->expected(2, places_max)->take_all()->required();
}

void parser::add_toggle(const std::string& name, std::string& into, const std::string& help) {
  app_->add_flag(name, into, help);
}

void parser::add_toggle(const std::string& name, bool& into, const std::string& help) {
  app_->add_flag(name, into, help);
}

void parser::leave_to_eval(const std::string& flag) {
  of_eval_.insert(flag);
}

bool parser::is_given(const std::string& name) const {
  return app_->get_option(name)->count() > 0;
}

expected<parsed> parse(parser& read, const arguments& given) try {
  CLI::App& into = read.app();
  TROUPE_TRY(refuse_empty_assignments(into, given));
  into.parse(arguments(given.rbegin(), given.rend()));
  TROUPE_TRY(refuse_repeated_flags(into));
  return refuse_empty_values(into);
} catch (const CLI::CallForHelp&) {
  return print(read.app().help()).map([] { return parsed::help_printed; });
} catch (const CLI::ExtrasError&) {
  return unknown_argument(read);
} catch (const CLI::RequiredError& e) {
  const std::string name = read.app().get_name();
  return fail(error_code::missing_flag, name, e.what(), fmt::format("see {} --help", name));
} catch (const CLI::ParseError& e) {
  return wrong_argument(read.app(), given, e);
}

}  // namespace troupe::cli
