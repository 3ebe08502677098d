"""Who is measured: what each needs, which adapter asks it, and up to how many tools it is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """`requirements`: what pip installs into the peer's own environment; none: ours serves."""

    name: str
    adapter: str
    arguments: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    most_tools: int | None = None
    because: str = ""  # why not more
    answers_as: str = ""  # a peer that gives the same answers: only the speed is worth measuring


OURS = "default"

PEERS = (
    Peer(OURS, "ours", ("default",)),
    Peer("default-ahead", "ours", ("default", "ahead"), answers_as=OURS),
    Peer("hermes", "ours", ("hermes",)),
    Peer("reference", "reference", answers_as="hermes"),  # as test_bench_peers.py finds
    Peer("bm25s", "bm25s", requirements=("bm25s==0.3.16", "PyStemmer==3.1.0")),
    Peer("tantivy", "tantivy", requirements=("tantivy==0.27.0",)),
    Peer("rank-bm25", "rank_bm25", requirements=("rank-bm25==0.2.2", "PyStemmer==3.1.0")),
    Peer("sqlite-fts5", "sqlite_fts5"),
    Peer(
        "fastmcp",
        "fastmcp",
        requirements=("fastmcp==4.2.3",),
        most_tools=20_500,
        because="registering takes 50 s for 10,000 tools and grows with their square",
    ),
    Peer("pydantic-ai", "pydantic_ai", requirements=("pydantic-ai-slim==2.68.0",)),
)
