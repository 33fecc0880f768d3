"""The dense retriever with the real faiss and an encoder of transformers with random weights: compared with brute force, killed, served."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request
from pathlib import Path

import numpy
import torch

from espalier_rl.retrieval.corpus import Corpus
from espalier_rl.retrieval.encoder import Encoder, Reading
from espalier_rl.retrieval.index import DenseIndex, Shape, index_corpus
from espalier_rl.retrieval.serve import make_index_server

from .tiny_encoder import write_encoder

WORDS = "river mountain capital poet king bridge castle harbour forest city island lake born died wrote built".split()
DOCUMENTS = 100
QUERIES = ["who built the castle", "river", "a poet born on the island", "capital city"]


def write_corpus(path, count):
    """Writes documents of a few words each, all different."""
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            words = " ".join(WORDS[(number * 7 + i * i) % len(WORDS)] for i in range(3 + number % 5))
            file.write(json.dumps({"id": f"d{number}", "contents": f'"Title {number}"\n{words} {number}'}) + "\n")


class Retrieval(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.home = Path(folder.name)
        cls.model, cls.corpus = str(cls.home / "model"), str(cls.home / "corpus.jsonl")
        write_encoder(cls.model)
        write_corpus(cls.corpus, DOCUMENTS)
        torch.set_num_threads(1)  # on a loaded machine several threads wait for each other

    def made(self, name, **settings):
        out = str(self.home / name)
        index_corpus(self.corpus, self.model, out, shard=32, said=lambda _: None, **settings)
        return out

    def test_a_flat_index_finds_what_brute_force_finds(self):
        for prefixes, pooling in (("e5", "mean"), ("bge", "cls")):
            reading = Reading(prefixes, pooling)
            index = DenseIndex(self.made(f"flat-{prefixes}", reading=reading))
            vectors = self.by_hand([document["contents"] for document in Corpus(self.corpus).read(range(DOCUMENTS))], reading, 1)
            asked = self.by_hand(QUERIES, reading, 0)
            for query, found in zip(asked, index.search(QUERIES, 5)):
                scores = vectors @ query
                self.assertEqual([document["id"] for document, _ in found], [f"d{n}" for n in numpy.argsort(-scores, kind="stable")[:5]])
                numpy.testing.assert_allclose([score for _, score in found], numpy.sort(scores)[::-1][:5], atol=1e-5)

    def by_hand(self, texts, reading, side):
        """Embeds one text at a time, without padding."""
        from transformers import AutoModel, AutoTokenizer

        prefix = {"e5": ("query: ", "passage: "), "bge": ("Represent this sentence for searching relevant passages: ", "")}[reading.prefixes][side]
        tokenizer, model = AutoTokenizer.from_pretrained(self.model), AutoModel.from_pretrained(self.model).eval()
        vectors = []
        for text in texts:
            with torch.no_grad():
                states = model(**tokenizer(prefix + text, return_tensors="pt", truncation=True, max_length=256)).last_hidden_state[0]
            pooled = (states[0] if reading.pooling == "cls" else states.mean(dim=0)).numpy()
            vectors.append(pooled / numpy.linalg.norm(pooled))
        return numpy.stack(vectors)

    def test_a_graph_of_neighbours_finds_most_of_what_a_flat_index_finds_and_is_the_same_when_made_again(self):
        first, again = self.made("graph", shape=Shape("hnsw")), self.made("graph-again", shape=Shape("hnsw"))
        graph, flat = DenseIndex(first), DenseIndex(self.made("flat-e5", reading=Reading()))
        self.assertEqual(graph.fingerprint, DenseIndex(again).fingerprint)
        self.assertNotEqual(graph.fingerprint, flat.fingerprint)
        pairs = zip(graph.search(QUERIES, 10), flat.search(QUERIES, 10))
        shared = sum(len({d["id"] for d, _ in a} & {d["id"] for d, _ in b}) for a, b in pairs)
        self.assertGreaterEqual(shared, 36)  # of 40

    def test_an_indexing_that_is_killed_goes_on_and_comes_to_the_same_index(self):
        out = str(self.home / "killed")
        command = [sys.executable, "-m", "espalier_rl", "index-corpus", self.corpus, "--model", self.model, "--out", out, "--shard", "10"]
        child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in child.stderr:
            if line.startswith("embedded 30 "):
                child.send_signal(signal.SIGKILL)
                break
        child.wait()
        child.stderr.close()
        with self.assertRaisesRegex(ValueError, "holds no whole index"):
            DenseIndex(out)
        kept = sorted(os.listdir(os.path.join(out, "vectors")))[:3]
        written = [os.stat(os.path.join(out, "vectors", name)).st_mtime_ns for name in kept]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual([os.stat(os.path.join(out, "vectors", name)).st_mtime_ns for name in kept], written)
        whole = index_corpus(self.corpus, self.model, str(self.home / "whole"), shard=10, said=lambda _: None)
        self.assertEqual(ended.stdout.strip(), whole["fingerprint"])

    def test_another_corpus_model_or_setting_is_refused_by_name(self):
        out = self.made("kept")
        with self.assertRaisesRegex(ValueError, "holds an index of another reading: name another folder"):
            index_corpus(self.corpus, self.model, out, reading=Reading("bge", "cls"), shard=32)
        other = str(self.home / "other.jsonl")
        write_corpus(other, 10)
        with self.assertRaisesRegex(ValueError, "is not what the index was made with"):
            DenseIndex(out, corpus=other)
        Path(other).write_text('{"id": "1"}\n')
        with self.assertRaisesRegex(ValueError, 'document 1 has no text "contents"'):
            index_corpus(other, self.model, str(self.home / "bad"), said=lambda _: None)

    def test_it_is_served_in_the_form_of_search_r1(self):
        index = DenseIndex(self.made("flat-e5", reading=Reading()))
        server = make_index_server(index)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

        def ask(body):
            url = f"http://127.0.0.1:{server.server_address[1]}/retrieve"
            request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
            with urllib.request.urlopen(request) as answer:
                return json.load(answer), answer.headers["x-espalier-index"]

        [[(best, score), *_], _] = index.search(["river", "king"], 2)
        said, fingerprint = ask({"queries": ["river", "king"], "topk": 2, "return_scores": True})
        self.assertEqual((list(said), len(said["result"]), fingerprint), (["result"], 2, index.fingerprint))
        self.assertEqual(said["result"][0][0], {"document": best, "score": score})
        plain, _ = ask({"queries": ["river"]})
        self.assertEqual((len(plain["result"][0]), plain["result"][0][0]), (3, best))
        self.assertEqual(ask({"query": "river", "topk": 1})[0], {"result": [[best]]})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            ask({"queries": "river"})
        refused.exception.close()
        self.assertEqual(refused.exception.code, 400)


if __name__ == "__main__":
    unittest.main()
