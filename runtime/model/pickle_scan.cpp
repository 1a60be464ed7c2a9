#include "runtime/model/pickle_scan.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "runtime/archive/pickle_steps.hpp"
#include "runtime/archive/zip_directory.hpp"

namespace troupe {
namespace {

using node = std::uint32_t;
/// Numbers, texts, names: nothing lies within them.
constexpr node leaf = 0;

/// Which node holds which. Containers are filled after others took them in, so depths are known at the end only.
class holding_graph {
 public:
  node add() { return ++nodes_; }
  void hold(node outer, node inner) {
    if (inner != leaf) edges_.emplace_back(outer, inner);
  }

  /// The longest way, in nodes; more than there are nodes if there is a cycle.
  std::size_t depth() {
    std::ranges::sort(edges_);
    std::vector<std::uint32_t> holders(nodes_ + 1, 0);
    for (const auto& [outer, inner] : edges_) ++holders[inner];
    std::vector<node> free;
    for (node each = 1; each <= nodes_; ++each) {
      if (holders[each] == 0) free.push_back(each);
    }
    std::vector<std::size_t> depths(nodes_ + 1, 1);
    std::size_t deepest = 0;
    std::size_t seen = 0;
    while (!free.empty()) {
      const node outer = free.back();
      free.pop_back();
      ++seen;
      deepest = std::max(deepest, depths[outer]);
      for (auto at = std::ranges::lower_bound(edges_, std::pair{outer, leaf}); at != edges_.end() && at->first == outer;
           ++at) {
        depths[at->second] = std::max(depths[at->second], depths[outer] + 1);
        if (--holders[at->second] == 0) free.push_back(at->second);
      }
    }
    return seen < nodes_ ? std::size_t{nodes_} + 1 : deepest;
  }

 private:
  node nodes_ = 0;
  std::vector<std::pair<node, node>> edges_;
};

/// Each step says whether it could be done.
class pickle_machine {
 public:
  pickle_machine(std::string_view bytes, std::uint64_t values_max)
      : steps_(bytes), bytes_(bytes.size()), values_max_(values_max) {}

  tl::expected<pickle_outline, std::string> run() {
    auto at = steps_.next();
    bool more = at && at->code == '\x80' && at->number == 2;
    while (more && (at = steps_.next())) {
      if (at->code == '.' || ++values_ > values_max_) {
        outline_.is_too_large = at->code != '.';
        outline_.depth = graph_.depth();
        outline_.records = tensors_.take_records();
        outline_.text_depth = std::max(outline_.text_depth, tensors_.deepest_type());
        outline_.has_sparse = tensors_.has_sparse();
        return std::move(outline_);
      }
      more = run(*at);
    }
    return tl::make_unexpected("byte " + std::to_string(steps_.position()));
  }

 private:
  bool run(const pickle_step& step) {
    switch (step.code) {
      case 'N':
      case '\x88':
      case '\x89':
      case 'G':
        return push({});
      case 'K':
      case 'M':
      case 'J':
        return push_number(step.number);
      case '\x8a':
        return step.text.size() == 8 && push_number(zip_number(step.text, 0, 8));
      case 'X':
        return push({.what = pickled_value::kind::text, .text = step.text});
      case 'c':
        return global(step);
      case 'q':
      case 'r':
        return put(step.number);
      case 'h':
      case 'j':
        return get(step.number);
      default:
        return build(step.code);
    }
  }

  bool build(char code) {
    switch (code) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case ')':
        return wrap(0);
      case ']':
      case '}':
        return push({.node = graph_.add()});
      case '\x85':
        return wrap(1);
      case '\x86':
        return wrap(2);
      case '\x87':
        return wrap(3);
      case 't':
        return mark() && wrap(stack_.size() - mark_);
      case 'd':
        return mark() && is_even(stack_.size() - mark_) && wrap(stack_.size() - mark_, false);
      case 'l':
        return mark() && wrap(stack_.size() - mark_, false);
      case 'u':
        return mark() && mark_ > 0 && is_even(stack_.size() - mark_) && fill(stack_.size() - mark_);
      case 'e':
        return mark() && mark_ > 0 && fill(stack_.size() - mark_);
      case 'a':
        return fill(1);
      case 's':
        return fill(2);
      case '\x81':  // the class goes on standing for its object
        return drop();
      case 'b':
      case 'R':  // what comes out of class and state holds the state
        return stack_.size() >= 2 && tensors_.take_call(stack_[stack_.size() - 2], stack_.back()) && wrap(1, false) &&
               drop_below();
      case 'Q':
        return !stack_.empty() && tensors_.take_storage(stack_.back());
      default:
        return false;
    }
  }

  static bool is_even(std::size_t count) { return count % 2 == 0; }
  bool push(pickled_value value) {
    stack_.push_back(value);
    return true;
  }
  bool push_number(std::uint64_t value) {
    return push({.what = pickled_value::kind::number, .number = static_cast<std::int64_t>(value)});
  }
  bool drop() {
    if (stack_.empty()) return false;
    stack_.pop_back();
    return true;
  }
  bool drop_below() {
    if (stack_.size() < 2) return false;
    stack_.erase(stack_.end() - 2);
    return true;
  }
  bool mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return false;
    mark_ = marks_.back();
    marks_.pop_back();
    return true;
  }

  /// The last `count` values go into `outer`.
  void move_into(node outer, std::size_t count) {
    for (std::size_t at = stack_.size() - count; at < stack_.size(); ++at) graph_.hold(outer, stack_[at].node);
    stack_.resize(stack_.size() - count);
  }
  bool wrap(std::size_t count, bool is_tuple = true) {
    if (stack_.size() < count) return false;
    const node made = graph_.add();
    if (is_tuple) tensors_.add_tuple(made, {stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end()});
    move_into(made, count);
    return push({.node = made, .what = is_tuple ? pickled_value::kind::tuple : pickled_value::kind::other});
  }
  bool fill(std::size_t count) {
    if (stack_.size() <= count) return false;
    const pickled_value& outer = stack_[stack_.size() - count - 1];
    if (outer.node == leaf || outer.what != pickled_value::kind::other) return false;
    move_into(outer.node, count);
    return true;
  }

  /// LibTorch makes room for all places below, so a place beyond the pickle's size is refused.
  bool put(std::uint64_t place) {
    if (stack_.empty() || place > bytes_) return false;
    if (memo_.size() <= place) memo_.resize(place + 1);
    memo_[place] = stack_.back();
    return true;
  }
  bool get(std::uint64_t place) { return place < memo_.size() && push(memo_[place]); }

  bool global(const pickle_step& step) {
    const std::string& name = names_.emplace_back(std::string(step.text) + " " + std::string(step.name));
    outline_.text_depth = std::max(outline_.text_depth, type_depth(name));
    outline_.globals.push_back(std::string(step.text) + "." + std::string(step.name));
    return push({.what = pickled_value::kind::global, .text = name});
  }

  pickle_steps steps_;
  std::size_t bytes_;
  std::uint64_t values_max_;
  std::uint64_t values_ = 0;
  pickled_tensors tensors_;
  /// Of globals; a deque, since values point to them.
  std::deque<std::string> names_;
  pickle_outline outline_;
  holding_graph graph_;
  std::vector<pickled_value> stack_;
  std::vector<std::size_t> marks_;
  /// The one that mark() took.
  std::size_t mark_ = 0;
  std::vector<pickled_value> memo_;
};

}  // namespace

tl::expected<pickle_outline, std::string> scan_pickle(std::string_view bytes, std::uint64_t values_max) {
  return pickle_machine(bytes, values_max).run();
}

}  // namespace troupe
