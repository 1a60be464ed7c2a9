// Tokenizes the lines of a file again and again: text_bench TOKENIZER FILE ROUNDS. Prints the tokens of a round and the
// seconds of each; text_table.py compares them with the `tokenizers` package.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <troupe/tokenizer.hpp>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: text_bench TOKENIZER FILE ROUNDS\n";
    return 2;
  }
  auto opened = troupe::tokenizer::open(argv[1]);
  if (!opened) {
    std::cerr << to_string(opened.error()) << '\n';
    return 3;
  }
  std::vector<std::string> lines;
  std::ifstream in(argv[2]);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  for (int round = std::atoi(argv[3]); round > 0; --round) {
    const auto start = std::chrono::steady_clock::now();
    std::size_t tokens = 0;
    for (const std::string& line : lines) {
      const auto made = (*opened)->encode(line);
      if (!made) {
        std::cerr << to_string(made.error()) << '\n';
        return 3;
      }
      tokens += made->front().size();
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::cout << tokens << ' ' << taken.count() << std::endl;
  }
  return 0;
}
