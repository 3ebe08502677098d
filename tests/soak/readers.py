"""All rows of `linear.py`, in the order in which they are measured."""

from __future__ import annotations

from tests.soak import call_readers as call_readers
from tests.soak import config_readers as config_readers
from tests.soak import server_readers as server_readers
from tests.soak.reader_rows import ROWS as ROWS
from tests.soak.reader_rows import Reader as Reader
