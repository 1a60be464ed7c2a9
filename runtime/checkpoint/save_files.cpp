#include "runtime/checkpoint/save_files.hpp"

#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "messages/try.hpp"
#include "runtime/checkpoint/checkpoint_layout.hpp"
#include "runtime/checkpoint/client_state_file.hpp"
#include "runtime/checkpoint/file_sums.hpp"
#include "runtime/checkpoint/write_client_state.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/file_replacement.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/weights/writing.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// What saves that are under way have not finished. It goes with the next save, as only one at a time has the lock.
constexpr const char* temporary_prefix = ".troupe-saving-";

tl::unexpected<error> unwritable(const fs::path& path, const std::string& cause,
                                 const std::string& fix = "name a folder that can be written to, with space left") {
  return fail(error_code::output_unwritable, path.string(), cause, fix);
}

bool is_of_checkpoint(const std::string& name) {
  return name.ends_with("_model_states.pt") || name == optimizer_name || name == sums_name ||
         (name.starts_with("layer_") && name.ends_with("-model_states.pt"));
}

class saving {
 public:
  saving(fs::path dir, std::string tag, const std::function<void()>& between)
      : dir_(std::move(dir)), tag_(std::move(tag)), between_(between) {}
  ~saving() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  }
  saving(const saving&) = delete;
  saving& operator=(const saving&) = delete;

  expected<void> run(const checkpoint_content& content) {
    const client_state states = TROUPE_TRY(with_engine_states(content.client_state));
    TROUPE_TRY(lock());
    TROUPE_TRY(check_old());
    TROUPE_TRY(delete_leftovers());
    TROUPE_TRY(make_temporary());
    for (std::size_t layer = 0; layer < content.layers.size(); ++layer) {
      pause();
      state_dict weights = content.layers[layer];
      for (named_tensor& each : weights) each.tensor = apart(each.tensor);  // not with those of other layers
      TROUPE_TRY(save_weights(temporary_ / layer_file_name(layer), weights, weights_format::torch_zip));
    }
    if (!content.optimizer.empty()) {
      pause();
      TROUPE_TRY(save_weights(temporary_ / optimizer_name, content.optimizer, weights_format::safetensors));
    }
    pause();
    TROUPE_TRY(write_client_state(temporary_ / states_name, states));
    pause();
    TROUPE_TRY(write_sums(temporary_));
    pause();
    TROUPE_TRY(publish());
    pause();
    return name_latest();
  }

 private:
  void pause() const {
    if (between_) between_();
  }

  expected<void> lock() {
    std::error_code problem;
    fs::create_directories(dir_, problem);
    if (problem) return unwritable(dir_, "it cannot be made: " + problem.message());
    lock_.reset(::open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock_) return unwritable(dir_, "it cannot be opened: " + errno_text());
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
    if (errno == EWOULDBLOCK) {
      return unwritable(dir_, "another process saves a checkpoint there", "wait for it, or save in another folder");
    }
    return unwritable(dir_, "it cannot be locked: " + errno_text());
  }

  /// Nothing is deleted that a save has not made.
  expected<void> check_old() const {
    const fs::path old = dir_ / tag_;
    std::error_code problem;
    if (!fs::exists(fs::symlink_status(old, problem))) return {};
    if (fs::is_symlink(old, problem) || !fs::is_directory(old, problem)) {
      return unwritable(old, "it is no folder", "save under another tag");
    }
    for (const auto& each : fs::directory_iterator(old, problem)) {
      if (is_of_checkpoint(each.path().filename().string())) continue;
      return unwritable(each.path(), "it is no part of the checkpoint that would be replaced",
                        "save under another tag, or move this file away");
    }
    if (problem) return unwritable(old, "it cannot be read: " + problem.message());
    return {};
  }

  expected<void> delete_leftovers() const {
    std::error_code problem;
    for (const auto& each : fs::directory_iterator(dir_, problem)) {
      std::error_code ignored;
      if (each.path().filename().string().starts_with(temporary_prefix)) fs::remove_all(each.path(), ignored);
    }
    if (problem) return unwritable(dir_, "it cannot be read: " + problem.message());
    return {};
  }

  expected<void> make_temporary() {
    std::string name = (dir_ / (std::string(temporary_prefix) + "XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr) return unwritable(dir_, "it cannot be written: " + errno_text());
    temporary_ = name;
    constexpr mode_t for_all = 0755;  // mkdtemp() makes it for the user alone
    if (::chmod(name.c_str(), for_all) != 0) return unwritable(dir_, "it cannot be written: " + errno_text());
    return {};
  }

  expected<void> publish() {
    const fs::path place = dir_ / tag_;
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, place.c_str(), RENAME_NOREPLACE) == 0) {
      temporary_.clear();
    } else if (errno != EEXIST ||
               ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) != 0) {
      return unwritable(place, "it cannot take the place of the old one: " + errno_text(),
                        "save under another tag: this file system may be unable to exchange two folders");
    }
    if (::fsync(lock_.get()) != 0 && errno != EINVAL) {
      return unwritable(dir_, "it cannot be synchronized with the disk: " + errno_text());
    }
    return {};
  }

  expected<void> name_latest() const {
    const fs::path latest = dir_ / latest_name;
    file_replacement file(latest, temporary_prefix);
    int problem = file.open();
    if (problem == 0) problem = file.write(tag_);
    pause();
    if (problem == 0) problem = file.publish();
    if (problem != 0) return unwritable(latest, "it cannot be written: " + errno_text(problem));
    pause();
    return {};
  }

  fs::path dir_;
  std::string tag_;
  const std::function<void()>& between_;
  unique_fd lock_;
  /// The new folder until it has its name; after an exchange the old one. Deleted at the end.
  fs::path temporary_;
};

}  // namespace

expected<void> save_files(const fs::path& dir, const std::string& tag, const checkpoint_content& content,
                          const std::function<void()>& between) {
  TROUPE_TRY(check_tag(tag));
  return saving(dir, tag, between).run(content);
}

}  // namespace troupe
