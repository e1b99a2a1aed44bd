// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <apps/info/Strata_Schemas.hpp>

#include <apps/document/Strata_Document.hpp>
#include <apps/hpgmxp/Strata_HpgmxpDocument.hpp>
#include <apps/info/Strata_InfoFields.hpp>
#include <apps/mle/Strata_MleDocument.hpp>
#include <apps/shared/Strata_RunFacts.hpp>
#include <apps/solve/Strata_SolveFields.hpp>
#include <apps/solve/Strata_SparseDocument.hpp>
#include <apps/symmetric/Strata_SymmetricFields.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace strata::apps {

namespace {

constexpr char const* of_exit_codes = " Written for exit codes 0, 3 and 4.";

// A document of a run, which ends with how it was made.
template <class Result>
Json of_run() {
  Json schema = schema_of<Result>();
  auto const add = [&](char const* key, Json part, char const* sentence) {
    detail::describe(part, sentence, {});
    detail::described_key(schema, key, true) = std::move(part);
  };
  add("configuration", schema_of<Program>(),
      "Machine and build, as `strata info --json` tells them.");
  add("run", schema_of<RunFacts>(), "How and where the run was made.");
  return schema;
}

struct Document {
  char const* name;
  char const* title;
  char const* command;  // that writes it
  char const* when;
  Json (*schema)();
};
constexpr std::array documents{
    Document{"info", "strata.info/1", "strata info --json", "", &schema_of<InfoDocument>},
    Document{"solve", "strata.solve/1", "strata solve --json FILE", of_exit_codes,
             &of_run<SolveResult>},
    Document{"solve_out_of_core", "strata.solve_out_of_core/1",
             "strata solve --out-of-core --json FILE", of_exit_codes, &of_run<OutOfCoreResult>},
    Document{"solve_symmetric", "strata.solve_symmetric/1", "strata solve --symmetric --json FILE",
             of_exit_codes, &of_run<SymmetricResult>},
    Document{"solve_sparse", "strata.solve_sparse/1", "strata solve --sparse --json FILE",
             of_exit_codes, &of_run<SparseOutcome>},
    Document{"mle", "strata.mle/1", "strata mle --json FILE", of_exit_codes, &of_run<MleResult>},
    Document{"hpgmxp", "strata.hpgmxp/1", "strata hpgmxp --json FILE", "", &of_run<HpgmxpOutcome>}};

// What fits on a line stands on one; else each member has a line.
void write(std::string& text, Json const& value, std::size_t indent) {
  constexpr std::size_t width = 120;
  std::string const line = value.dump();
  bool const is_flat =
      !value.is_object() &&
      std::none_of(value.begin(), value.end(), [](Json const& one) { return one.is_structured(); });
  if (line.size() + indent <= width || is_flat) {
    text += line;
    return;
  }
  std::string const margin(indent + 2, ' ');
  text += value.is_object() ? "{" : "[";
  bool is_first = true;
  for (auto const& [key, member] : value.items()) {
    text += (std::exchange(is_first, false) ? "\n" : ",\n") + margin;
    if (value.is_object()) text += Json(key).dump() + ": ";
    write(text, member, indent + 2);
  }
  text += '\n' + std::string(indent, ' ') + (value.is_object() ? '}' : ']');
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (auto const& document : documents) names.emplace_back(document.name);
  return names;
}

std::string schema_text(std::string const& name) {
  auto const& found = *std::ranges::find(documents, name, &Document::name);
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", found.title},
              {"description", std::string("The document that `") + found.command + "` writes." +
                                  found.when +
                                  " A number that is not finite is null. Later versions of "
                                  "schema 1 may add keys."}};
  schema.update(found.schema());
  std::string text;
  write(text, schema, 0);
  return text + '\n';
}

}  // namespace strata::apps
