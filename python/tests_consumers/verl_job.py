"""A job of verl on CPU, up to its updates: verl's own manager, workers and reward loop, by the configuration that its command line makes. The server of
the model is a stand-in, as those of verl need a GPU: it answers with what a tiny model samples, and by a call of a tool where it is asked to add.

    python -m tests_consumers.verl_job FOLDER MANAGER

records such a job into the server of ESPALIER_URL, exports it again, and compares what the export holds with verl's batch."""

import os
import string
import sys
import zlib
from pathlib import Path

import numpy as np
import pyarrow.parquet
import ray
import torch
import transformers
import verl.trainer.config
from hydra import compose, initialize_config_dir
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.utils.import_utils import load_class_from_fqn
from verl.utils.tracking import Tracking
from verl.workers.rollout.replica import TokenOutput

import espalier_rl as er

from .tiny_model import log_probs_of, tiny_qwen2

MANAGER = "espalier_rl.adapters.verl_recording.RecordedAgentLoopManager"
MEMBERS = 2
LONGEST = 160
CALL = '<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>'
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
SCORE = '''
def compute_score(data_source, solution_str, ground_truth, extra_info=None, **_):
    return {"score": len(solution_str) / 4, "short": len(solution_str) < 4, "said": solution_str[:3] or "nothing"}
'''
TOOLS = '''
from verl.tools.function_tool import function_tool
from verl.tools.schemas import ToolResponse


@function_tool
def add(a: int, b: int):
    """Adds two numbers.

    Args:
        a: One number.
        b: The other.
    """
    return ToolResponse(text=f"sum {a + b}"), 0.5, {}
'''


def write_chat(folder):
    """Writes a Qwen2 of random weights that speaks printable characters in turns of ChatML."""
    signs = {sign: i for i, sign in enumerate(["<|im_end|>", "<|im_start|>", "Ċ", "Ġ", *string.printable[:94]])}  # Ċ and Ġ: a line break and a blank
    specials = {"pad_token": "<|im_end|>", "eos_token": "<|im_end|>", "additional_special_tokens": ["<|im_start|>"]}
    transformers.Qwen2Tokenizer(vocab=signs, merges=[], unk_token=None, chat_template=TEMPLATE, **specials).save_pretrained(folder)
    tiny_qwen2(vocabulary=len(signs), context=1024, pad=0, end=0).save_pretrained(folder)


class StandIn:
    """What agent loops ask for tokens in the place of a server of verl; `version` is that of its weights, and counts calls behind a tool."""

    def __init__(self, folder, version=6):
        self.folder, self.version, self.model, self.tokenizer = folder, version, None, None

    async def generate(self, request_id, *, prompt_ids, sampling_params, **_):
        if self.model is None:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder)
            self.model = transformers.AutoModelForCausalLM.from_pretrained(self.folder, dtype=torch.float32)
        asked = self.tokenizer.decode(prompt_ids)
        if "break" in asked:
            raise RuntimeError("the server broke")
        behind = "sum 5" in asked
        if "add" in asked and not behind:
            said = self.tokenizer.encode(CALL, add_special_tokens=False) + [0]
        else:
            torch.manual_seed(zlib.crc32(request_id.encode()))
            said = self.model.generate(torch.tensor([prompt_ids]), max_new_tokens=6, do_sample=True, pad_token_id=0)[0, len(prompt_ids) :].tolist()
        version = self.version + behind
        log_probs = log_probs_of(self.model, prompt_ids, said)
        return TokenOutput(token_ids=said, log_probs=log_probs, extra_fields={name: version for name in ("min_global_steps", "max_global_steps")})


def column(values):
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def write_job(folder):
    """Writes what a job reads: the model, its reward function and its tools."""
    write_chat(str(Path(folder, "model")))
    for name, text in (("score.py", SCORE), ("tools.py", TOOLS)):
        Path(folder, name).write_text(text)


