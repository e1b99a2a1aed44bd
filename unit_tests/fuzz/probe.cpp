// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// Whether the compiler has libFuzzer and AddressSanitizer.
extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }
