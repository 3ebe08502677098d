"""The reference system's search as it runs there: catalog and statistics anew for every call.

Written from its description: ASCII runs, English stems, BM25 over one text, the rarest word gates, half of
the answerable words are asked for from four on, equal scores in catalog order.
"""

import functools
import math
import re
from collections import Counter

import snowballstemmer
from peer_protocol import id_of, parameters_of, serve

K1, B = 1.5, 0.75
RUNS = re.compile(r"[A-Za-z0-9]+")
SEPARATORS = str.maketrans("_.:-", "    ")
stemmer = snowballstemmer.stemmer("english")


@functools.lru_cache(16_384)
def stem(word):
    return stemmer.stemWord(word)


def tokens_of(text):
    return [stem(run.lower()) for run in RUNS.findall(text)]


def exposed_name(tool):
    server, name = (re.sub(r"[^A-Za-z0-9_]", "_", tool[key]) for key in ("server", "name"))
    return f"mcp__{server}__{name}"


def text_of(tool):
    name = exposed_name(tool).removeprefix("mcp__").translate(SEPARATORS)
    label = [] if tool["server"] in name.split(" ") else [tool["server"]]
    return " ".join([name, *label, tool.get("description") or "", *parameters_of(tool)])


def ranked(tools, query, limit):
    """Places of the tools found, best first."""
    wanted = tokens_of(query)
    if not tools or not wanted or limit <= 0:
        return []
    documents = [Counter(tokens_of(text_of(tool))) for tool in tools]
    lengths = [sum(document.values()) for document in documents]
    mean = max(1.0, sum(lengths) / len(lengths))
    frequencies = Counter(token for document in documents for token in document)
    idf = {
        token: math.log(1 + (len(tools) - frequencies[token] + 0.5) / (frequencies[token] + 0.5))
        for token in wanted
    }
    gate = max(wanted, key=lambda token: idf[token])
    answerable = {token for token in wanted if frequencies[token]}
    required = math.ceil(len(answerable) / 2) if len(answerable) >= 4 else 1
    exact = query.strip().lower()
    scored = []
    for place, document in enumerate(documents):
        if exposed_name(tools[place]).lower() == exact:
            scored.append((-math.inf, place))
        elif gate in document and sum(token in document for token in answerable) >= required:
            norm = K1 * (1 - B + B * lengths[place] / mean)
            score = sum(idf[t] * document[t] * (K1 + 1) / (document[t] + norm) for t in wanted)
            scored.append((-score, place))
    return [place for _, place in sorted(scored)[:limit]]


def build(tools):
    servers = {}  # a server's tools stand together
    for tool in tools:
        servers.setdefault(tool["server"], []).append(tool)
    catalog = [tool for of_server in servers.values() for tool in of_server]
    return lambda query, limit: [id_of(catalog[place]) for place in ranked(catalog, query, limit)]


if __name__ == "__main__":
    serve(build)
