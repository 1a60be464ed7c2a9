#include "stand_in_rows.hpp"

#include "runtime/edge/cuda_ipc/ipc_transport.hpp"
#include "runtime/edge/nccl/nccl_transport.hpp"
#include "testing/nccl/late_device.hpp"
#include "testing/nccl/stand_in.hpp"

namespace troupe::testing {
namespace {

/// Everything that a row connects, and of that the edges between devices.
class device_edges final : public transport {
 public:
  explicit device_edges(std::shared_ptr<transport> all) : all_(std::move(all)) {}
  std::uint64_t contact() const noexcept override { return all_->contact(); }
  bool may_be_contact(std::uint64_t said) const noexcept override { return all_->may_be_contact(said); }
  bool loses_ends() const noexcept override { return all_->loses_ends(); }
  expected<edge_offer> offer(const edge_options& shape, edge_reach) override {
    return all_->offer(shape, edge_reach::devices);
  }
  expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override {
    return all_->open_consumer(std::move(site));
  }
  expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override {
    return all_->open_producer(std::move(site));
  }

 private:
  const std::shared_ptr<transport> all_;
};

expected<std::shared_ptr<transport>> device_edges_of(const char* row, const transport_options& options) {
  return between_processes(row).between(options).map(
      [](std::shared_ptr<transport>&& all) -> std::shared_ptr<transport> {
        return std::make_shared<device_edges>(std::move(all));
      });
}

expected<std::shared_ptr<transport>> nccl_between(const transport_options& options) {
  nccl_tools tools;
  tools.library = stand_in_functions();
  tools.device = std::make_shared<late_device>();
  tools.codec = std::make_shared<const late_device_codec>(options.codec);
  transport_options here = options;
  here.devices.nccl = [made = std::make_shared<const nccl_tools>(std::move(tools))] { return made; };
  return device_edges_of("nccl", here);
}

expected<std::shared_ptr<transport>> ipc_between(const transport_options& options) {
  ipc_tools tools;
  tools.device = std::make_shared<late_device>();
  tools.sharing = std::move(*tools.device->sharing());
  tools.codec = std::make_shared<const late_device_codec>(options.codec);
  tools.readers = std::move(*tools.device->make_stream());
  transport_options here = options;
  here.devices.ipc = [made = std::make_shared<const ipc_tools>(std::move(tools))] { return made; };
  return device_edges_of("cuda_ipc", here);
}

}  // namespace

const transport_row nccl_stand_in_row{.name = "nccl", .within = nullptr, .between = nccl_between, .leaves_host = true};

const transport_row ipc_stand_in_row{.name = "cuda_ipc", .within = nullptr, .between = ipc_between};

}  // namespace troupe::testing
