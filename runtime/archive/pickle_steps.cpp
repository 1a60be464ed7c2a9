#include "runtime/archive/pickle_steps.hpp"

#include "runtime/archive/zip_directory.hpp"

namespace troupe {
namespace {

using std::string_view_literals::operator""sv;

/// MARK STOP POP POP_MARK DUP NONE REDUCE APPEND APPENDS DICT LIST TUPLE EMPTY_DICT EMPTY_LIST EMPTY_TUPLE SETITEM
/// SETITEMS BUILD OBJ BINPERSID; NEWOBJ TUPLE1 TUPLE2 TUPLE3 NEWTRUE NEWFALSE; EMPTY_SET ADDITEMS FROZENSET NEWOBJ_EX
/// STACK_GLOBAL MEMOIZE; NEXT_BUFFER READONLY_BUFFER.
constexpr auto without_argument = "(.012NRaedlt}])suboQ\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98"sv;

}  // namespace

std::optional<pickle_step> pickle_steps::next() {
  if (rest_.empty()) {
    is_cut_off_ = true;
    return std::nullopt;
  }
  pickle_step step{.code = rest_.front()};
  rest_.remove_prefix(1);
  if (!argument(step)) return std::nullopt;
  return step;
}

bool pickle_steps::argument(pickle_step& step) {
  if (without_argument.find(step.code) != std::string_view::npos) return true;
  switch (step.code) {
    case 'K':     // BININT1
    case 'h':     // BINGET
    case 'q':     // BINPUT
    case '\x80':  // PROTO
    case '\x82':  // EXT1
      return take_number(step, 1);
    case 'M':     // BININT2
    case '\x83':  // EXT2
      return take_number(step, 2);
    case 'j':     // LONG_BINGET
    case 'r':     // LONG_BINPUT
    case '\x84':  // EXT4
      return take_number(step, 4);
    case 'J':  // BININT
      if (!take_number(step, 4)) return false;
      step.number = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(step.number)});
      return true;
    case 'G':  // BINFLOAT, the one big-endian number
      if (!take_number(step, 8)) return false;
      step.number = __builtin_bswap64(step.number);
      return true;
    case '\x95':  // FRAME
      if (!take_number(step, 8)) return false;
      is_cut_off_ = step.number > rest_.size();
      return !is_cut_off_;
    case 'U':     // SHORT_BINSTRING
    case 'C':     // SHORT_BINBYTES
    case '\x8a':  // LONG1
    case '\x8c':  // SHORT_BINUNICODE
      return take_counted(step, 1);
    case 'T':     // BINSTRING
    case 'B':     // BINBYTES
    case 'X':     // BINUNICODE
    case '\x8b':  // LONG4
      return take_counted(step, 4);
    case '\x8d':  // BINUNICODE8
    case '\x8e':  // BINBYTES8
    case '\x96':  // BYTEARRAY8
      return take_counted(step, 8);
    case 'c':  // GLOBAL
    case 'i':  // INST
      return take_line(step.text) && take_line(step.name);
    default:
      return false;
  }
}

bool pickle_steps::take_number(pickle_step& step, unsigned width) {
  is_cut_off_ = rest_.size() < width;
  if (is_cut_off_) return false;
  step.number = zip_number(rest_, 0, width);
  rest_.remove_prefix(width);
  return true;
}

bool pickle_steps::take_text(std::string_view& text, std::uint64_t bytes) {
  is_cut_off_ = rest_.size() < bytes;
  if (is_cut_off_) return false;
  text = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return true;
}

bool pickle_steps::take_counted(pickle_step& step, unsigned width) {
  return take_number(step, width) && take_text(step.text, step.number);
}

bool pickle_steps::take_line(std::string_view& line) {
  const std::size_t end = rest_.find('\n');
  is_cut_off_ = end == std::string_view::npos;
  if (is_cut_off_) return false;
  line = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  return true;
}

}  // namespace troupe
