// Goal: drawings show every node and edge of a graph, once, with what matters of them. Method: one picture written out
// by hand; then counts, nesting and overlaps in the SVG of graphs of many shapes.
#include "runtime/topology/draw/draw.hpp"

#include <regex>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/topology/draw/layout.hpp"

namespace troupe {
namespace {

using testing::HasSubstr;

graph_node drawn_node(std::string name, node_kind kind) {
  graph_node made;
  made.name = std::move(name);
  made.kind = kind;
  return made;
}

/// loader -> route -> (few | many -> big x2) -> join -> metrics; `few` is also counted on the way.
stage_graph cascade() {
  graph_node route = drawn_node("sure?", node_kind::route);
  route.outputs = {"yes", "no"};
  route.covers_all_samples = true;
  graph_node few = drawn_node("few", node_kind::stage);
  few.ordered = true;
  graph_node big = drawn_node("big", node_kind::stage);
  big.replicas = 2;
  big.num_pipe_buffers = 1;
  graph_node join = drawn_node("all", node_kind::join);
  join.inputs = {"early", "late"};
  join.num_pipe_buffers = 2;
  stage_graph graph;
  graph.add(drawn_node("loader", node_kind::source)).add(route).add(few).add(big).add(join);
  graph.add(drawn_node("metrics", node_kind::sink)).add(drawn_node("early", node_kind::sink));
  return graph.connect("loader", "sure?")
      .connect_ports({"sure?", "yes"}, {"few", "in"})
      .connect_ports({"sure?", "no"}, {"big", "in"})
      .connect_ports({"few", "out"}, {"all", "early"})
      .connect_ports({"big", "out"}, {"all", "late"})
      .connect("all", "metrics")
      .connect("few", "early");
}

TEST(draw_text, a_cascade) {
  EXPECT_EQ(draw_text(cascade()),
            "source  loader\n"
            "        └─ credits by size ─▶ sure?\n"
            "route   sure?\n"
            "        ├─ yes: credits by size ─▶ few\n"
            "        └─ no: 1 credit ─▶ big\n"
            "stage   few  in id order\n"
            "        ├─ 2 credits, as early ─▶ all\n"
            "        └─ scores ─▶ early\n"
            "stage   big  ×2\n"
            "        └─ 2 credits, as late ─▶ all\n"
            "join    all\n"
            "        └─ scores ─▶ metrics\n"
            "sink    metrics\n"
            "sink    early\n");
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// Empty if every tag is closed in order.
std::string nesting_fault(const std::string& xml) {
  static const std::regex tag(R"(<(/?)([a-zA-Z]+)[^<>]*?(/?)>)");
  std::vector<std::string> open;
  for (auto at = std::sregex_iterator(xml.begin(), xml.end(), tag); at != std::sregex_iterator(); ++at) {
    if (!(*at)[3].str().empty()) continue;
    if ((*at)[1].str().empty()) {
      open.push_back((*at)[2]);
    } else if (open.empty() || open.back() != (*at)[2]) {
      return "unexpected </" + (*at)[2].str() + ">";
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

void expect_drawn(const stage_graph& graph) {
  const std::string svg = draw_svg(graph);
  EXPECT_EQ(nesting_fault(svg), "");
  EXPECT_EQ(count(svg, "class=\"node\""), graph.nodes().size());
  EXPECT_EQ(count(svg, "marker-end"), graph.edges().size());
  EXPECT_EQ(svg, draw_svg(graph));
  std::set<std::pair<std::size_t, std::size_t>> places;
  const auto layout = lay_out(graph);
  for (const grid_place& place : layout) EXPECT_TRUE(places.emplace(place.column, place.row).second) << "boxes overlap";
  for (const graph_edge& edge : graph.edges()) {
    EXPECT_LT(layout[graph.find(edge.from.node)].column, layout[graph.find(edge.to.node)].column);
  }
  EXPECT_EQ(count(draw_text(graph), "─▶"), graph.edges().size());
}

TEST(draw_svg, shows_every_node_and_edge_once_without_overlaps) {
  expect_drawn(cascade());
  for (std::uint32_t stages = 1; stages <= 12; ++stages) {
    expect_drawn(make_chain({.stages = stages, .replicas = stages, .sinks = {"a", "b", "c"}}));
  }
  stage_graph wide;
  wide.add(drawn_node("loader", node_kind::source));
  graph_node join = drawn_node("join", node_kind::join);
  join.inputs.clear();
  for (int branch = 0; branch < 9; ++branch) join.inputs.push_back(fmt::format("p{}", branch));
  wide.add(join).add(drawn_node("metrics", node_kind::sink)).connect("join", "metrics");
  for (int branch = 0; branch < 9; ++branch) {
    const std::string name = fmt::format("branch {}", branch);
    wide.add(drawn_node(name, node_kind::stage)).connect("loader", name);
    wide.connect_ports({name, "out"}, {"join", fmt::format("p{}", branch)});
  }
  ASSERT_TRUE(validate(wide).has_value());
  expect_drawn(wide);
}

TEST(draw_svg, escapes_names_and_cuts_long_ones_between_characters) {
  stage_graph graph;
  const std::string odd = "<&\">";
  const std::string umlauts = "größer als vierundzwanzig Zeichen ää";
  graph.add(drawn_node("loader", node_kind::source))
      .add(drawn_node(odd, node_kind::stage))
      .add(drawn_node(umlauts, node_kind::stage));
  graph.add(drawn_node("m", node_kind::sink)).connect("loader", odd).connect(odd, umlauts).connect(umlauts, "m");
  expect_drawn(graph);
  EXPECT_THAT(draw_svg(graph), HasSubstr("&lt;&amp;&quot;&gt;"));
  EXPECT_THAT(draw_svg(graph), HasSubstr("größer als vierundzwan…"));
}

}  // namespace
}  // namespace troupe
