"""A LangGraph agent that is recorded without a change to it: its model client asks the proxy.

    npx espalier proxy --upstream http://127.0.0.1:8000/v1
    ESPALIER_URL=http://127.0.0.1:4100 python examples/capture_langgraph.py MODEL
"""

import sys
from typing import Annotated, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from openai import OpenAI

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


with er.rollout(OpenAI(api_key="unused"), "langgraph", "talk") as rollout:
    # LangChain makes clients of its own: it takes address and key from that which records
    client = rollout.client
    model = ChatOpenAI(model=sys.argv[1], base_url=str(client.base_url), api_key=client.api_key, max_tokens=12, temperature=1)
    last = build(model).invoke({"messages": [("system", "Answer briefly."), ("user", "Say a word.")], "turns": 0})
    rollout.end(success=True, reward=1)
print(last["messages"][-1].content)
