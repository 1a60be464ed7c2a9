#include "runtime/exported/exported_weights.hpp"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <c10/core/alignment.h>

#include "messages/file_fixes.hpp"
#include "messages/try.hpp"
#include "runtime/archive/tensor_extent.hpp"

namespace troupe {
namespace {

/// A tensor may say that it has more elements than its record, as one that expand() made does; so many bytes more than
/// the file has.
constexpr std::uint64_t expanded_bytes = 64u << 20;

expected<std::int64_t> count_in(const json_part& part) {
  const auto number = TROUPE_TRY(exported_size(part));
  if (!number) return part.wrong("depends on the input");
  if (*number < 0) return part.wrong("is below zero");
  return *number;
}

expected<std::vector<std::int64_t>> counts_in(const json_part& list) {
  std::vector<std::int64_t> counts;
  for (const json_part& each : TROUPE_TRY(list.items())) counts.push_back(TROUPE_TRY(count_in(each)));
  return counts;
}

bool is_same(const exported_tensor& a, const exported_tensor& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes;
}

}  // namespace

expected<exported_weights> exported_weights::open(exported_archive& archive) {
  exported_weights made(archive);
  TROUPE_TRY(made.list("data/weights/", "model_weights_config.json"));
  TROUPE_TRY(made.list("data/constants/", "model_constants_config.json"));
  return made;
}

expected<void> exported_weights::list(const std::string& folder, const std::string& name) {
  if (archive_->find(folder + name) == nullptr) return {};
  const nlohmann::json document = TROUPE_TRY(archive_->json(folder + name));
  const json_part config = TROUPE_TRY(json_part(document, archive_->where(), folder + name).at("config"));
  for (const auto& [key, part] : TROUPE_TRY(config.members())) {
    const std::string path = folder + TROUPE_TRY(TROUPE_TRY(part.at("path_name")).text());
    if (TROUPE_TRY(TROUPE_TRY(part.at("use_pickle")).truth())) {
      return fail(error_code::model_unsupported, archive_->where(),
                  "the tensor or object " + key + " is pickled, and reading it would run Python",
                  "export a model whose weights are plain dense tensors, without tensor subclasses and custom objects");
    }
    TROUPE_TRY(part.at("tensor_meta"));
    if (!records_.emplace(key, record{path, document.at("config").at(key).at("tensor_meta")}).second) {
      return part.wrong("is there twice: both lists of tensors have this name");
    }
  }
  return {};
}

expected<exported_weights::extent> exported_weights::extent_in(const json_part& meta, std::uint64_t elements,
                                                               std::uint64_t elements_max) {
  extent made;
  made.sizes = TROUPE_TRY(counts_in(TROUPE_TRY(meta.at("sizes"))));
  made.strides = TROUPE_TRY(counts_in(TROUPE_TRY(meta.at("strides"))));
  made.offset = TROUPE_TRY(count_in(TROUPE_TRY(meta.at("storage_offset"))));
  if (made.sizes.size() != made.strides.size()) return meta.wrong("has not as many strides as sizes");
  switch (check_extent(made.offset, made.sizes, made.strides, elements, elements_max)) {
    case extent_fault::outside:
      return meta.wrong("lies outside of its record");
    case extent_fault::too_many:
      return meta.wrong("has more elements than the file");
    case extent_fault::none:
      break;
  }
  if (std::ranges::find(made.sizes, 0) != made.sizes.end()) made.offset = 0;
  return made;
}

expected<at::Tensor> exported_weights::bytes_of(const std::string& path) {
  at::Tensor& bytes = bytes_[path];
  if (bytes.defined()) return bytes;
  const zip_entry* const entry = archive_->find(path);
  if (entry == nullptr || entry->packed) {
    const std::string finding = entry == nullptr ? "lacks the entry " : "has the packed entry ";
    return fail(error_code::model_unreadable, archive_->where(), "the file is damaged: it " + finding + path,
                copy_again_fix);
  }
  TROUPE_TRY(archive_->read(*entry, [](std::string_view) {}));  // its checksum
  if (file_ == nullptr) file_ = TROUPE_TRY(mapped_file::open(archive_->where()));
  if (entry->offset + entry->bytes > file_->bytes().size()) {
    return fail(error_code::model_truncated, archive_->where(), "the file has become shorter since it was opened",
                copy_again_fix);
  }
  // as an allocation of LibTorch
  const c10::Storage storage = mapped_file::storage(file_, entry->offset, entry->bytes, c10::gAlignment);
  return bytes = at::empty({0}, at::kByte).set_(storage, 0, {static_cast<std::int64_t>(entry->bytes)});
}

expected<at::Tensor> exported_weights::read(const std::string& name, const exported_tensor& promised) {
  const auto found = records_.find(name);
  if (found == records_.end()) {
    return fail(error_code::model_unreadable, archive_->where(),
                "the file is damaged: it has no tensor " + name + ", which its program names", copy_again_fix);
  }
  const auto& [path, document] = found->second;
  const json_part meta(document, archive_->where(), "the tensor " + name);
  const exported_tensor stored = TROUPE_TRY(tensor_meta(meta));
  if (!is_same(stored, promised)) return meta.wrong("has not the type and the sizes that models/model.json says");
  const at::Tensor bytes = TROUPE_TRY(bytes_of(path));
  const std::uint64_t item = c10::elementSize(stored.dtype);
  const extent place = TROUPE_TRY(extent_in(meta, bytes.nbytes() / item, (archive_->bytes() + expanded_bytes) / item));
  at::Tensor& tensor = tensors_[{path, stored.dtype, place}];
  if (!tensor.defined()) {
    tensor = at::empty({0}, stored.dtype).set_(bytes.storage(), place.offset, place.sizes, place.strides);
  }
  return tensor;
}

}  // namespace troupe
