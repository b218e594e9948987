"""Tests of captured standard error: both ends are kept, the middle is counted, memory is bounded."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from arena.referee.process import BoundedLog


def test_a_short_stream_is_kept_completely() -> None:
    """Up to twice the kept size nothing is omitted, so there is no line about it."""
    capture = BoundedLog(kept=4)
    capture.feed(b"abcd")
    capture.feed(b"")
    capture.feed(b"efgh")
    assert capture.render() == b"abcdefgh"


def test_the_middle_of_a_long_stream_is_counted_and_left_out() -> None:
    """The result is head, a separate line with the count, and tail."""
    capture = BoundedLog(kept=4)
    capture.feed(b"abcdefghij")
    assert capture.render() == b"abcd\n[... 2 bytes left out ...]\nghij"
    assert capture.total == 10


def test_a_head_that_ends_its_line_gets_no_empty_line() -> None:
    capture = BoundedLog(kept=4)
    capture.feed(b"abc\n012345678")
    assert capture.render() == b"abc\n[... 5 bytes left out ...]\n5678"


def test_a_log_marker_has_its_own_line() -> None:
    capture = BoundedLog()
    capture.mark("--- game 0 ---")
    capture.feed(b"half a line")
    capture.mark("--- game 1 ---")
    capture.feed(b"a line\n")
    capture.mark("--- game 2 ---")
    assert capture.render() == b"--- game 0 ---\nhalf a line\n--- game 1 ---\na line\n--- game 2 ---\n"


def test_memory_is_bounded_in_a_match_of_any_length() -> None:
    big = b"x" * 640_000
    tracemalloc.start()
    try:
        capture = BoundedLog()
        for game in range(5_000):
            capture.mark(f"--- game {game} ---")
            capture.feed(b"y")
        capture.feed(big)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 200_000
    assert 65_536 < len(capture.render()) < 65_600


@given(st.lists(st.binary(max_size=20)), st.integers(min_value=1, max_value=16))
def test_the_result_does_not_depend_on_chunks(chunks: list[bytes], kept: int) -> None:
    capture = BoundedLog(kept)
    for chunk in chunks:
        capture.feed(chunk)
    whole = b"".join(chunks)
    left_out = len(whole) - 2 * kept
    if left_out <= 0:
        assert capture.render() == whole
    else:
        assert capture.render().startswith(whole[:kept])
        assert capture.render().endswith(b"[... %d bytes left out ...]\n" % left_out + whole[-kept:])


def test_a_log_marker_is_written_before_the_next_output_only() -> None:
    capture = BoundedLog()
    capture.pending_marker = "--- turn 1 ---"
    capture.pending_marker = "--- turn 2 ---"
    capture.feed(b"hm")
    capture.feed(b"\n")
    capture.pending_marker = "--- turn 3 ---"
    capture.feed(b"")
    capture.mark("--- game 1 ---")
    assert capture.render() == b"--- turn 2 ---\nhm\n--- game 1 ---\n"
