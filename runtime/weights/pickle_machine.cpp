#include "runtime/weights/pickle_machine.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/archive/pickle_steps.hpp"

namespace troupe {
namespace {

using kind = pickled::kind;

/// An element of std::deque's node table, the vector itself and its block on the heap, before its items.
constexpr std::uint64_t node_bytes = 96;
/// Vectors double, and have the old memory and the new one while they do.
constexpr std::uint64_t growing = 3;
constexpr int protocol_max = 5;

/// The parts of kind::made.
constexpr std::size_t state_part = 2;

/// Each step says whether it could be done; if not, `fault_` says why.
class weights_machine {
 public:
  weights_machine(std::string_view bytes, std::uint64_t memory_bytes_max)
      : bytes_(bytes), steps_(bytes), memory_bytes_max_(memory_bytes_max), values_(bytes) {}

  tl::expected<built_pickle, pickle_fault> run() {
    while (true) {
      const std::size_t at = steps_.position();
      const auto step = steps_.next();
      if (!step) {
        if (steps_.is_cut_off()) return faulty(pickle_fault::kind::cut_off, at, "it ends within an opcode");
        return faulty(
            pickle_fault::kind::damaged, at,
            "the opcode " + std::to_string(static_cast<unsigned char>(bytes_[at])) + " is none that torch.save writes");
      }
      if (step->code == '.') break;
      if (!run(*step)) return faulty(fault_kind_, at, fault_);
    }
    if (stack_.empty()) return faulty(pickle_fault::kind::damaged, steps_.position(), "it gives no value");
    values_.root = stack_.back();
    return built_pickle{std::move(values_), steps_.position(), memory_};
  }

 private:
  static tl::unexpected<pickle_fault> faulty(pickle_fault::kind what, std::size_t at, const std::string& cause) {
    return tl::make_unexpected(pickle_fault{what, "at byte " + std::to_string(at) + ": " + cause});
  }
  bool wrong(std::string cause, pickle_fault::kind what = pickle_fault::kind::damaged) {
    fault_ = std::move(cause);
    fault_kind_ = what;
    return false;
  }

  bool run(const pickle_step& step) {
    switch (step.code) {
      case '\x80':
        return step.number <= protocol_max || wrong("protocol " + std::to_string(step.number) + " does not exist");
      case '\x95':  // FRAME
        return true;
      case 'N':
        return push({});
      case '\x88':
      case '\x89':
        return push({kind::truth, 0, step.code == '\x88'});
      case 'J':
      case 'K':
      case 'M':
        return push({kind::whole, 0, step.number});
      case 'G':
        return push({kind::real, 0, step.number});
      case '\x8a':
      case '\x8b':
        return push_long(step.text);
      case 'U':
      case 'T':
      case 'X':
      case '\x8c':
      case '\x8d':
        return push_view(kind::text, step.text);
      case 'B':
      case 'C':
      case '\x8e':
      case '\x96':
        return push_view(kind::bytes, step.text);
      case 'c':
        return push_global(step.text, step.name);
      case '\x93':
        return stack_global();
      case 'q':
      case 'r':
        return put(step.number);
      case '\x94':
        return put(memoized_);
      case 'h':
      case 'j':
        return get(step.number);
      case '\x82':
      case '\x83':
      case '\x84':
        return wrong("it calls what the number " + std::to_string(step.number) + " stands for in the registry copyreg",
                     pickle_fault::kind::refused);
      default:
        return build(step);
    }
  }

