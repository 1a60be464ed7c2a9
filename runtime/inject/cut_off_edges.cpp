#include "runtime/inject/cut_off_edges.hpp"

#include <utility>

#include "runtime/os/clock.hpp"

namespace troupe {
namespace {

/// What the site suffers besides stays.
class cut_off_arrivals final : public arrival_faults {
 public:
  cut_off_arrivals(std::shared_ptr<const engine_page> page, std::shared_ptr<arrival_faults> others)
      : page_(std::move(page)), others_(std::move(others)) {}

  [[nodiscard]] damage next_message() noexcept override { return others_ ? others_->next_message() : damage::none; }
  [[nodiscard]] bool is_silenced(flow way) const noexcept override {
    const std::int64_t until = page_->cut_off_until.load(std::memory_order_relaxed);
    return (until != 0 && steady_now().count() < until) || (others_ && others_->is_silenced(way));
  }
  [[nodiscard]] bool is_closed(flow way) const noexcept override { return others_ && others_->is_closed(way); }

 private:
  const std::shared_ptr<const engine_page> page_;
  const std::shared_ptr<arrival_faults> others_;
};

class cut_off_transport final : public transport {
 public:
  cut_off_transport(std::shared_ptr<transport> edges, std::shared_ptr<const engine_page> page)
      : edges_(std::move(edges)), page_(std::move(page)) {}

  std::uint64_t contact() const noexcept override { return edges_->contact(); }
  bool may_be_contact(std::uint64_t said) const noexcept override { return edges_->may_be_contact(said); }
  bool loses_ends() const noexcept override { return edges_->loses_ends(); }
  bool has_thread() const noexcept override { return edges_->has_thread(); }
  expected<edge_offer> offer(const edge_options& shape, edge_reach reach) override {
    return edges_->offer(shape, reach);
  }
  expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override {
    return edges_->open_producer(disturbed(std::move(site)));
  }
  expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override {
    return edges_->open_consumer(disturbed(std::move(site)));
  }

 private:
  [[nodiscard]] edge_site disturbed(edge_site site) const {
    site.faults = std::make_shared<cut_off_arrivals>(page_, std::move(site.faults));
    return site;
  }

  const std::shared_ptr<transport> edges_;
  const std::shared_ptr<const engine_page> page_;
};

}  // namespace

std::shared_ptr<transport> cut_off_edges(std::shared_ptr<transport> edges, std::shared_ptr<const engine_page> page) {
  return std::make_shared<cut_off_transport>(std::move(edges), std::move(page));
}

}  // namespace troupe