def config_of(folder, *more, manager=MANAGER):
    """The configuration that the command line of a job makes."""
    options = ("name=vllm", f"n={MEMBERS}", f"val_kwargs.n={MEMBERS}", "prompt_length=64", f"response_length={LONGEST}", "calculate_log_probs=True", "multi_turn.format=hermes")
    own = ("agent.num_workers=2", f"multi_turn.function_tool_path={folder}/tools.py")
    with initialize_config_dir(str(Path(verl.trainer.config.__file__).parent), version_base=None):
        return compose(
            "ppo_trainer",
            [
                *(f"actor_rollout_ref.rollout.{each}" for each in (*options, *own)),
                f"+actor_rollout_ref.rollout.agent.agent_loop_manager_class={manager}",
                *(f"actor_rollout_ref.model.{each}" for each in (f"path={folder}/model", "use_remove_padding=False")),
                *("trainer.project_name=tiny", "trainer.experiment_name=talks", "trainer.logger=[console]"),
                f"reward.custom_reward_function.path={folder}/score.py",
                "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
                *more,
            ],
        )


def start_ray():
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    os.environ.update({"PYTHONPATH": paths, "HF_HUB_OFFLINE": "1", "RAY_AUTH_MODE": "disabled"})
    ray.init(num_cpus=16, include_dashboard=False, log_to_driver=False)


def rows_of(*questions, agent="single_turn_agent"):
    count = len(questions)
    return {
        "raw_prompt": [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}] for text in questions],
        "index": list(range(count)),
        "uid": [f"uid {text}" for text in questions],
        "agent_name": [agent] * count,
        "data_source": [f"source {text}" for text in questions],
        "reward_model": [{"style": "rule", "ground_truth": text.upper()} for text in questions],
        "extra_info": [{} for _ in questions],
    }


def batch_of(*questions, validates=False, agent="single_turn_agent", step=7):
    columns = {name: column(values) for name, values in rows_of(*questions, agent=agent).items()}
    tensors = {"dummy": torch.zeros(len(questions), 1)}
    batch = DataProto.from_dict(tensors=tensors, non_tensors=columns, meta_info={"global_steps": step, "validate": validates})
    return batch.repeat(MEMBERS, interleave=True)


def manager_of(config, folder, rewards):
    made = load_class_from_fqn(config.actor_rollout_ref.rollout.agent.agent_loop_manager_class, "AgentLoopManager")
    return made.create(config=config, llm_client=StandIn(f"{folder}/model"), teacher_client=None, reward_loop_worker_handles=[rewards])


def rollouts_of(output):
    """What verl has of each row: its prompt, its response with masks and log-probs, and its score."""
    batch = output.batch
    found = []
    for place in range(len(output)):
        width = batch["prompts"].shape[1]
        attended = batch["attention_mask"][place].bool()
        count = int(attended[width:].sum())
        parts = (batch[name][place, :count].tolist() for name in ("responses", "response_mask", "rollout_log_probs"))
        found.append((batch["prompts"][place][attended[:width]].tolist(), *parts, float(batch["rm_scores"][place].sum())))
    return found


def main(folder, manager):
    write_job(folder)
    start_ray()
    config = config_of(folder, "trainer.use_v1=False", manager=manager)
    made = manager_of(config, folder, ray.remote(RewardLoopWorker).remote(config))
    wanted = []
    tracking = Tracking("tiny", "talks", ["console"], config={})
    for step in (1, 2):
        wanted += rollouts_of(made.generate_sequences(batch_of("abc", "add", agent="tool_agent", step=step)))
        tracking.log({"actor/pg_loss": 0.5 / step}, step)
    wanted += rollouts_of(made.generate_sequences(batch_of("12345", validates=True, step=2)))
    tracking.finish()
    with er.connect() as db:
        db.catch_up()
        run = db.query("{ runs(first: 1) { nodes { id } } }")["runs"]["nodes"][0]["id"]
        db.export(run, format="verl", path=f"{folder}/export.parquet")
    rows = pyarrow.parquet.read_table(f"{folder}/export.parquet").to_pylist()
    names = ("prompts", "responses", "response_mask", "rollout_log_probs", "token_level_scores")
    exported = sorted([*(row[name] for name in names[:4]), sum(row[names[4]])] for row in rows)
    assert len(exported) == len(wanted), (len(exported), len(wanted))
    for own, other in zip(exported, sorted(map(list, wanted)), strict=True):
        assert own[:3] == other[:3], (own, other)
        np.testing.assert_allclose(own[3], other[3], rtol=1e-6)
        assert own[4] == other[4], (own, other)


if __name__ == "__main__":
    main(*sys.argv[1:])
