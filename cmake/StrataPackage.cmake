# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Install and export: StrataConfig.cmake for the install tree and the build tree.
