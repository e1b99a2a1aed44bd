// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <core/Strata_EnumNames.hpp>
#include <core/Strata_Errors.hpp>
#include <core/Strata_Precision.hpp>

#include <StrataTest_Matchers.hpp>
#include <gtest/gtest.h>

namespace far {

enum class Colour { Red = 3, DarkGreen = 7, Blue = 1 };
constexpr auto names_of(Colour) {
  return strata::enum_names<Colour>(
      "colour", {{Colour::Red, "red"}, {Colour::DarkGreen, "dark green"}, {Colour::Blue, "blue"}});
}
using strata::name_of;

}  // namespace far

namespace {

using far::Colour, strata::enum_values, strata::from_name, strata::ValueError;

static_assert(name_of(Colour::DarkGreen) == "dark green");
static_assert(enum_values<Colour>.size() == 3);
static_assert(strata::NamedEnum<strata::Precision> && !strata::NamedEnum<int>);

TEST(EnumNames, GoBackAndForthInAnyCase) {
  for (Colour const colour : enum_values<Colour>)
    EXPECT_EQ(from_name<Colour>(name_of(colour)), colour);
  EXPECT_EQ(from_name<Colour>("Dark GREEN"), Colour::DarkGreen);
  EXPECT_EQ(strata::list_of_names<Colour>(), "red, dark green, blue");
}

TEST(EnumNames, RefuseWhatIsNoName) {
  for (char const* text : {"", "re", "redd", "dark", "gr\xc3\xbcn"})
    EXPECT_EQ(strata::test::message_of<ValueError>([&] { (void)from_name<Colour>(text); }),
              std::string("no colour '") + text + "'; there are red, dark green, blue");
  EXPECT_EQ(name_of(static_cast<Colour>(2)), "unknown");
}

}  // namespace
