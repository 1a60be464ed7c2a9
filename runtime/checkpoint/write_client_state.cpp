#include "runtime/checkpoint/write_client_state.hpp"

#include "messages/try.hpp"
#include "runtime/checkpoint/client_state_file.hpp"
#include "runtime/weights/torch_pickle.hpp"
#include "runtime/weights/writing.hpp"

namespace troupe {
namespace {

/// One function for each type of value.
class state_writer {
 public:
  explicit state_writer(const std::filesystem::path& file) : where_(file.string()), to_(file) {}

  expected<void> write(const client_state& root) {
    TROUPE_TRY(put(root, "client_state", 0));
    TROUPE_TRY(to_.open());
    TROUPE_TRY(pickle_.write(to_));
    return to_.publish();
  }

 private:
  expected<void> put(const client_state& dict, const std::string& name, int depth) {
    TROUPE_TRY(check_depth(name, depth));
    pickle_.begin_dict();
    for (const auto& [key, value] : dict) {
      pickle_.put_text(key);
      TROUPE_TRY(put(value, key, depth + 1));
    }
    pickle_.end_dict();
    return {};
  }
  expected<void> put(const client_value::list& list, const std::string& name, int depth) {
    TROUPE_TRY(check_depth(name, depth));
    pickle_.begin_list();
    for (const client_value& each : list) TROUPE_TRY(put(each, name, depth + 1));
    pickle_.end_list();
    return {};
  }
  expected<void> put(const client_value& value, const std::string& name, int depth) {
    return std::visit([&](const auto& one) { return put(one, name, depth); }, value.value);
  }
  expected<void> put(const at::Tensor& tensor, const std::string& name, int) {
    TROUPE_TRY(to_.check_dense(name, tensor));
    return pickle_.put_tensor(to_, name, apart(tensor));
  }
  expected<void> put(std::monostate, const std::string&, int) {
    pickle_.put_none();
    return {};
  }
  expected<void> put(bool value, const std::string&, int) {
    pickle_.put_truth(value);
    return {};
  }
  expected<void> put(std::int64_t value, const std::string&, int) {
    pickle_.put_whole(value);
    return {};
  }
  expected<void> put(double value, const std::string&, int) {
    pickle_.put_real(value);
    return {};
  }
  expected<void> put(const std::string& value, const std::string&, int) {
    pickle_.put_text(value);
    return {};
  }

  [[nodiscard]] expected<void> check_depth(const std::string& name, int depth) const {
    if (depth <= client_state_deep_max) return {};
    return fail(error_code::model_unsupported, where_,
                name + " is nested more than " + std::to_string(client_state_deep_max) + " deep", "keep flat values");
  }

  std::string where_;
  weights_writing to_;
  torch_pickle pickle_;
};

}  // namespace

expected<void> write_client_state(const std::filesystem::path& file, const client_state& root) {
  return state_writer(file).write(root);
}

}  // namespace troupe
