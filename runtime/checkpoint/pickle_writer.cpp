#include "runtime/checkpoint/pickle_writer.hpp"

#include <string_view>

#include <caffe2/serialize/inline_container.h>

#include "messages/try.hpp"
#include "runtime/checkpoint/pickle_text.hpp"
#include "runtime/weights/writing.hpp"

namespace troupe {

expected<void> write_pickled(const std::filesystem::path& file, const client_state& root) {
  const pickled_text pickle = TROUPE_TRY(pickle_of(root, file.string()));
  weights_writing to(file);
  TROUPE_TRY(to.open());
  expected<void> outcome;
  // Its destructor would throw after a write that failed, and end the process: it is never told.
  const auto write = [&](const void* bytes, std::size_t count) {
    if (outcome) outcome = to.write({static_cast<const char*>(bytes), count});
    return count;
  };
  caffe2::serialize::PyTorchStreamWriter zip(write);
  const std::string_view order = "little";
  zip.writeRecord("data.pkl", pickle.bytes.data(), pickle.bytes.size());
  zip.writeRecord("byteorder", order.data(), order.size());
  for (std::size_t key = 0; key < pickle.storages.size() && outcome; ++key) {
    const at::Tensor& storage = pickle.storages[key];
    zip.writeRecord("data/" + std::to_string(key), storage.const_data_ptr(), storage.nbytes());
  }
  zip.writeEndOfFile();
  TROUPE_TRY(std::move(outcome));
  return to.publish();
}

}  // namespace troupe
