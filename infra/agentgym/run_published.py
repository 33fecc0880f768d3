"""Runs a program of Agent-R as it is published, with stand-ins for what it takes to run a model.

    python run_published.py FOLDER PROGRAM.py [ARGUMENT...]

FOLDER is a checkout of Agent-R; AgentGym's package `agentenv` and FastChat are on PYTHONPATH. MODEL_SERVER is an OpenAI-compatible
server, in the place of vLLM; TIES draws where the search would call `random.choice`, so that another search can draw the same. Nothing
of the program is changed but this: `path_collection.py` compares numbers with the texts of ALPHA and BETA, which Python refuses, and
reads them as numbers here.
"""

import collections
import json
import os
import runpy
import sys
import types
import urllib.request


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


class Model:
    """In the place of `vllm.LLM`: the k-th reply to a conversation is the k-th choice of the server."""

    def __init__(self, **_):
        self.asked = collections.Counter()

    def chat(self, messages, sampling_params=None):
        place = json.dumps(messages)
        ordinal = self.asked[place]
        self.asked[place] += 1
        count = int(os.environ["N_GEN"])
        body = {"model": "scripted", "messages": messages, "n": ordinal % count + 1}
        choices = post(os.environ["MODEL_SERVER"] + "/chat/completions", body)["choices"]
        text = choices[-1]["message"]["content"]
        return [types.SimpleNamespace(outputs=[types.SimpleNamespace(text=text)])]


class Tokenizer:
    """In the place of the model's tokenizer: no conversation is too long."""

    @staticmethod
    def from_pretrained(_):
        return Tokenizer()

    def encode(self, _):
        return []


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__getattr__ = lambda member: type(member, (), {})  # names that are imported and not used
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


def dump(value, path, **options):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=2)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def stand_in_for_packages():
    from fastchat.conversation import get_conv_template

    # `get_conversation_template('gpt-4')` chooses this template, in a module that imports torch and peft.
    stand_in("fastchat.model", __path__=[])
    stand_in("fastchat.model.model_adapter", get_conversation_template=lambda _: get_conv_template("chatgpt"))
    stand_in("mmengine", dump=dump, load=load)
    stand_in("vllm", LLM=Model, SamplingParams=lambda **options: options)
    stand_in("transformers", AutoTokenizer=Tokenizer, __path__=[])
    stand_in("transformers.generation", __path__=[])
    stand_in("transformers.generation.utils")
    stand_in("torch", __path__=[])
    stand_in("torch.nn", __path__=[])
    stand_in("torch.nn.parallel")
    for name in ("openai", "tiktoken", "scienceworld", "jsonlines"):
        stand_in(name)


class Ties:
    """In the place of `random` in the search: asks TIES where it would draw, and says where the draw is."""

    def __init__(self, idx):
        self.idx = idx
        self.walks = 0

    def choice(self, nodes):
        parent = nodes[0].parent
        place = []
        node = parent
        while node.parent is not None:
            place.insert(0, node.ordinal)
            node = node.parent
        if parent.parent is None:
            self.walks += 1
        tie = {"alias": str(self.idx), "simulation": self.walks - 1, "place": place, "size": len(nodes)}
        return nodes[post(os.environ["TIES"], tie)["position"]]


def draw_ties_outside():
    from mcts_utils import mcts_raw
    from mcts_utils.textcraft import mcts_tc

    search, generate = mcts_tc.ExtendedMCTS.search, mcts_tc.ExtendedMCTS._generate

    def searching(self, *arguments):
        mcts_raw.random = Ties(self.idx)
        return search(self, *arguments)

    def generating(self, node):
        child = generate(self, node)
        child.ordinal = node.__dict__.setdefault("generated", 0)  # of the reply, among all that were asked for
        node.generated += 1
        return child

    mcts_tc.ExtendedMCTS.search, mcts_tc.ExtendedMCTS._generate = searching, generating


def main(folder, program, arguments):
    os.environ["TASK"] = "textcraft"
    sys.path.insert(0, folder)
    stand_in_for_packages()
    draw_ties_outside()
    path = os.path.join(folder, program)
    sys.argv = [path, *arguments]
    if program != "path_collection.py":
        runpy.run_path(path, run_name="__main__")
        return
    with open(path, encoding="utf-8") as file:
        source = file.read()
    for name in ("ALPHA", "BETA"):
        source = source.replace(f'os.environ["{name}"]', f'float(os.environ["{name}"])')
    exec(compile(source, path, "exec"), {"__name__": "__main__", "__file__": path})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
