"""Finds the tokens that close a tag in sampled ids, without encoding any text again."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def closing_places(decode: Callable[[Sequence[int]], str], ids: Sequence[int], closing: str) -> list[int]:
    """Returns the index of the token with which each occurrence of `closing` is complete in the decoded text, in order.

    Occurrences in a longer beginning of the ids are never fewer, so each place is found by halves: n log n decoded ids, no alignment of text and tokens.
    """
    places: list[int] = []
    for count in range(1, decode(ids).count(closing) + 1):
        low, high = (places[-1] + 1 if places else 1), len(ids)
        while low < high:
            middle = (low + high) // 2
            if decode(ids[:middle]).count(closing) >= count:
                high = middle
            else:
                low = middle + 1
        places.append(low - 1)
    return places
