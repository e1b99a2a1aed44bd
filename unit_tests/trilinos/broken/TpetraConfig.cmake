# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# As Debian's package without the others that it includes: CMake ends here, whoever asks.
include(${CMAKE_CURRENT_LIST_DIR}/../Teuchos/TeuchosConfig.cmake)
