#include "tests/cli/bad_input.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFFU);
  return bytes;
}

/// IDX: magic, sizes, payload.
std::string idx_images(std::uint32_t count) {
  return big_endian(0x803) + big_endian(count) + big_endian(28) + big_endian(28) + std::string(count * 28 * 28, '\x10');
}
std::string idx_labels(std::uint32_t count, char label) {
  return big_endian(0x801) + big_endian(count) + std::string(count, label);
}

std::string cifar_record(char label) {
  std::string record(1 + 3072, '\x20');
  record.front() = label;
  return record;
}

/// npy version 1.0.
std::string npy(const std::string& type, const std::string& shape, std::size_t bytes) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  header += '\n';
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + std::string(bytes, '\0');
}

void write_mnist(const scratch& directory, const std::string& name, const std::string& images,
                 const std::string& labels) {
  directory.write(name + "/t10k-images-idx3-ubyte", images);
  directory.write(name + "/t10k-labels-idx1-ubyte", labels);
}

void make_models(const scratch& directory) {
  const std::string good = file_content(data_dir() / "mnist/lenet.pt");
  directory.write("good.pt", good);
  directory.write("one_slot", "w0 slots=1\n");
  directory.write("truncated.pt", good.substr(0, good.size() / 2));
  directory.write("empty.pt", "");
  directory.write("text.pt", "import torch\n");
  directory.write("legacy.pt",
                  std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.", 21));
  directory.write("pointer.pt",
                  "version https://git-lfs.github.com/spec/v1\n"
                  "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n");
  fs::create_directories(directory.path() / "directory.pt");
}

void make_data(const scratch& directory) {
  write_mnist(directory, "good-mnist", idx_images(4), idx_labels(4, 3));
  write_mnist(directory, "short", idx_images(4).substr(0, 2000), idx_labels(4, 3));
  write_mnist(directory, "mismatch", idx_images(4), idx_labels(3, 3));
  write_mnist(directory, "label", idx_images(2), idx_labels(2, 10));
  write_mnist(directory, "magic", "not an idx file, but long enough", idx_labels(2, 1));
  write_mnist(directory, "none", idx_images(0), idx_labels(0, 0));
  directory.write("half-mnist/t10k-images-idx3-ubyte", idx_images(1));
  directory.write("cifar.bin", cifar_record(3) + cifar_record(4));
  directory.write("cifar-short.bin", cifar_record(3) + cifar_record(4).substr(0, 100));
  directory.write("cifar-label.bin", cifar_record(11));
  directory.write("inputs.npy", npy("<f4", "3, 1, 28, 28", 3 * 784 * 4));
  directory.write("labels.npy", npy("<i8", "2,", 2 * 8));
  directory.write("labels3.npy", npy("<i8", "3,", 3 * 8));
  directory.write("garbage.npy", "no numpy file");
  fs::create_directories(directory.path() / "empty-directory");
}

void make_configs(const scratch& directory) {
  directory.write("syntax.toml", "stages = 2\nmicro_batch = = 4\n");
  std::string deep = "stages = 2\na";
  for (int i = 0; i < 30000; ++i) deep += ".a";
  directory.write("deep.toml", deep + " = 1\n");
  directory.write("long.toml", "stages = 2\n" + std::string(70000, '\n'));
  directory.write("key.toml", "stages = 2\nmicro-batch = 4\n");
  directory.write("type.toml", "stages = \"two\"\n");
  directory.write("range.toml", "micro_batch = 64\nreplicas = 1000\n");
  directory.write("metric.toml", "metrics = [\"accuracy\", \"acurracy\"]\n");
  directory.write("contradiction.toml", "trace = true\n");
  directory.write("syntax.json", "stages = 4\n");
  directory.write("deep.json", std::string(10000, '['));
  directory.write("batch.json", R"({"train_batch_size": 33, "train_micro_batch_size_per_gpu": 8})");
  directory.write("open.json", R"({"train_batch_size": "auto", "gradient_accumulation_steps": 2})");
  directory.write("types.json", R"({"train_batch_size": 8, "fp16": {"enabled": true}, "bf16": {"enabled": true}})");
  directory.write("misfit.toml", "stages = 2\n[[fault]]\nkind = \"throw\"\nstage = 7\nat = \"mb1\"\n");
  directory.write("blocked", "a file where a directory should be");
}

}  // namespace

void make_bad_files(const scratch& directory) {
  make_models(directory);
  make_data(directory);
  make_configs(directory);
}

}  // namespace troupe::testing
