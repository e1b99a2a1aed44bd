# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# For Fish; the program writes it, so that it is never out of date.
strata completion fish | source
