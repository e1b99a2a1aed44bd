// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
// A LAPACK that tells itself from others by info, and whose dposv calls dpotrf by its name, as the
// reference does.
extern "C" {

__attribute__((visibility("default"))) void dpotrf_(char const*, int const*, double*, int const*,
                                                    int* info) {
  *info = 4242;
}

__attribute__((visibility("default"))) void dposv_(char const* uplo, int const* n, int const*,
                                                   double* A, int const* lda, double*, int const*,
                                                   int* info) {
  dpotrf_(uplo, n, A, lda, info);
  *info += 1;
}

}  // extern "C"
