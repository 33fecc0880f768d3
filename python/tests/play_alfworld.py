"""Plays a folder of games with ALFWorld's own environment, as its agents do: loads each split, and follows the walkthrough of one unseen game
of each kind. Prints a JSON object: games by split, and by kind what the last action brought."""

import contextlib
import json
import sys

from alfworld.agents.environment import get_environment

SPLITS = {"train": "train", "eval_in_distribution": "valid_seen", "eval_out_of_distribution": "valid_unseen"}


def config(folder):
    paths = {"data_path": "train", "eval_id_data_path": "valid_seen", "eval_ood_data_path": "valid_unseen"}
    return {
        "env": {"goal_desc_human_anns_prob": 0, "task_types": [1, 2, 3, 4, 5, 6], "domain_randomization": False, "expert_type": "handcoded"},
        "dataset": {**{name: f"{folder}/json_2.1.1/{split}" for name, split in paths.items()}, "num_train_games": -1, "num_eval_games": -1},
        "general": {"training_method": "dqn"},
        "rl": {"training": {"max_nb_steps_per_episode": 50}},
    }


def main(folder):
    found, won = {}, {}
    for name, split in SPLITS.items():
        world = get_environment("AlfredTWEnv")(config(folder), train_eval=name)
        found[split] = world.num_games
    world.game_files = [path for path in world.game_files if "/trial_valid_unseen_0/" in path]
    games = world.init_env(batch_size=1)
    for _ in world.game_files:
        _, info = games.reset()
        path = info["extra.gamefile"][0]
        with open(path) as file:
            walkthrough = json.load(file)["walkthrough"]
        for action in walkthrough:
            _, _, _, info = games.step([action])
        won[path.split("/")[-3].split("-")[0]] = bool(info["won"][0])
    games.close()
    return {"games": found, "won": won}


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        said = main(sys.argv[1])
    print(json.dumps(said))
