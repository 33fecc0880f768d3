"""Autolog in programs of the packages that agents are made of (examples/requirements-capture.txt), before a model server that a test writes."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest

import anthropic
import litellm
import openai
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled, trace
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

import espalier_rl as er
from tests.test_autolog import PYTHON, AutologCase, ModelServer

set_tracing_disabled(True)
TEXT = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}


class Protocols(ModelServer):
    """Speaks the protocols of responses, of embeddings and of Anthropic too."""

    def respond(self, method, path, raw, headers):
        if path.endswith("/chat/completions"):
            return super().respond(method, path, raw, headers)
        body = json.loads(raw)
        self.requests.append(body)
        number = len(self.requests)
        form = {"content-type": "application/json"}
        if path.endswith("/embeddings"):
            vectors = [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}]
            return 200, form, {"object": "list", "model": "e", "data": vectors, "usage": {"prompt_tokens": 2, "total_tokens": 2}}
        if path.endswith("/v1/messages"):
            message = {"id": f"m{number}", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn", "stop_sequence": None}
            message |= {"content": [{"type": "text", "text": "hello"}], "usage": {"input_tokens": 3, "output_tokens": 5}}
            start = {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
            delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}}
            block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
            end = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 5}}
            return self.stream([start, block, delta, {"type": "content_block_stop", "index": 0}, end, {"type": "message_stop"}]) if body.get("stream") else (200, form, message)
        output = [{**TEXT, "content": [{"type": "output_text", "text": "hello", "annotations": []}]}]
        usage = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": output, "usage": usage}
        response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        created = {"type": "response.created", "sequence_number": 0, "response": {**response, "status": "in_progress", "output": []}}
        return self.stream([created, {"type": "response.completed", "sequence_number": 1, "response": response}]) if body.get("stream") else (200, form, response)

    @staticmethod
    def stream(parts):
        return 200, {"content-type": "text/event-stream"}, "".join(f"event: {part['type']}\ndata: {json.dumps(part)}\n\n" for part in parts).encode()


class Clients(AutologCase):
    def setUp(self):
        super().setUp()
        self.model = Protocols()
        self.addCleanup(self.model.close)

    def same(self, ask):
        """Returns the calls that a program makes, which sees the same with and without autolog."""
        self.model.requests.clear()
        plain = ask()
        er.autolog()
        self.model.requests.clear()
        before = set(self.server.lines)
        self.assertEqual(ask(), plain)
        calls = [call for call in self.calls() if call["id"] not in before]
        er.autolog(False)
        self.assertEqual({call["outcome"] for call in calls}, {"answered"})
        return calls

    def test_responses_and_embeddings_of_openai(self):
        def ask():
            client = self.client()
            first = client.responses.create(model="m", input="q", instructions="Be brief.")
            second = client.responses.create(model="m", input="more", previous_response_id=first.id)
            parts = [part.model_dump_json() for part in client.responses.create(model="m", input="q", stream=True)]
            return [first.model_dump_json(), second.model_dump_json(), parts, client.embeddings.create(model="e", input=["a"]).model_dump_json()]

        calls = self.same(ask)
        self.assertEqual([call["api"] for call in calls], ["responses"] * 3 + ["embeddings"])
        self.assertEqual([call["rollout"] == calls[0]["rollout"] for call in calls], [True, True, False, False])
        self.assertEqual(calls[3]["rollout"], calls[2]["rollout"])
        self.assertEqual([part["type"] for part in calls[2]["parts"]], ["response.created", "response.completed"])

    def test_messages_of_anthropic(self):
        def ask():
            client = anthropic.Anthropic(base_url=self.model.url, api_key="sk-ant", max_retries=0)
            first = client.messages.create(model="claude", max_tokens=9, messages=[{"role": "user", "content": "q"}])
            messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": first.content}, {"role": "user", "content": "more"}]
            with client.messages.stream(model="claude", max_tokens=9, messages=messages) as stream:
                text = "".join(stream.text_stream)

            async def later():
                async with anthropic.AsyncAnthropic(base_url=self.model.url, api_key="sk-ant", max_retries=0) as other:
                    return (await other.messages.create(model="claude", max_tokens=9, messages=[{"role": "user", "content": "q"}])).model_dump_json()

            return [first.model_dump_json(), text, asyncio.run(later())]

        calls = self.same(ask)
        self.assertEqual([(call["api"], call["server"]) for call in calls], [("messages", self.model.url)] * 3)
        self.assertEqual([call["rollout"] == calls[0]["rollout"] for call in calls], [True, True, False])
        self.assertEqual(calls[1]["parts"][-1], {"type": "message_stop"})
        self.assertNotIn("sk-ant", json.dumps(calls))

    def test_litellm_to_either_protocol(self):
        def ask():
            options = {"model": "openai/m", "api_base": f"{self.model.url}/v1", "api_key": "k", "messages": [{"role": "user", "content": "q"}]}
            to_anthropic = {**options, "model": "anthropic/claude", "api_base": self.model.url}
            said = [litellm.completion(**options), litellm.completion(**to_anthropic), asyncio.run(litellm.acompletion(**options))]
            streamed = [part.choices[0].delta.content or "" for part in litellm.completion(**options, stream=True)]
            return [each.choices[0].message.content for each in said] + ["".join(streamed)]

        self.assertEqual([call["api"] for call in self.same(ask)], ["chat.completions", "messages", "chat.completions", "chat.completions"])

    def test_langgraph_by_its_own_client(self):
        def ask():
            model = ChatOpenAI(model="m", base_url=f"{self.model.url}/v1", api_key="k")
            graph = StateGraph(MessagesState)
            graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
            graph.add_edge(START, "agent")
            graph.add_edge("agent", END)
            state = graph.compile().invoke({"messages": [("user", "q")]})
            state = graph.compile().invoke({"messages": [*state["messages"], ("user", "more")]})
            return [message.content for message in state["messages"]]

        calls = self.same(ask)
        self.assertEqual([len(call["request"]["messages"]) for call in calls], [1, 3])
        self.assertEqual(len({call["rollout"] for call in calls}), 1)
        self.assertEqual(calls[0]["reply"]["choices"][0]["token_ids"], list(b"re: q"))

    def test_the_agents_sdk_by_either_protocol(self):
        @function_tool
        def look(at: str) -> str:
            return at

        def ask():
            said = []
            for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
                client = self.client(openai.AsyncOpenAI)
                agent = Agent(name="a", instructions="Be brief.", tools=[look], model=kind(model="m", openai_client=client))
                said.append(asyncio.run(Runner.run(agent, "q")).final_output)
            return said

        calls = self.same(ask)
        self.assertEqual([call["api"] for call in calls], ["chat.completions", "responses"])
        self.assertTrue(all(call["request"]["tools"] for call in calls))

    def team(self):
        """A graph of two agents that each begin a conversation of their own, and a call of openai's client between them."""
        model, client = ChatOpenAI(model="m", base_url=f"{self.model.url}/v1", api_key="k"), self.client()

        def plan(state):
            said = model.invoke([("system", "Plan."), *state["messages"]])
            return {"messages": [("user", self.ask(client, f"check {said.content}").choices[0].message.content)]}

        def work(state):
            return {"messages": [model.invoke([("system", "Work."), state["messages"][-1]])]}

        async def awork(state):
            return {"messages": [await model.ainvoke([("system", "Work."), state["messages"][-1]])]}

        graph = StateGraph(MessagesState)
        graph.add_node("plan", plan)
        graph.add_node("work", RunnableLambda(work, afunc=awork))
        graph.add_edge(START, "plan")
        graph.add_edge("plan", "work")
        graph.add_edge("work", END)
        return graph.compile()

    def rollouts(self, calls):
        """Returns by rollout how many calls it has."""
        return sorted(Counter(call["rollout"] for call in calls).values())

    def test_two_graphs_that_run_at_once_are_two_rollouts_whatever_conversations_they_have_and_a_reward_behind_one_is_of_it(self):
        er.autolog()
        graph = self.team()

        async def both():
            await asyncio.gather(*(graph.ainvoke({"messages": [("user", f"task {i}")]}) for i in range(2)))

        def one(i):
            graph.invoke({"messages": [("user", f"task {i}")]})
            er.reward(i)

        asyncio.run(both())
        self.assertEqual(self.rollouts(self.calls()), [3, 3])
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(one, range(2, 4)))
        calls = self.calls()
        self.assertEqual(self.rollouts(calls), [3] * 4)
        of_task = {call["rollout"]: call["request"]["messages"][1]["content"] for call in calls if call["request"]["messages"][0]["content"] == "Plan."}
        self.assertEqual({of_task[line["rollout"]]: line["value"] for line in self.server.of("reward")}, {"task 2": 2, "task 3": 3})
        streams = [graph.stream({"messages": [("user", f"task {i}")]}) for i in range(4, 6)]
        for parts in zip_longest(*streams):  # in turn, in one thread
            self.assertNotIn(None, parts)
        self.ask(self.client(), "outside")
        self.assertEqual(self.rollouts(self.calls()), [1] + [3] * 6)

    def test_two_traces_of_the_agents_sdk_at_once_are_two_rollouts_with_all_agents_that_run_in_them(self):
        async def run(name):
            model = OpenAIChatCompletionsModel(model="m", openai_client=self.client(openai.AsyncOpenAI))
            inner = Agent(name="inner", instructions="Help.", model=model)
            with trace(f"errand {name}"):
                await Runner.run(Agent(name="outer", instructions="Lead.", model=model), f"q {name}")
                await Runner.run(inner, f"more {name}")

        async def both():
            await asyncio.gather(run("a"), run("b"))

        er.autolog()
        asyncio.run(both())
        self.assertEqual(self.rollouts(self.calls()), [2, 2])

    def test_callbacks_are_there_where_the_program_imports_langchain_behind_autolog(self):
        code = f"""
import espalier_rl as er
er.autolog()
from langchain_openai import ChatOpenAI
from langchain_core.runnables import RunnableLambda
model = ChatOpenAI(model="m", base_url="{self.model.url}/v1", api_key="k")
chain = RunnableLambda(lambda x: (model.invoke("one " + x), model.invoke("two " + x)))
chain.invoke("a"), chain.invoke("b")
"""
        done = subprocess.run([sys.executable, "-c", code], cwd=PYTHON, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.rollouts(self.server.of("call")), [2, 2])
