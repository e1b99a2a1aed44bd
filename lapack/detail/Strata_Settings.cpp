// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <lapack/detail/Strata_Settings.hpp>

#include <lapack/detail/Strata_Library.hpp>
#include <lapack/detail/Strata_Report.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace strata::lapack::detail {

namespace {

std::int64_t number(std::string_view name, std::string_view text) {
  std::int64_t value = -1;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0)
    throw SettingsError("STRATA_LAPACK: " + std::string(name) + " is '" + std::string(text) +
                        "', must be a whole number >= 0");
  return value;
}

std::string layer_names(std::string_view text) {
  if (text == "auto") return {};
  std::string names(text);
  std::replace(names.begin(), names.end(), ':', ',');
  return names;
}

void set(Settings& settings, std::string_view name, std::string_view value) {
  if (name == "threshold") {
    settings.threshold = number(name, value);
  } else if (name == "layers") {
    settings.layers = layer_names(value);
  } else if (name == "leaf") {
    settings.leaf = number(name, value);
  } else if (name == "trace") {
    settings.trace = number(name, value) != 0;
  } else if (name == "lapack") {
    settings.lapack = value;
  } else {
    throw SettingsError("STRATA_LAPACK: no setting '" + std::string(name) +
                        "'; there are threshold, layers, leaf, trace and lapack");
  }
}

// Only libstrata_c knows the layers' names.
void require_layers(Settings const& settings) {
  if (settings.layers.empty()) return;
  strata_options options = {};
  options.struct_size = sizeof options;
  options.layers = settings.layers.c_str();
  if (library().check_options(&options) != STRATA_SUCCESS)
    throw SettingsError(std::string("STRATA_LAPACK: ") + library().message());
}

Settings from_environment() {
  Settings defaults{.threshold = {}, .layers = {}, .lapack = {}};
  char const* const text = std::getenv("STRATA_LAPACK");
  if (text == nullptr) return defaults;
  try {
    return parse_settings(text, defaults);
  } catch (std::runtime_error const& error) {
    say(std::string(error.what()) + "; the defaults are used");
    return defaults;
  }
}

// All settings and libraries that were in force stay, once each, for the calls that read them
// without a lock.
class Store {
 public:
  Store() { use(from_environment()); }

  void use(Settings next) {
    std::lock_guard const lock(changing_);
    next.system = &libraries_.try_emplace(next.lapack, next.lapack).first->second;
    auto const same = std::find(all_.begin(), all_.end(), next);
    now_ = same != all_.end() ? &*same : &all_.emplace_back(std::move(next));
  }
  Settings const& now() const { return *now_; }

 private:
  std::mutex changing_;
  std::map<std::string, SystemLapack> libraries_;
  std::list<Settings> all_;
  std::atomic<Settings const*> now_;
};

Store& store() {
  static Store& one = *new Store;  // also for calls while the process ends
  return one;
}

}  // namespace

Settings parse_settings(std::string_view text, Settings base) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find(',', begin), text.size());
    auto const item = text.substr(begin, end - begin);
    std::size_t const equals = item.find('=');
    if (!item.empty() && equals == std::string_view::npos)
      throw SettingsError("STRATA_LAPACK: '" + std::string(item) + "' is not name=value");
    if (!item.empty()) set(base, item.substr(0, equals), item.substr(equals + 1));
    begin = end + 1;
  }
  require_layers(base);
  return base;
}

Settings const& settings() { return store().now(); }

void use_settings(Settings const& settings) { store().use(settings); }

}  // namespace strata::lapack::detail
