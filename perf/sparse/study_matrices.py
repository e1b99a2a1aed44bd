# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
"""The families of matrices that study.py knows, as functions of the arguments that its list has."""
import numpy as np
import scipy.sparse as sp
import scipy.spatial


def _line(n):
    return sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))


def grid7(random, nx, ny, nz, x=1.0, y=1.0, z=1.0):
    """-div K grad with couplings x, y, z along the axes, values fixed outside."""
    parts = [k * _line(int(n)) if n > 1 else sp.csr_matrix((1, 1)) for k, n in ((z, nz), (y, ny), (x, nx))]
    return sp.kronsum(sp.kronsum(parts[2], parts[1]), parts[0])


def _couplings(ends, weights, n, fixed):
    """A graph's Laplacian, and `fixed` added to its diagonal."""
    i, j = ends
    off = sp.coo_matrix((-weights, (i, j)), shape=(n, n))
    off = off + off.T
    return off + sp.diags(-np.asarray(off.sum(axis=1)).ravel() + fixed)


def _faces(shape):
    number = np.arange(np.prod(shape)).reshape(shape)
    pairs = [(np.take(number, range(n - 1), axis), np.take(number, range(1, n), axis)) for axis, n in enumerate(shape)]
    return np.concatenate([a.ravel() for a, _ in pairs]), np.concatenate([b.ravel() for _, b in pairs])


def _by_cells(shape, k):
    """Harmonic means of the permeabilities k of cells, those at the first one's layer held."""
    i, j = _faces(shape)
    fixed = np.zeros(shape)
    fixed[0] = k.reshape(shape)[0]
    return _couplings((i, j), 2 * k[i] * k[j] / (k[i] + k[j]), k.size, fixed.ravel())


