// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <StrataPerf_Reporters.hpp>

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::perf {

namespace {

using benchmark::BenchmarkReporter;

// A reporter in front of another.
class Forwarding : public BenchmarkReporter {
 public:
  explicit Forwarding(std::unique_ptr<BenchmarkReporter> inner) : inner_(std::move(inner)) {}

  bool ReportContext(Context const& context) override {
    inner_->SetOutputStream(&GetOutputStream());
    inner_->SetErrorStream(&GetErrorStream());
    return inner_->ReportContext(context);
  }
  void ReportRuns(std::vector<Run> const& runs) override { inner_->ReportRuns(runs); }
  void Finalize() override { inner_->Finalize(); }

 private:
  std::unique_ptr<BenchmarkReporter> inner_;
};

// Counters that are errors become words: the console scales counters by SI prefixes.
class ErrorsInWords : public Forwarding {
 public:
  using Forwarding::Forwarding;

  void ReportRuns(std::vector<Run> const& runs) override {
    auto changed = runs;
    for (auto& run : changed) {
      for (auto counter = run.counters.begin(); counter != run.counters.end();) {
        if (!std::string_view(counter->first).ends_with("error")) {
          ++counter;
          continue;
        }
        char text[32];
        std::snprintf(text, sizeof text, "=%.1e", counter->second.value);
        run.report_label += (run.report_label.empty() ? "" : " ") + counter->first + text;
        counter = run.counters.erase(counter);
      }
    }
    Forwarding::ReportRuns(changed);
  }
};

// The columns are those of the first report, so that all runs are one report.
class AllAtOnce : public Forwarding {
 public:
  using Forwarding::Forwarding;

  void ReportRuns(std::vector<Run> const& runs) override {
    all_.insert(all_.end(), runs.begin(), runs.end());
  }
  void Finalize() override {
    if (!all_.empty()) Forwarding::ReportRuns(all_);
    Forwarding::Finalize();
  }

 private:
  std::vector<Run> all_;
};

// The same for a file, which holds the rows alone: Google Benchmark writes the machine before them.
class InAFile : public AllAtOnce {
 public:
  using AllAtOnce::AllAtOnce;

  bool ReportContext(Context const& context) override {
    SetErrorStream(&nowhere_);
    return AllAtOnce::ReportContext(context);
  }

 private:
  std::ostream nowhere_{nullptr};
};

// `otherwise`, or what the environment says, or the last such argument.
std::string chosen(int argc, char const* const* argv, std::string_view option, char const* variable,
                   std::string otherwise) {
  if (char const* const value = std::getenv(variable)) otherwise = value;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (!argument.starts_with(option)) continue;
    argument.remove_prefix(option.size());
    if (argument.starts_with('=')) otherwise = argument.substr(1);
  }
  return otherwise;
}

}  // namespace

Formats::Formats(int argc, char const* const* argv)
    : screen(chosen(argc, argv, "--benchmark_format", "BENCHMARK_FORMAT", "console")),
      file(chosen(argc, argv, "--benchmark_out_format", "BENCHMARK_OUT_FORMAT", "json")) {}

std::unique_ptr<BenchmarkReporter> screen_reporter(Formats const& formats) {
  std::unique_ptr<BenchmarkReporter> own(benchmark::CreateDefaultDisplayReporter());
  if (formats.screen == "csv") return std::make_unique<AllAtOnce>(std::move(own));
  if (formats.screen == "console") return std::make_unique<ErrorsInWords>(std::move(own));
  return own;
}

std::unique_ptr<BenchmarkReporter> file_reporter(Formats const& formats) {
  if (formats.file == "csv") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // announced since 2018, and there
    return std::make_unique<InAFile>(std::make_unique<benchmark::CSVReporter>());
#pragma GCC diagnostic pop
  }
  return nullptr;
}

}  // namespace strata::perf
