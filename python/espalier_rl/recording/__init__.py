"""Records what agents of your own do: runs, groups of episodes, searches, over a spool that keeps what was acknowledged."""

from .episode import Episode, Step
from .group import Group
from .run import Run
from .search import Candidate, Node, SearchTree
from .task import Task

__all__ = ["Candidate", "Episode", "Group", "Node", "Run", "SearchTree", "Step", "Task"]