def jump(random, m, ratio):
    m = int(m)
    inside = np.zeros((m, m, m), bool)
    inside[m // 4:3 * m // 4, m // 4:3 * m // 4, m // 4:3 * m // 4] = True
    return _by_cells((m, m, m), np.where(inside.ravel(), ratio, 1.0))


def checkerboard(random, m, ratio):
    m = int(m)
    x, y = np.meshgrid(np.arange(m) * 8 // m, np.arange(m) * 8 // m)
    return _by_cells((m, m), np.where((x + y) % 2 == 0, 1.0, ratio).ravel())


def reservoir(random, nx, ny, nz, sigma):
    shape = (int(nz), int(ny), int(nx))
    return _by_cells(shape, np.exp(sigma * random.standard_normal(int(np.prod(shape)))))


def rotated(random, m, eps):
    """Anisotropy of ratio eps at 30 degrees, by bilinear elements."""
    m, c, s = int(m), np.cos(np.pi / 6), np.sin(np.pi / 6)
    K = np.array([[c * c + eps * s * s, (1 - eps) * c * s], [(1 - eps) * c * s, s * s + eps * c * c]])
    mass, stiff = sp.diags([1.0, 4.0, 1.0], [-1, 0, 1], shape=(m, m)) / 6, _line(m)
    slope = sp.diags([-0.5, 0.5], [-1, 1], shape=(m, m))
    return K[0, 0] * sp.kron(mass, stiff) + K[1, 1] * sp.kron(stiff, mass) - 2 * K[0, 1] * sp.kron(slope, slope)


def _simplices(random, n, dimension, power):
    points = random.random((int(n), dimension)) ** power
    return points, scipy.spatial.Delaunay(points).simplices


def _linear_elements(points, cells):
    """Linear elements for Poisson on simplices; ten points are held."""
    d = points.shape[1]
    edges = points[cells[:, 1:]] - points[cells[:, :1]]
    volume = np.abs(np.linalg.det(edges))
    cells, edges, volume = cells[volume > 1e-14], edges[volume > 1e-14], volume[volume > 1e-14]
    inner = np.swapaxes(np.linalg.inv(edges), 1, 2)
    slopes = np.concatenate([-inner.sum(axis=1, keepdims=True), inner], axis=1)
    local = np.einsum("cid,cjd,c->cij", slopes, slopes, volume)
    rows = np.repeat(cells, d + 1, axis=1).ravel()
    columns = np.tile(cells, (1, d + 1)).ravel()
    A = sp.coo_matrix((local.ravel(), (rows, columns)), shape=(len(points),) * 2).tocsr()
    held = np.zeros(len(points))
    held[:: max(1, len(points) // 10)] = A.diagonal().mean()
    return A + sp.diags(held)


def triangles(random, n):
    return _linear_elements(*_simplices(random, n, 2, 3))


def tetrahedra(random, n):
    return _linear_elements(*_simplices(random, n, 3, 2))


def plate(random, m):
    P = grid7(random, m, m, 1).tocsr()
    return P @ P


def elasticity(random, nx, ny, nz, nu=0.3):
    """Trilinear elements, three unknowns a node, held at x = 0."""
    lam, mu = nu / ((1 + nu) * (1 - 2 * nu)), 0.5 / (1 + nu)
    D = np.diag([lam + 2 * mu] * 3 + [mu] * 3)
    D[:3, :3] += lam * (1 - np.eye(3))
    corners = np.array([(i, j, k) for k in (0, 1) for j in (0, 1) for i in (0, 1)])
    K = np.zeros((24, 24))
    for g in np.array(np.meshgrid(*[[0.5 - 0.5 / np.sqrt(3), 0.5 + 0.5 / np.sqrt(3)]] * 3)).reshape(3, 8).T:
        N = [np.where(corners[:, a] == 1, g[a], 1 - g[a]) for a in range(3)]
        sign = 2 * corners - 1
        G = np.stack([sign[:, a] * N[(a + 1) % 3] * N[(a + 2) % 3] for a in range(3)])
        B = np.zeros((6, 24))
        for a in range(3):
            B[a, a::3] = G[a]
        for row, (a, b) in enumerate(((1, 2), (0, 2), (0, 1)), start=3):
            B[row, a::3], B[row, b::3] = G[b], G[a]
        K += B.T @ D @ B / 8
    nx, ny, nz = int(nx), int(ny), int(nz)
    number = np.arange(nx * ny * nz).reshape(nz, ny, nx)
    nodes = np.stack([number[k:nz - 1 + k, j:ny - 1 + j, i:nx - 1 + i].ravel() for i, j, k in corners], axis=1)
    unknowns = (3 * nodes[:, :, None] + np.arange(3)).reshape(len(nodes), 24)
    rows, columns = np.repeat(unknowns, 24, axis=1).ravel(), np.tile(unknowns, (1, 24)).ravel()
    A = sp.coo_matrix((np.tile(K.ravel(), len(nodes)), (rows, columns)), shape=(3 * nx * ny * nz,) * 2).tocsr()
    free = np.flatnonzero(np.repeat((number % nx > 0).ravel(), 3))
    return A[free][:, free]


def _flow(m, eps, step):
    line = eps * _line(m) * m * m + step * m
    return sp.kronsum(line, line)


def upwind(random, m, eps):
    return _flow(int(m), eps, sp.diags([-1.0, 1.0], [-1, 0], shape=(int(m), int(m))))


def central(random, m, eps):
    return _flow(int(m), eps, sp.diags([-0.5, 0.5], [-1, 1], shape=(int(m), int(m))))


def vortex(random, m, peclet):
    """Upwind differences for a flow that turns, with a cell Peclet number of at most `peclet`."""
    m = int(m)
    x = (np.arange(m) + 0.5) / m
    X, Y = np.meshgrid(x, x)
    A = grid7(random, m, m, 1).tolil()
    u = (2 * peclet * (2 * Y - 1) * (1 - (2 * X - 1) ** 2)).ravel()
    v = (-2 * peclet * (2 * X - 1) * (1 - (2 * Y - 1) ** 2)).ravel()
    n = np.arange(m * m)
    entries = [(n, n, np.abs(u) + np.abs(v))]
    for speed, step, position in ((u, 1, n % m), (v, m, n // m)):
        for sign in (1, -1):
            here = (speed * sign > 0) & (position - sign >= 0) & (position - sign < m)
            entries.append((n[here], n[here] - sign * step, -np.abs(speed[here])))
    i, j, a = (np.concatenate(part) for part in zip(*entries))
    return A.tocsr() + sp.coo_matrix((a, (i, j)), shape=A.shape)


def shifted(random, m, factor):
    """Poisson less `factor` times its least eigenvalue: indefinite from 1 on."""
    m = int(m)
    least = 8 * np.sin(np.pi / (2 * (m + 1))) ** 2
    return grid7(random, m, m, 1) - factor * least * sp.identity(m * m)


def units(random, m, decades):
    A = grid7(random, m, m, 1)
    return sp.diags(10.0 ** random.uniform(-decades, decades, A.shape[0])) @ A


def saddle(random, m):
    A = grid7(random, m, m, 1)
    n = A.shape[0]
    pairs = np.arange(n - n % 2)
    B = sp.coo_matrix((np.where(pairs % 2 == 0, 1.0, -0.5), (pairs // 2, pairs)), shape=(n // 2, n))
    return sp.bmat([[A, B.T], [B, None]])


def near_singular(random, m, held):
    m = int(m)
    i, j = _faces((m, m))
    fixed = np.zeros(m * m)
    fixed[0] = held
    return _couplings((i, j), np.ones(i.size), m * m, fixed)


def penalties(random, m, size):
    A = grid7(random, m, m, 1)
    return A + sp.diags(np.where(np.arange(A.shape[0]) < m, size, 0.0))


def power_law(random, n):
    """Each vertex is coupled with four others, those of small numbers more often; one in a hundred is held."""
    n = int(n)
    i = np.repeat(np.arange(1, n), 4)
    j = (i * random.random(i.size) ** 2).astype(np.int64)
    return _couplings((i, j), random.uniform(1, 10, i.size), n, np.where(np.arange(n) % 100 == 0, 1.0, 0.0))


def small_world(random, n):
    n = int(n)
    i = np.repeat(np.arange(n), 3)
    j = (i + np.tile([1, 2, 3], n)) % n
    moved = random.random(i.size) < 0.1
    j = np.where(moved, random.integers(0, n, i.size), j)
    keep = i != j
    return _couplings((i[keep], j[keep]), random.uniform(1, 100, i.size)[keep], n, np.where(np.arange(n) == 0, 1.0, 0.0))


def cross(random, m):
    """Poisson with one row and one column that couple all unknowns."""
    A = grid7(random, m, m, 1).tolil()
    n = A.shape[0]
    A[0, 1:], A[1:, 0], A[0, 0] = -0.01, -0.01, 0.02 * n
    return A


def shift(random, n, by):
    """A permutation with weights: no diagonal."""
    n, by = int(n), int(by)
    i = np.arange(n)
    return sp.coo_matrix((1 + 0.1 * (i % 7), (i, (i + by) % n)), shape=(n, n))


FAMILIES = {name: f for name, f in list(globals().items()) if callable(f) and not name.startswith("_")}


def read_list(path):
    """The lines of a list: name, family, arguments."""
    lines = (line.split("#")[0].split() for line in open(path, encoding="utf-8"))
    return [(words[0], words[1], [float(word) for word in words[2:]]) for words in lines if words]


def make(family, arguments, seed):
    """A matrix in CSR with sorted columns and without zeros."""
    A = sp.csr_matrix(FAMILIES[family](np.random.default_rng(seed), *arguments))
    A.sum_duplicates()
    A.eliminate_zeros()
    A.sort_indices()
    return A
