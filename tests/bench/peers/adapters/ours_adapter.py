"""The daemon's own rankers, in process. Arguments: the ranker's name, and `ahead` to make all at build."""

import sys
from pathlib import Path

from peer_protocol import serve

sys.path.insert(0, str(Path(__file__).parents[4]))

from tests.bench.evaluate_adapter import factory

ranker, *more = sys.argv[1:]
serve(lambda tools: factory(tools, ranker, ahead="ahead" in more))
