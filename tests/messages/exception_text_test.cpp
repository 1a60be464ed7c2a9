// Goal: what an exception says becomes one short printable line without stack frames. Method: texts as LibTorch and its
// interpreter write them, and texts that no error should carry on.
#include "messages/exception_text.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

std::string text_of(const std::string& said) {
  return exception_text(std::runtime_error(said));
}

TEST(exception_text, is_what_the_exception_says) {
  EXPECT_EQ(text_of("the disk is on fire"), "the disk is on fire");
  EXPECT_EQ(text_of("  an Error: kept  \n"), "an Error: kept");
}

TEST(exception_text, has_no_stack_frames) {
  const std::string frames = "\nframe #0: c10::Error::Error() + 0x80 (0x7f in libc10.so)\nframe #1: <unknown>";
  EXPECT_EQ(text_of("bad shape\nException raised from meta at mm.cpp:9 (most recent call first):" + frames),
            "bad shape");
  EXPECT_EQ(text_of("bad shape\nC++ CapturedTraceback:\n#4 c10::Error::Error()"), "bad shape");
  EXPECT_EQ(text_of("my loss: bad shape" + frames), "my loss: bad shape");
  EXPECT_EQ(text_of("an Exception raised from a hat"), "an Exception raised from a hat");
}

TEST(exception_text, has_no_traceback_of_the_interpreter) {
  const std::string traceback =
      "The following operation failed in the TorchScript interpreter.\n"
      "Traceback of TorchScript, serialized code (most recent call last):\n"
      "  File \"code/__torch__/d.py\", line 8, in forward\n    _0 = torch.add(x, y)\n         ~~~~~~~~~ <--- HERE\n\n"
      "Traceback of TorchScript, original code (most recent call last):\n"
      "  File \"d.py\", line 5, in forward\n    return x + y\n           ~~~~~ <--- HERE\n";
  EXPECT_EQ(text_of(traceback + "RuntimeError: sizes differ: Error: 3 and 4\n"), "sizes differ: Error: 3 and 4");
  EXPECT_EQ(text_of(traceback + "no type: 3\nand more"), "no type: 3; and more");
  const std::string of_traced_code =
      "Traceback of TorchScript, original code (most recent call last):\n"
      "torch/nn/modules/rnn.py(1169): forward\ntorch/jit/_trace.py(1022): trace\nexport.py(57): <module>\n";
  EXPECT_EQ(text_of(of_traced_code + "RuntimeError: two types: Float and Half\nand more"),
            "two types: Float and Half; and more");
}

TEST(exception_text, of_many_lines_has_the_first_three) {
  EXPECT_EQ(text_of("a\n\n  b \r\nc\nd"), "a; b; c");
}

TEST(exception_text, is_bounded_between_two_characters) {
  const std::string word = "\xe2\x82\xac";  // the sign of the euro
  std::string many;
  for (int i = 0; i < 100000; ++i) many += word;
  const std::string text = text_of(many);
  EXPECT_EQ(text.size(), 600U);
  EXPECT_TRUE(text.ends_with(word + "...")) << text;
  EXPECT_LE(text_of(std::string(100000, '\n') + std::string(100000, '\x01')).size(), 600U);
}

TEST(exception_text, is_printable) {
  EXPECT_EQ(text_of("a\tb \x1b[31m\x7f"), "a b \\x1b[31m\\x7f");
  EXPECT_EQ(text_of("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"), "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
  EXPECT_EQ(text_of("\xff"), "\\xff");
  EXPECT_EQ(text_of("\xc3"), "\\xc3");                    // cut off
  EXPECT_EQ(text_of("\xc0\xaf"), "\\xc0\\xaf");           // too long a form
  EXPECT_EQ(text_of("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(text_of("\xc2\x9b"
                    "31m"),
            "\\xc2\\x9b"
            "31m");  // a control character
}

class wordless : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

TEST(exception_text, is_never_empty) {
  EXPECT_EQ(exception_text(wordless()), "an exception without a text");
  EXPECT_EQ(text_of(" \n"), "an exception without a text");
}

TEST(current_exception_text, is_of_any_type) {
  const auto text_of_thrown = [](const auto& thrown) -> std::string {
    try {
      throw thrown;
    } catch (...) {
      return current_exception_text();
    }
  };
  EXPECT_EQ(text_of_thrown(std::runtime_error("a")), "a");
  EXPECT_EQ(text_of_thrown(7), "something that is no std::exception");
}

}  // namespace
}  // namespace troupe::testing
