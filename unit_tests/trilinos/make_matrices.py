#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""Write the Matrix Market files that the tests of the Trilinos example read: symmetric positive definite ones of
the kinds that users have, made here since collections' files are theirs. usage: make_matrices.py FOLDER"""
import pathlib
import random
import sys


def write(path, n, entries):
    """entries: {(row, column): value} of the lower triangle, 0-based."""
    with open(path, "w", encoding="ascii") as file:
        file.write("%%MatrixMarket matrix coordinate real symmetric\n")
        file.write(f"{n} {n} {len(entries)}\n")
        for (i, j), value in sorted(entries.items()):
            file.write(f"{i + 1} {j + 1} {value!r}\n")


def laplacian(n, edges, shift):
    """Weighted graph Laplacian; `shift` on the diagonal grounds it."""
    entries = {(i, i): shift for i in range(n)}
    for i, j, weight in edges:
        entries[i, i] += weight
        entries[j, j] += weight
        place = (max(i, j), min(i, j))
        entries[place] = entries.get(place, 0.0) - weight
    return entries


def network(n, seed):
    """A power network: a tree with a few loops, admittances over three orders of magnitude."""
    draw = random.Random(seed)
    edges = [(i, draw.randrange(max(0, i - 20), i), 10 ** draw.uniform(0, 3)) for i in range(1, n)]
    for _ in range(n // 3):
        i, j = draw.sample(range(n), 2)
        edges.append((i, j, 10 ** draw.uniform(0, 3)))
    return laplacian(n, edges, 0.1)


def anisotropic(side, epsilon):
    """Five points, strong along x and weak along y."""
    entries = {}
    for y in range(side):
        for x in range(side):
            i = x + side * y
            entries[i, i] = 2 + 2 * epsilon
            if x > 0:
                entries[i, i - 1] = -1.0
            if y > 0:
                entries[i, i - side] = -epsilon
    return entries


def main():
    folder = pathlib.Path(sys.argv[1])
    for kind in ("grids", "networks"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    write(folder / "networks" / "network.mtx", 400, network(400, 1))
    write(folder / "grids" / "anisotropic.mtx", 900, anisotropic(30, 0.01))


if __name__ == "__main__":
    main()
