"""Writes the archives that npz_test.cpp reads: python3 record.py, with NumPy 2.

Every array has values that the test calculates anew: element i of an array, in C order, is i * factor % modulus.
"""

import os

import numpy

here = os.path.dirname(os.path.abspath(__file__))


def values(shape, factor, modulus, dtype):
    count = int(numpy.prod(shape))
    return (numpy.arange(count, dtype="int64") * factor % modulus).reshape(shape).astype(dtype)


def path(name):
    return os.path.join(here, name)


def main():
    ids = values((6, 5), 7, 31, "<i8")
    mask = values((6, 5), 3, 2, "|i1")
    pictures = values((6, 2, 3), 5, 64, "<f4")
    labels = values((6,), 2, 5, "<i8")
    both = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    numpy.savez(path("stored.npz"), **both)
    numpy.savez_compressed(path("compressed.npz"), **both)
    numpy.savez(
        path("forms.npz"),
        pictures=numpy.asfortranarray(pictures),
        swapped=pictures.astype(">f4"),
        start=values((6, 1), 2, 5, "<i4"),
        end=values((6,), 3, 7, "<u2"),
        target=values((6,), 1, 6, "<f8"),
    )
    numpy.savez(path("positional.npz"), pictures, labels)
    numpy.savez(path("objects.npz"), x=numpy.array([[1], [1, 2]], dtype=object), labels=labels[:2])


if __name__ == "__main__":
    main()
