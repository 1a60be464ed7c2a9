#include "runtime/checkpoint/client_state_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>

#include "messages/try.hpp"
#include "runtime/weights/mapped_file.hpp"
#include "runtime/weights/pickled_dict.hpp"
#include "runtime/weights/pickled_file.hpp"

namespace troupe {
namespace {

using kind = pickled::kind;

/// What DeepSpeed 0.19 writes itself (DeepSpeedEngine._common_checkpoint_state() and its callers).
constexpr std::array written_states{
    "module",        "buffer_names", "optimizer",      "param_shapes",  "frozen_param_shapes",
    "shared_params", "lr_scheduler", "data_sampler",   "random_ltd",    "frozen_param_fragments",
    "skipped_steps", "global_steps", "global_samples", "dp_world_size", "sparse_tensor_module_names",
    "mp_world_size", "ds_config",    "ds_version",     "num_experts"};
/// What older versions and its other engines write.
constexpr std::array other_states{"csr_tensor_module_names", "ds_autotp_info", "autoep_layers", "ucp_info",
                                  "universal_checkpoint_info"};

bool is_engine_state(std::string_view name) {
  return std::ranges::find(written_states, name) != written_states.end() ||
         std::ranges::find(other_states, name) != other_states.end();
}

class value_reader {
 public:
  value_reader(weights_reading& reading, const pickled_values& values, const storage_finder& find)
      : reading_(reading), values_(values), find_(find) {}

  expected<loaded_checkpoint> read() {
    loaded_checkpoint made;
    if (!is_dict(values_, values_.root)) {
      return fail(error_code::model_not_torchscript, reading_.where(),
                  "it holds " + kind_text(values_, values_.root) + " in place of a dict",
                  "save the checkpoint again, or delete this file: the layers do not need it");
    }
    for (const auto& [key, value] : TROUPE_TRY(members_of(reading_, values_, values_.root))) {
      if (key.what != kind::text || is_engine_state(values_.text_of(key))) continue;
      std::string name(values_.text_of(key));
      auto read = TROUPE_TRY(data_in(value, name, 0));
      if (read) {
        made.client_state.insert_or_assign(std::move(name), std::move(*read));
      } else {
        made.left_out.push_back(std::move(name));
      }
    }
    return made;
  }

 private:
  using maybe = std::optional<client_value>;

  [[nodiscard]] tl::unexpected<error> too_large(const std::string& name) const {
    return reading_.beyond_limits("its member " + name + " would take more memory than a file of this size may");
  }

  /// Nothing for a value that is no data.
  expected<maybe> data_in(const pickled& value, const std::string& name, int depth) {
    if (depth > client_state_deep_max) {
      return reading_.beyond_limits("its member " + name + " is nested more than " +
                                    std::to_string(client_state_deep_max) + " deep");
    }
    if (!reading_.take(value.size)) return too_large(name);
    switch (value.what) {
      case kind::none:
        return client_value();
      case kind::truth:
        return client_value(value.number != 0);
      case kind::whole:
        return client_value(static_cast<std::int64_t>(value.number));
      case kind::real:
        return client_value(std::bit_cast<double>(value.number));
      case kind::text:
        return client_value(std::string(values_.text_of(value)));
      case kind::tuple:
      case kind::list:
        return read_list(value, name, depth);
      case kind::dict:
        return read_dict(value, name, depth);
      case kind::made:
        if (is_dict(values_, value)) return read_dict(value, name, depth);
        if (!callee_text(values_, value).starts_with("torch._")) return maybe();
        return tensor_in(reading_, values_, value, name, find_).map([](at::Tensor&& made) {
          return maybe(client_value(std::move(made)));
        });
      default:
        return maybe();
    }
  }

  expected<maybe> read_list(const pickled& value, const std::string& name, int depth) {
    const auto items = values_.items_of(value);
    if (!reading_.take(items.size() * sizeof(client_value))) return too_large(name);
    client_value::list made;
    made.reserve(items.size());
    for (const pickled& each : items) {
      auto one = TROUPE_TRY(data_in(each, name, depth + 1));
      if (!one) return maybe();
      made.push_back(std::move(*one));
    }
    return client_value(std::move(made));
  }

  expected<maybe> read_dict(const pickled& value, const std::string& name, int depth) {
    constexpr std::uint64_t node_bytes = 96;
    client_state made;
    for (const auto& [key, member] : TROUPE_TRY(members_of(reading_, values_, value))) {
      if (key.what != kind::text) return maybe();
      auto one = TROUPE_TRY(data_in(member, name, depth + 1));
      if (!one) return maybe();
      if (!reading_.take(node_bytes + sizeof(client_value) + key.size)) return too_large(name);
      made.insert_or_assign(std::string(values_.text_of(key)), std::move(*one));
    }
    return client_value(std::move(made));
  }

  weights_reading& reading_;
  const pickled_values& values_;
  const storage_finder& find_;
};

}  // namespace

expected<client_state> with_engine_states(const client_state& of_client) {
  for (const auto& [name, value] : of_client) {
    if (!is_engine_state(name)) continue;
    return fail(error_code::value_out_of_range, "client_state, " + name,
                "DeepSpeed keeps a value of its own under this name", "give it another name");
  }
  client_state all = of_client;
  for (const char* name : written_states) all.emplace(name, client_value());
  for (const char* count : {"skipped_steps", "global_steps", "global_samples"}) all[count] = 0;
  for (const char* size : {"dp_world_size", "mp_world_size"}) all[size] = 1;
  all["sparse_tensor_module_names"] = client_value::list();
  all["ds_config"] = client_state();
  all["ds_version"] = "0.19.0";
  return all;
}

expected<loaded_checkpoint> read_client_state(const std::filesystem::path& file) {
  weights_reading reading(TROUPE_TRY(mapped_file::open(file)));
  loaded_checkpoint made;
  TROUPE_TRY(read_zip_pickle(reading, [&](const pickled_values& values, const storage_finder& find) {
    return value_reader(reading, values, find).read().map([&](loaded_checkpoint&& read) { made = std::move(read); });
  }));
  return made;
}

}  // namespace troupe
