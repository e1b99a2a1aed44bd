// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#include <dense/tree/Strata_Layers.hpp>

#include <gtest/gtest.h>

namespace {

using namespace strata;
using namespace strata::dense;

TEST(Layers, LastLayerGoesOnForever) {
  LayerList const layers = Layers<fp8_e4m3, fp16, fp32>::list();
  EXPECT_EQ(layers.at_depth(0), Precision::fp8_e4m3);
  EXPECT_EQ(layers.at_depth(1), Precision::fp16);
  EXPECT_EQ(layers.at_depth(2), Precision::fp32);
  EXPECT_EQ(layers.at_depth(40), Precision::fp32);
  EXPECT_EQ(layers.leaf(), Precision::fp32);
  EXPECT_EQ(layers.unit_roundoff(), 0x1p-4);
}

TEST(Layers, NamesAreReadBack) {
  for (LayerList const& layers : studied_layer_lists())
    EXPECT_EQ(LayerList::parse(layers.name()), layers);
}

TEST(Layers, AreReadInShortInAnyCaseAndWithBlanks) {
  LayerList const expected{Precision::fp16, Precision::fp16, Precision::fp8_e4m3, Precision::fp32};
  for (char const* text : {"fp16,fp16,fp8_e4m3,fp32", "fp16x2,fp8_e4m3,fp32",
                           " FP16x2, fp8_E4M3 ,Fp32", "fp16X1,fp16x1,fp8_e4m3x1,fp32\t"})
    EXPECT_EQ(LayerList::parse(text), expected) << text;
  EXPECT_EQ(LayerList::parse("bf16x32").size(), 32);
}

TEST(Layers, NamesWithAnXAreReadAsNames) {
  EXPECT_EQ(LayerList::parse("int8x9"), LayerList{Precision::int8x9});
  EXPECT_EQ(LayerList::parse("INT8X12x2,fp64").name(), "int8x12,int8x12,fp64");
  EXPECT_EQ(LayerList::parse("fp64_int8x3").name(), "int8x14,int8x14,int8x14");
  EXPECT_THROW((void)LayerList::parse("int8x5"), ValueError);
  EXPECT_THROW((void)LayerList::parse("int8x17"), ValueError);
  EXPECT_TRUE(LayerList::parse("fp64_int8,int8x16,fp64").is_as_fp64());
  EXPECT_FALSE(LayerList::parse("int8x13").is_as_fp64());
  EXPECT_FALSE(LayerList::parse("fp64_int8").is_fp64());
}

TEST(Layers, PromotionEndsInFp64) {
  LayerList layers{Precision::fp8_e4m3, Precision::bf16, Precision::fp32, Precision::fp64};
  EXPECT_EQ(layers.promoted().name(), "fp16,fp32,fp64,fp64");
  EXPECT_FALSE(layers.promoted().promoted().is_fp64());
  EXPECT_TRUE(layers.promoted().promoted().promoted().is_fp64());
  EXPECT_EQ(LayerList::parse("fp16,tf32,fp16_split").promoted().name(), "fp32,fp32,fp64");
  EXPECT_EQ(LayerList::parse("int8x8,int8x9,int8x13").promoted().name(), "int8x11,int8x14,fp64");
}

TEST(Layers, SaysWhatIsWrong) {
  EXPECT_THROW(LayerList(std::vector<Precision>{}), ValueError);
  EXPECT_THROW(LayerList(std::vector<Precision>(33, Precision::fp16)), ValueError);
  for (char const* text : {"", "fp16,", ",fp16", "fp16,half", "fp 16", "x2", " "}) {
    try {
      (void)LayerList::parse(text);
      ADD_FAILURE() << text;
    } catch (ValueError const& error) {
      EXPECT_NE(std::string(error.what()).find("there are fp64, fp32"), std::string::npos)
          << error.what();
    }
  }
  for (char const* text : {"fp16x", "fp16x0", "fp16x33", "fp16x-1", "fp16x2x2", "fp32,fp16x 2"}) {
    try {
      (void)LayerList::parse(text);
      ADD_FAILURE() << text;
    } catch (ValueError const& error) {
      EXPECT_NE(std::string(error.what()).find("': the x must be followed by a number of 1 to 32"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