  bool build(const pickle_step& step) {
    switch (step.code) {
      case '(':
        marks_.push_back(stack_.size());
        return take(growing * sizeof(std::size_t));
      case '0':
        return has(1) && drop(1);
      case '1':
        return mark() && drop(marked_);
      case '2':
        return has(1) && push(pickled(stack_.back()));
      case ')':
        return make(kind::tuple, 0);
      case ']':
        return make(kind::list, 0);
      case '}':
        return make(kind::dict, 0);
      case '\x8f':
        return make(kind::set, 0);
      case '\x85':
      case '\x86':
      case '\x87':
        return make(kind::tuple, static_cast<unsigned char>(step.code) - 0x84U);
      case 't':
        return mark() && make(kind::tuple, marked_);
      case 'l':
        return mark() && make(kind::list, marked_);
      case '\x91':
        return mark() && make(kind::set, marked_);
      case 'd':
        return mark() && (marked_ % 2 == 0 || wrong("a dict has a key without a value")) && make(kind::dict, marked_);
      case 'a':
        return fill(kind::list, 1);
      case 'e':
        return mark() && fill(kind::list, marked_);
      case '\x90':
        return mark() && fill(kind::set, marked_);
      case 's':
        return fill(kind::dict, 2);
      case 'u':
        return mark() && (marked_ % 2 == 0 || wrong("a dict has a key without a value")) && fill(kind::dict, marked_);
      default:
        return call(step);
    }
  }

  bool call(const pickle_step& step) {
    switch (step.code) {
      case 'R':
      case '\x81':
        return has(2) && push({}) && make(kind::made, state_part + 1);
      case '\x92':  // NEWOBJ_EX: keyword arguments are no state
        return has(3) && drop(1) && push({}) && make(kind::made, state_part + 1);
      case 'o':
        return mark() && (marked_ > 0 || wrong("it makes an object of no class")) && make(kind::tuple, marked_ - 1) &&
               push({}) && make(kind::made, state_part + 1);
      case 'i':
        return mark() && make(kind::tuple, marked_) && push_global(step.text, step.name) && swap() && push({}) &&
               make(kind::made, state_part + 1);
      case 'b':
        return set_state();
      case 'Q':
        return make(kind::outside, 1) && note_outside();
      default:
        return wrong("buffers beside the pickle are not read");
    }
  }

  /// `count` values above the last mark.
  bool has(std::size_t count) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    return stack_.size() - floor >= count || wrong("it takes more from the stack than there is");
  }
  bool drop(std::size_t count) {
    stack_.resize(stack_.size() - count);
    return true;
  }
  bool swap() {
    std::swap(stack_.back(), stack_[stack_.size() - 2]);
    return true;
  }
  /// Removes the last mark; `marked_` values lie above.
  bool mark() {
    if (marks_.empty()) return wrong("it has no mark on the stack");
    marked_ = stack_.size() - marks_.back();
    marks_.pop_back();
    return true;
  }

  bool note_outside() {
    values_.outside.push_back(stack_.back());
    return take(growing * sizeof(pickled));
  }

  /// Before the memory is used.
  bool take(std::uint64_t bytes) {
    memory_ += bytes;
    return memory_ <= memory_bytes_max_ ||
           wrong("its objects would take more memory than a file of this size may", pickle_fault::kind::too_large);
  }
  bool push(pickled value) {
    if (stack_.size() == stack_.capacity() &&
        !take(growing * sizeof(pickled) * std::max<std::size_t>(1, stack_.size()))) {
      return false;
    }
    stack_.push_back(value);
    return true;
  }
  bool push_view(kind what, std::string_view view) {
    if (view.size() > std::numeric_limits<std::uint32_t>::max()) return wrong("it has a text of more than 4 GiB");
    const auto place = static_cast<std::uint64_t>(view.data() - bytes_.data());
    return push({what, static_cast<std::uint32_t>(view.size()), place});
  }
  bool push_long(std::string_view digits) {
    if (digits.size() > sizeof(std::uint64_t)) return push_view(kind::digits, digits);
    // The sign is that of the last byte.
    std::uint64_t value = !digits.empty() && digits.back() < 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = digits.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
    return push({kind::whole, 0, value});
  }
  bool push_global(std::string_view module, std::string_view name) {
    if (const auto does = danger_of(module, name); !does.empty()) {
      return wrong("it names " + std::string(module) + "." + std::string(name) + ", which " + std::string(does),
                   pickle_fault::kind::refused);
    }
    if (!take(growing * sizeof(pickled_values::global_name))) return false;
    values_.names.push_back({module, name});
    return push({kind::global, 0, values_.names.size() - 1});
  }
  bool stack_global() {
    if (!has(2)) return false;
    const pickled module = stack_[stack_.size() - 2];
    const pickled name = stack_.back();
    if (module.what != kind::text || name.what != kind::text)
      return wrong("it names a class by something else than texts");
    return drop(2) && push_global(values_.text_of(module), values_.text_of(name));
  }

