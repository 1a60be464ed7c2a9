// Goal: an error is one message, whatever names and texts from outside stand in it. Method: hostile texts in all of its
// parts, and the bytes that must come out.
#include "messages/error_text.hpp"

#include <gtest/gtest.h>

#include "messages/printable.hpp"

namespace troupe {
namespace {

TEST(text_of_an_error, has_code_place_cause_and_fix) {
  EXPECT_EQ(to_string(error{error_code::model_truncated, "a.pt", "it ends", "Fetch it"}),
            "error E0203: a.pt: it ends\n  fix: Fetch it");
  EXPECT_EQ(to_string(error{error_code::internal, "", "it ends", ""}), "error E0601: it ends");
  EXPECT_EQ(brief({error_code::model_truncated, "a.pt", "it ends", "Fetch it"}), "E0203: a.pt: it ends");
}

TEST(text_of_an_error, cannot_forge_another_one_or_drive_a_terminal) {
  const std::string name = "a\nerror E0000: fake\x1b[31m\xff";
  EXPECT_EQ(to_string(error{error_code::config_missing, name, "is missing", ""}),
            "error E0401: a\\x0aerror E0000: fake\\x1b[31m\\xff: is missing");
  EXPECT_EQ(to_string(error{error_code::config_missing, "", name, "look at " + name}),
            "error E0401: a\n  error E0000: fake\\x1b[31m\\xff\n  fix: look at a\n  error E0000: fake\\x1b[31m\\xff");
  EXPECT_EQ(to_string(error{error_code::internal, "", "a\n  fix: run this\nmore: that", "nothing"}),
            "error E0601: a\n    fix: run this\n    more: that\n  fix: nothing")
      << "a line that looks like ours stands further in";
}

TEST(printable, leaves_what_people_write) {
  const std::string text = "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xe2\x80\xa6 \xe2\x96\x88 \xd9\x85 \xf0\x9f\x8e\xad \\";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable_lines("a\n  b\tc"), "a\n  b\tc");
  EXPECT_EQ(printable("a\nb\tc"), "a\\x0ab\\x09c");
}

TEST(printable, shows_marks_that_turn_the_direction_of_writing) {
  EXPECT_EQ(printable("\xe2\x80\xaetp.ledom"), "\\xe2\\x80\\xaetp.ledom");
  for (const std::string mark : {"\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xaa", "\xe2\x80\xae",
                                 "\xe2\x81\xa6", "\xe2\x81\xa9", "\xd8\x9c"})
    EXPECT_EQ(printable(mark).front(), '\\');
}

}  // namespace
}  // namespace troupe
