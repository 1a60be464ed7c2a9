#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "messages/printable.hpp"
#include "runtime/topology/draw/labels.hpp"
#include "runtime/topology/draw/layout.hpp"

namespace troupe {
namespace {

// Pixels.
constexpr double box_width = 150;
constexpr double box_height = 46;
constexpr double column_gap = 130;
constexpr double row_gap = 44;
constexpr double margin = 30;
constexpr double stack_shift = 4;
constexpr std::size_t label_columns_max = 22;

struct box {
  double x = 0;
  double y = 0;
};

std::string escaped(const std::string& text) {
  std::string made;
  for (const char c : printable(text)) {
    switch (c) {
      case '<':
        made += "&lt;";
        break;
      case '>':
        made += "&gt;";
        break;
      case '&':
        made += "&amp;";
        break;
      case '"':
        made += "&quot;";
        break;
      default:
        // Other control characters may not stand in XML at all.
        made += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return made;
}

/// Cut between characters, not inside one: bytes 10xxxxxx go on with the one before.
std::string shortened(const std::string& text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u) continue;
    if (++columns > label_columns_max) return text.substr(0, at) + "…";
  }
  return text;
}

const char* colour(node_kind kind) {
  switch (kind) {
    case node_kind::source:
      return "#d7e8fa";
    case node_kind::stage:
      return "#e3f4e1";
    case node_kind::join:
      return "#f9e8cf";
    case node_kind::route:
      return "#f8d9d6";
    case node_kind::sink:
      return "#e6e0f3";
  }
  return "#ffffff";
}

std::string text_at(double x, double y, const std::string& text, const char* size, const char* fill) {
  return fmt::format(R"(<text x="{}" y="{}" font-size="{}" fill="{}" text-anchor="middle">{}</text>)", x, y, size, fill,
                     escaped(text)) +
         "\n";
}

std::string rectangle(double x, double y, double width, double height, const std::string& style) {
  return fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" rx="6" {}/>)", x, y, width, height, style) + "\n";
}

std::string node_text(const graph_node& node, const box& at) {
  const std::string style = fmt::format(R"(fill="{}" stroke="#444444")", colour(node.kind));
  std::string made = "<g class=\"node\">\n";
  made += fmt::format("<title>{}</title>\n",
                      escaped(fmt::format("{} {}{}", node_kind_name(node.kind), node.name, node_label(node))));
  if (node.replicas > 1) made += rectangle(at.x + stack_shift, at.y - stack_shift, box_width, box_height, style);
  made += rectangle(at.x, at.y, box_width, box_height, style);
  made += text_at(at.x + box_width / 2, at.y + 19, shortened(node.name), "13", "#111111");
  const std::string below = fmt::format("{}{}", node_kind_name(node.kind), node_label(node));
  made += text_at(at.x + box_width / 2, at.y + 36, shortened(below), "11", "#555555");
  return made + "</g>\n";
}

std::string edge_text(const stage_graph& graph, const graph_edge& edge, const box& from, const box& to) {
  const double x1 = from.x + box_width;
  const double y1 = from.y + box_height / 2;
  const double y2 = to.y + box_height / 2;
  const double bend = std::max(column_gap / 2, (to.x - x1) / 2);
  std::string made = fmt::format(
      R"x(<path d="M {} {} C {} {}, {} {}, {} {}" fill="none" stroke="#666666" marker-end="url(#arrow)"/>)x", x1, y1,
      x1 + bend, y1, to.x - bend, y2, to.x, y2);
  return made + "\n" + text_at((x1 + to.x) / 2, (y1 + y2) / 2 - 5, edge_label(graph, edge), "10", "#333333");
}

std::string frames(const stage_graph& graph, const std::vector<box>& boxes) {
  struct extent {
    double left = 1e9, top = 1e9, right = 0, bottom = 0;
  };
  std::map<std::string, extent> groups;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (graph.nodes()[i].pipeline_group.empty()) continue;
    extent& group = groups[graph.nodes()[i].pipeline_group];
    group.left = std::min(group.left, boxes[i].x);
    group.top = std::min(group.top, boxes[i].y);
    group.right = std::max(group.right, boxes[i].x + box_width);
    group.bottom = std::max(group.bottom, boxes[i].y + box_height);
  }
  std::string made;
  for (const auto& [name, each] : groups) {
    made += rectangle(each.left - 10, each.top - 12, each.right - each.left + 20, each.bottom - each.top + 22,
                      R"(fill="none" stroke="#888888" stroke-dasharray="5 4")");
  }
  return made;
}

}  // namespace

std::string draw_svg(const stage_graph& graph) {
  const auto places = lay_out(graph);
  std::vector<box> boxes;
  double width = 0;
  double height = 0;
  for (const grid_place& place : places) {
    boxes.push_back({margin + static_cast<double>(place.column) * (box_width + column_gap),
                     margin + static_cast<double>(place.row) * (box_height + row_gap)});
    width = std::max(width, boxes.back().x + box_width + margin);
    height = std::max(height, boxes.back().y + box_height + margin);
  }
  std::string made = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="sans-serif">)"
      "\n"
      R"x(<defs><marker id="arrow" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto"><path d="M 0 0 L 9 4 L 0 8 z" fill="#666666"/></marker></defs>)x"
      "\n"
      R"(<rect x="0" y="0" width="{0}" height="{1}" fill="#ffffff"/>)"
      "\n",
      width, height);
  made += frames(graph, boxes);
  for (const graph_edge& edge : graph.edges()) {
    made += edge_text(graph, edge, boxes[graph.find(edge.from.node)], boxes[graph.find(edge.to.node)]);
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) made += node_text(graph.nodes()[i], boxes[i]);
  return made + "</svg>\n";
}

}  // namespace troupe
