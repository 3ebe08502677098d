"""Loading the SDK happens once, however often servers start."""

import gc

from toolsearchd.upstream.sdk import load_sdk


async def test_a_servers_start_freezes_nothing_once_the_sdk_is_there():
    await load_sdk()
    gc.collect()
    frozen = gc.get_freeze_count()
    kept = [[] for _ in range(10_000)]
    await load_sdk()
    assert gc.get_freeze_count() <= frozen
    assert len(kept) == 10_000
