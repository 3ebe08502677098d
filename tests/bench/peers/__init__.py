"""Retrieval beside its peers: how good are their answers and ours, and what does an answer cost?

`python -m tests.bench.peers [--data DIR]`. Each peer lives in a virtual environment of its own and answers
over JSON lines (`adapters/peer_protocol.py`); all run side by side in one run.
"""