  /// Room for all places below is made, so a place beyond the pickle's size is refused.
  bool put(std::uint64_t place) {
    if (!has(1)) return false;
    if (place > bytes_.size()) return wrong("it keeps a value at place " + std::to_string(place));
    if (place >= memo_.size()) {
      const std::uint64_t room = std::max<std::uint64_t>(place + 1, 2 * memo_.capacity());
      if (place >= memo_.capacity()) {
        if (!take(2 * sizeof(pickled) * room)) return false;
        memo_.reserve(room);
      }
      memo_.resize(place + 1, absent);
    }
    memoized_ += memo_[place].what == absent.what && memo_[place].size == absent.size ? 1 : 0;
    memo_[place] = stack_.back();
    return true;
  }
  bool get(std::uint64_t place) {
    const bool is_there =
        place < memo_.size() && !(memo_[place].what == absent.what && memo_[place].size == absent.size);
    return is_there ? push(memo_[place]) : wrong("it asks for the value at place " + std::to_string(place));
  }

  /// A new value of the last `count` ones.
  bool make(kind what, std::size_t count) {
    if (!has(count)) return false;
    if (!take(node_bytes + count * sizeof(pickled))) return false;
    values_.nodes.emplace_back(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    return drop(count) && push({what, 0, values_.nodes.size() - 1});
  }
  /// Puts the last `count` values into the one below.
  bool fill(kind what, std::size_t count) {
    if (!has(count + 1)) return false;
    const pickled outer = stack_[stack_.size() - count - 1];
    if (outer.what != what && outer.what != kind::made) return wrong("it fills what is no list, dict or set");
    // A made object is a dict of some class if it is filled; one that is filled as a list is of no use here.
    if (outer.what == what || what == kind::dict) {
      auto& items = values_.nodes[outer.number];
      const std::size_t room = items.size() + count > items.capacity() ? 2 * items.capacity() + count : 0;
      if (!take(sizeof(pickled) * room)) return false;
      if (room > 0) items.reserve(room);
      items.insert(items.end(), stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    }
    return drop(count);
  }
  bool set_state() {
    if (!has(2)) return false;
    const pickled state = stack_.back();
    const pickled object = stack_[stack_.size() - 2];
    if (object.what == kind::made) values_.nodes[object.number][state_part] = state;
    return drop(1);
  }

  static constexpr pickled absent{kind::none, 1, 0};

  std::string_view bytes_;
  pickle_steps steps_;
  std::uint64_t memory_bytes_max_;
  pickled_values values_;
  std::vector<pickled> stack_;
  std::vector<std::size_t> marks_;
  /// How many mark() found.
  std::size_t marked_ = 0;
  std::vector<pickled> memo_;
  /// How many places have a value, as MEMOIZE counts them.
  std::uint64_t memoized_ = 0;
  std::uint64_t memory_ = 0;
  std::string fault_;
  pickle_fault::kind fault_kind_ = pickle_fault::kind::damaged;
};

}  // namespace

tl::expected<built_pickle, pickle_fault> build_pickle(std::string_view bytes, std::uint64_t memory_bytes_max) {
  return weights_machine(bytes, memory_bytes_max).run();
}

}  // namespace troupe
