"""Quaternions (w, x, y, z) in NumPy, with the components on the first axis: (4, ...).

Long rows and constant tables: on small batches the number of operations costs more than their
arithmetic, and rows of three or four cost more than long ones.
"""

import numpy as np


def _hamilton(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    (aw, ax, ay, az), (bw, bx, by, bz) = a, b
    return np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )


_UNITS = np.eye(4)
_INVERSE = np.array([1.0, -1.0, -1.0, -1.0])
PRODUCT = np.array([_hamilton(a, b) for a in _UNITS for b in _UNITS]).T
"""(4, 16): (a * b)_i = sum PRODUCT[i, 4j + k] a_j b_k."""
SQUARES = np.array(
    [
        [_hamilton(_hamilton(a, axis), b * _INVERSE)[1:] for axis in _UNITS[1:]]
        for a in _UNITS
        for b in _UNITS
    ]
).T.reshape(9, 16)
"""(9, 16): R_ij = sum SQUARES[3i + j, 4a + b] q_a q_b, from q * e_j * q^-1."""


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a * b: first b, then a."""
    return _combine(PRODUCT, a, b)


def conjugate(q: np.ndarray) -> np.ndarray:
    """Return the inverse of unit quaternions."""
    return np.concatenate([q[:1], -q[1:]])


def matrix(q: np.ndarray) -> np.ndarray:
    """Return the rotation matrices (3, 3, ...) of unit quaternions."""
    entries = _combine(SQUARES, q, q)
    return entries.reshape(3, 3, *entries.shape[1:])


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Rotate vectors (3, ...) by unit quaternions."""
    return np.einsum("ij...,j...->i...", matrix(q), v)


def upper(q: np.ndarray) -> np.ndarray:
    """Pick of the two quaternions of each rotation the one with w >= 0."""
    return np.where(q[0] < 0, -q, q)


def _combine(table: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the bilinear forms of a table (m, 16) in all products of components: (m, ...)."""
    products = a[:, None] * b
    forms = table.astype(products.dtype) @ products.reshape(16, -1)
    return forms.reshape(-1, *products.shape[2:])
