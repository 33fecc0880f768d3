"""Makes an index of a corpus, and searches it. What is made lies in a folder: `manifest.json`, `vectors/`, `index.faiss`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .corpus import Corpus
from .encoder import Encoder, Reading, digest_of, fingerprint_model

MANIFEST, INDEX, VECTORS = "manifest.json", "index.faiss", "vectors"
REVISION = 1  # raised when the same corpus, model and settings come to other vectors


@dataclass(frozen=True)
class Shape:
    """What the index is: `flat` compares with every vector; `hnsw` is a graph of neighbours, faster and not exact."""

    kind: str = "flat"
    neighbours: int = 32
    ef_construction: int = 200
    ef_search: int = 128

    def __post_init__(self) -> None:
        if self.kind not in ("flat", "hnsw"):
            raise ValueError(f"the index must be flat or hnsw, not {self.kind!r}")


def index_corpus(corpus_path: str | os.PathLike[str], model: str | os.PathLike[str], out: Any, *, reading: Reading = Reading(), shape: Shape = Shape(), shard: int = 10_000, device: Any = None, said: Any = None) -> dict[str, Any]:
    """Makes the index of a corpus in a folder. Ended in the middle, the same call goes on behind the last whole shard of vectors; done
    already, it does nothing. Returns the manifest. Raises ValueError where the folder holds what another corpus, model or setting makes."""
    said = said or (lambda line: print(line, file=sys.stderr, flush=True))
    wanted = {
        "revision": REVISION,
        "corpus": digest_of(corpus_path),
        "model": fingerprint_model(model),
        "reading": asdict(reading),
        "shape": asdict(shape),
        "shard": shard,
    }
    os.makedirs(os.path.join(out, VECTORS), exist_ok=True)
    manifest = _manifest_of(out)
    differing = [name for name in wanted if manifest and manifest["made_from"][name] != wanted[name]]
    if differing:
        raise ValueError(f"{out} holds an index of another {' and '.join(differing)}: name another folder, or remove it")
    if manifest and "fingerprint" in manifest:
        said(f"{out} holds the index of {manifest['documents']} documents already")
        return dict(manifest)
    corpus = Corpus(corpus_path)
    places = {"corpus_path": os.path.abspath(corpus_path), "model_path": os.path.abspath(model)}
    started = {"made_from": wanted, **places, "documents": len(corpus)}
    _write(os.path.join(out, MANIFEST), json.dumps(started, indent=2).encode())
    _embed(corpus, Encoder(model, reading, device), out, shard, said)
    dimension = _build(out, shape, said)
    finished = {**started, "dimension": dimension, "fingerprint": digest_of(os.path.join(out, INDEX))}
    _write(os.path.join(out, MANIFEST), json.dumps(finished, indent=2).encode())
    said(f"indexed {len(corpus)} documents: {finished['fingerprint']}")
    return finished


def _embed(corpus: Any, encoder: Any, out: Any, shard: int, said: Any) -> None:
    """Writes the vectors of a corpus, shard by shard; a shard is there as a whole or not at all."""
    import io

    import numpy

    for start in range(0, len(corpus), shard):
        path = os.path.join(out, VECTORS, f"{start // shard:06d}.npy")
        if os.path.exists(path):
            continue
        end = min(start + shard, len(corpus))
        vectors = encoder.passages([document["contents"] for document in corpus.read(range(start, end))])
        if not numpy.isfinite(vectors).all():
            raise ValueError(f"the model returns vectors that are not finite, in documents {start + 1} to {end}")
        packed = io.BytesIO()
        numpy.save(packed, vectors)
        _write(path, packed.getvalue())
        said(f"embedded {end} of {len(corpus)} documents")


def _build(out: Any, shape: Shape, said: Any) -> int:
    import faiss
    import numpy

    shards = [os.path.join(out, VECTORS, name) for name in sorted(os.listdir(os.path.join(out, VECTORS))) if name.endswith(".npy")]
    dimension = numpy.load(shards[0], mmap_mode="r").shape[1]
    if shape.kind == "flat":
        index: Any = faiss.IndexFlatIP(dimension)
    else:
        index = faiss.IndexHNSWFlat(dimension, shape.neighbours, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = shape.ef_construction
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # by several threads the graph depends on which came first
    try:
        for number, path in enumerate(shards):
            index.add(numpy.load(path))
            said(f"indexed shard {number + 1} of {len(shards)}")
    finally:
        faiss.omp_set_num_threads(threads)
    _write(os.path.join(out, INDEX), faiss.serialize_index(index).tobytes())
    return int(dimension)


class DenseIndex:
    """An index that was made, with its corpus and its encoder. `fingerprint` changes with anything that changes an answer."""

    def __init__(self, folder: Any, *, corpus: Any = None, model: str | os.PathLike[str] | None = None, device: Any = None) -> None:
        import faiss

        manifest = _manifest_of(folder)
        if not manifest or "fingerprint" not in manifest:
            raise ValueError(f"{folder} holds no whole index: make it by `python -m espalier_rl index-corpus`, which goes on where it ended")
        made = manifest["made_from"]
        corpus, model = corpus or manifest["corpus_path"], model or manifest["model_path"]
        for name, found, wanted in (
            (corpus, digest_of(corpus), made["corpus"]),
            (model, fingerprint_model(model), made["model"]),
            (os.path.join(folder, INDEX), digest_of(os.path.join(folder, INDEX)), manifest["fingerprint"]),
        ):
            if found != wanted:
                raise ValueError(f"{name} is not what the index was made with (SHA-256 {found[:16]}…, not {wanted[:16]}…): put it back, or index again")
        self.fingerprint = manifest["fingerprint"][:32] + made["model"][:32]
        self._corpus, self._encoder = Corpus(corpus), Encoder(model, Reading(**made["reading"]), device)
        index: Any = faiss.read_index(os.path.join(folder, INDEX))
        if made["shape"]["kind"] == "hnsw":
            index.hnsw.efSearch = made["shape"]["ef_search"]
        self._index = index

    def __len__(self) -> int:
        return len(self._corpus)

    def search(self, queries: Sequence[str], count: int) -> list[list[tuple[dict[str, Any], float]]]:
        """Returns for each query its best documents and their scores, best first: [[(document, score), …], …]."""
        count = min(count, len(self._corpus))
        scores, numbers = self._index.search(self._encoder.queries(queries), count)
        found = []
        for row, near in zip(scores, numbers):
            ranked = sorted(((float(score), int(number)) for score, number in zip(row, near) if number >= 0), key=lambda hit: (-hit[0], hit[1]))
            found.append(list(zip(self._corpus.read([number for _, number in ranked]), [score for score, _ in ranked])))
        return found


def _manifest_of(folder: Any) -> Any:
    path = os.path.join(folder, MANIFEST)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _write(path: Any, data: Any) -> None:
    """Writes a file as a whole: one that was ended in the middle is not there."""
    with open(f"{path}.part", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.part", path)
