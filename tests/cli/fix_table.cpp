#include "tests/cli/fix_table.hpp"

#include "tests/cli/fix_rows.hpp"
#include "tests/support/model_archive.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {

void make_files_to_mend(const scratch& directory) {
  directory.write("prints.pt", model_archive(net_code(net_forward("    print(1)\n"))));
  directory.write("draws.pt", model_archive(net_code(net_forward("    x = torch.dropout(x, 0.5, True)\n"))));
  std::string flipped = file_content(directory.path() / "good.pt");
  flipped[flipped.size() / 2] ^= 1;
  directory.write("flipped.pt", flipped);
  directory.write("semicolons.csv", "area;rooms;age;price\n80;3;20;200\n90;4;1;300\n");
  directory.write("kind.csv", "area,rooms,age,price\n80,3,20,200\n");
  directory.write("empty.csv", "");
  std::string table = file_content(source_dir() / "tests/cli/several_labels/rows.csv");
  table.erase(table.find("more "), 5);
  directory.write("days.csv", table);
  make_folders_to_mend(directory);
}

std::vector<followed_fix> followed_fixes() {
  std::vector<followed_fix> all = usage_fixes();
  for (const auto& part : {task_fixes(), model_fixes(), weights_fixes(), training_fixes(), file_fixes()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<fix_outside> fixes_outside() {
  const std::string in_code = "a topology is written in C++: tests/program/topology_fixes_test.cpp follows it";
  const std::string of_run = "what went wrong is outside of the program: a stage, a worker, memory, a disk or a signal";
  const std::string of_wire = "the other end of a connection sent it, which no flag changes";
  const std::string of_training =
      "it takes damaged memory, or a step in C++: tests/program/trained_fixes_test.cpp follows it";
  return {
      {"E0217", "the advice is about the export in Python; tests/runtime/exported has such files"},
      {"E0214", "the advice is to use another file: there is no model that should be read in spite of it"},
      {"E0215", "the advice is to use another model, or more memory: tests/processes has such models"},
      {"E0308", "the advice is to use another tokenizer: tests/runtime/text has such files"},
      {"E0501", in_code},
      {"E0502", in_code},
      {"E0503", in_code},
      {"E0504", in_code},
      {"E0505", in_code},
      {"E0506", in_code},
      {"E0601", "a fault of the program, which asks for a report"},
      {"E0602", of_run},
      {"E0604", of_run},
      {"E0606", "the user ended the run: tests/cli/journal_test.cpp goes on with one"},
      {"E0607", "a call was given up with its run, whose error stands before it"},
      {"E0608", "a call in C++ after the end of its engine"},
      {"E0609", of_run},
      {"E0610", of_run},
      {"E0612", "a call in C++ that wants more micro-batches than its iterator has"},
      {"E0613", "calls in C++ that are submitted faster than they are taken"},
      {"E0614", of_run},
      {"E0615", of_run},
      {"E0616", of_run},
      {"E0617", "another program or file on another node"},
      {"E0618", of_run},
      {"E0619", of_training},
      {"E0620", of_training},
      {"E0621", of_training},
      {"E0701", of_wire},
      {"E0702", of_wire},
      {"E0703", of_wire},
      {"E0704", of_wire},
      {"E0705", of_wire},
      {"E0706", of_wire},
      {"E0707", of_wire},
      {"E0708", of_wire},
      {"E0901", "a library that the machine lacks"},
      {"E0902", "a GPU that failed"},
  };
}

}  // namespace troupe::testing
