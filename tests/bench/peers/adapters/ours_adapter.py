"""The daemon's own rankers, in process. Argument: the ranker's name."""

import sys
from pathlib import Path

from peer_protocol import serve

sys.path.insert(0, str(Path(__file__).parents[4]))

from tests.bench.evaluate_adapter import factory

serve(lambda tools: factory(tools, sys.argv[1]))
