"""A largest set of pairs, each row and each column in one at most (augmenting paths, without recursion)."""

from __future__ import annotations

from collections.abc import Collection

Edge = tuple[int, int]


def maximum_matching(rows: int, columns: int, edges: Collection[Edge]) -> list[Edge]:
    """Pairs of (row, column), by row."""
    flipped = rows > columns
    if flipped:
        edges = [(column, row) for row, column in edges]
        rows, columns = columns, rows
    neighbours: list[list[int]] = [[] for _ in range(rows)]
    for row, column in sorted(edges):
        neighbours[row].append(column)
    owner: dict[int, int] = {}
    for row in range(rows):
        free = next((column for column in neighbours[row] if column not in owner), None)
        if free is not None:
            owner[free] = row
    for row in range(rows):
        if row not in owner.values():
            _augment(row, neighbours, owner)
    return sorted((column, row) if flipped else (row, column) for column, row in owner.items())


def _augment(start: int, neighbours: list[list[int]], owner: dict[int, int]) -> None:
    """Give `start` a column by moving others along a shortest path, if there is one."""
    came_from: dict[int, int] = {}
    frontier = [start]
    while frontier:
        following = []
        for row in frontier:
            for column in neighbours[row]:
                if column in came_from:
                    continue
                came_from[column] = row
                if column not in owner:
                    _shift(column, start, came_from, owner)
                    return
                following.append(owner[column])
        frontier = following


def _shift(column: int, start: int, came_from: dict[int, int], owner: dict[int, int]) -> None:
    held = {row: taken for taken, row in owner.items()}
    while True:
        row = came_from[column]
        owner[column] = row
        if row == start:
            return
        column = held[row]
