"""A LangGraph agent that is recorded without a change to it, with its rollout and its reward.

    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 python examples/capture_langgraph.py MODEL
"""

import sys
from typing import Annotated, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

import espalier_rl as er

TURNS = 2


class State(TypedDict):
    messages: Annotated[list, add_messages]
    turns: int


def build(model):
    def agent(state):
        return {"messages": [model.invoke(state["messages"])], "turns": state["turns"] + 1}

    def world(state):
        return {"messages": [("user", f"You said {len(state['messages'][-1].content)} characters. Go on.")]}

    graph = StateGraph(State)
    graph.add_node("agent", agent)
    graph.add_node("world", world)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", lambda state: END if state["turns"] == TURNS else "world")
    graph.add_edge("world", "agent")
    return graph.compile()


er.autolog(run="langgraph")
model = ChatOpenAI(model=sys.argv[1], api_key="unused", max_tokens=12, temperature=1)
with er.rollout("talk") as rollout:
    last = build(model).invoke({"messages": [("system", "Answer briefly."), ("user", "Say a word.")], "turns": 0})
    rollout.end(success=True, reward=1)
print(last["messages"][-1].content)
