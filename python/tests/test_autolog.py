"""Autolog in programs of the real openai package, before a model server that a test writes, against a server that keeps lines by their ids."""

import asyncio
import errno
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

try:
    import httpx
    import openai

    import espalier_rl as er
    from espalier_rl.capture.conversations import Opening, after
    from espalier_rl.capture.extras import Added, read_reply, with_extras, without_extras
    from espalier_rl.recording.ids import derived_id
except ImportError:
    openai = None
try:
    import numpy as np
except ImportError:
    np = None

from .answering import Answering

PYTHON = Path(__file__).parent.parent


class ModelServer(Answering):
    """Replies as vLLM does: the tokens of a reply are its bytes. `says` makes a reply of a request; `refuses` is a field that it does not know."""

    def __init__(self):
        self.requests, self.refuses, self.says, self.broken, self.zipped = [], None, lambda body: f"re: {body['messages'][-1]['content']}", None, False
        super().__init__()

    def respond(self, method, path, raw, headers):
        body = json.loads(raw)
        if path.startswith("/moved"):
            return 307, {"location": path.removeprefix("/moved")}, None
        self.requests.append(body)
        if self.refuses in body:
            return 400, {}, {"error": {"message": f"unknown field {self.refuses}"}}
        if self.broken is not None:
            return self.broken
        text = self.says(body)
        ids = list(text.encode())
        choice = {"index": 0, "finish_reason": "stop", "logprobs": None}
        named = [{"token": f"token_id:{each}", "logprob": -each / 256, "bytes": None, "top_logprobs": []} for each in ids]
        usage = {"prompt_tokens": 3, "completion_tokens": len(ids), "total_tokens": 3 + len(ids)}
        head = {"id": f"chatcmpl-{len(self.requests)}", "object": "chat.completion", "created": 1, "model": "served"}
        wants_ids, wants_log_probs = body.get("return_token_ids"), body.get("logprobs")
        if not body.get("stream"):
            choice |= {"message": {"role": "assistant", "content": text}, "logprobs": {"content": named} if wants_log_probs else None}
            reply = {**head, "choices": [choice | ({"token_ids": ids} if wants_ids else {})], "usage": usage}
            data = json.dumps(reply | ({"prompt_token_ids": [1, 2, 3]} if wants_ids else {}), separators=(",", ":")).encode()
            return 200, {"content-type": "application/json"} | ({"content-encoding": "gzip"} if self.zipped else {}), gzip.compress(data) if self.zipped else data
        parts = []
        for i, each in enumerate(ids):
            part = {"index": 0, "delta": {"content": chr(each)}, "finish_reason": None, "logprobs": {"content": [named[i]]} if wants_log_probs else None}
            parts.append({**head, "object": "chat.completion.chunk", "choices": [part | ({"token_ids": [each]} if wants_ids else {})]})
        parts.append({**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "logprobs": None}]})
        if (body.get("stream_options") or {}).get("include_usage"):
            parts = [part | {"usage": None} for part in parts] + [{**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}]
        lines = [f"data: {json.dumps(part, separators=(',', ':'))}\n\n" for part in parts] + ["data: [DONE]\n\n"]
        return 200, {"content-type": "text/event-stream"}, "".join(lines).encode()


class CallServer(Answering):
    """Keeps the lines that `POST /v1/calls` takes; `status` answers in its place."""

    def __init__(self, port=0):
        self.lines, self.status, self.paths, self.refuses, self.limit, self.answers, self.events = {}, 200, [], None, 2**30, threading.Event(), []
        self.recorded = {}  # what GraphQL has, by id
        self.answers.set()
        super().__init__(port)

    def respond(self, method, path, raw, headers):
        self.paths.append(path)
        if path == "/graphql":
            asked = json.loads(raw)
            [field] = [name for name in ("viewer", "rollout", "tree") if f"{{ {name}" in asked["query"]]
            return 200, {}, {"data": {field: {"project": "p"} if field == "viewer" else self.recorded.get(asked["variables"][field])}}
        if path == "/v1/events":
            self.events += [json.loads(line)["type"] for line in raw.splitlines()]
        if path != "/v1/calls":
            return 200, {}, {}
        self.answers.wait(20)
        status = 413 if len(raw) > self.limit else self.status
        if status != 200:
            return status, {}, {"error": {"code": "other", "message": f"answers {status}", "remedy": "wait"}}
        lines = json.loads(raw)["lines"]
        refused = [{"id": line["id"], "message": f"takes no {self.refuses}", "remedy": "repair it"} for line in lines if line["kind"] == self.refuses]
        for line in lines:
            if line["kind"] != self.refuses:
                self.lines.setdefault(line["id"], line)
        return 200, {}, {"received": len(lines) - len(refused), "refused": refused}

    def of(self, kind):
        return [line for line in self.lines.values() if line["kind"] == kind]


@unittest.skipIf(openai is None, "openai is not installed")
class AutologCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.model, self.server = folder.name, ModelServer(), CallServer()
        self.addCleanup(self.model.close)
        self.addCleanup(lambda: self.server.close())
        self.environment = {"ESPALIER_SPOOL": self.folder, "ESPALIER_URL": self.server.url, "ESPALIER_TOKEN": "key"}
        patched = mock.patch.dict(os.environ, self.environment)
        patched.start()
        self.addCleanup(patched.stop)
        self.addCleanup(er.autolog, False)

    def client(self, kind=None, **options):
        return (kind or openai.OpenAI)(base_url=f"{self.model.url}/v1", api_key="sk-secret", max_retries=0, **options)

    def ask(self, client, *messages, **more):
        return client.chat.completions.create(model="m", messages=[{"role": ("user", "assistant")[i % 2], "content": each} for i, each in enumerate(messages)], **more)

    def calls(self):
        er.flush()
        return self.server.of("call")


@unittest.skipIf(openai is None, "openai is not installed")
class Autolog(AutologCase):
    def test_a_call_is_recorded_with_what_was_asked_and_its_tokens_and_the_program_sees_what_it_sees_without(self):
        def all_answers():
            client = self.client()
            raw = client.chat.completions.with_raw_response
            whole = raw.create(model="m", messages=[{"role": "user", "content": "é\n"}])
            asked = raw.create(model="m", messages=[{"role": "user", "content": "q"}], logprobs=True)
            parts = [part.model_dump_json() for part in self.ask(client, "streamed", stream=True)]
            with client.chat.completions.with_streaming_response.create(model="m", messages=[{"role": "user", "content": "lines"}]) as lines:
                read = lines.text()

            async def later():
                async with self.client(openai.AsyncOpenAI) as other:
                    one = await self.ask(other, "async")
                    return [one.model_dump_json()] + [part.model_dump_json() async for part in await self.ask(other, "async stream", stream=True)]

            return [whole.text, dict(whole.headers).get("content-length"), asked.text, parts, read, asyncio.run(later())]

        def without_ids():
            self.model.requests.clear()
            return all_answers()

        expected = without_ids()
        for zipped in (False, True):
            self.model.zipped = zipped
            plain = without_ids()
            er.autolog()
            recorded = without_ids()
            calls = self.calls()[-6:]
            er.autolog(False)
            self.assertEqual([recorded[0], *recorded[2:]], [plain[0], *plain[2:]])
            self.assertEqual([plain[0], *plain[2:]], [expected[0], *expected[2:]])
            if not zipped:
                self.assertEqual(recorded[1], plain[1])
            self.assertEqual([call["request"]["messages"][-1]["content"] for call in calls], ["é\n", "q", "streamed", "lines", "async", "async stream"])
            self.assertEqual(calls[0]["reply"]["choices"][0]["token_ids"], list("re: é\n".encode()))
            self.assertEqual(calls[0]["reply"]["prompt_token_ids"], [1, 2, 3])
            self.assertEqual([each["token_ids"] for part in calls[2]["parts"] for each in part["choices"] if "token_ids" in each], [[each] for each in b"re: streamed"])
            self.assertEqual({call["outcome"] for call in calls}, {"answered"})
            self.assertNotIn("return_token_ids", calls[0]["request"])
            self.assertTrue(all(call["server"] == f"{self.model.url}/v1" and call["totalMs"] > 0 for call in calls))
            self.assertNotIn("sk-secret", json.dumps(calls))

    def test_clients_that_were_made_before_and_after_are_recorded_until_it_is_turned_off(self):
        before = self.client()
        er.autolog(run="named")
        self.ask(before, "one")
        self.ask(self.client(), "two")
        self.assertEqual([call["run"] for call in self.calls()], ["named"] * 2)
        er.autolog(False)
        self.ask(before, "three")
        self.ask(self.client(), "four")
        self.assertEqual(len(self.server.of("call")), 2)
        self.assertEqual(self.model.requests[-1], {"model": "m", "messages": [{"role": "user", "content": "four"}]})
        self.assertEqual([(end["outcome"], end["success"]) for end in self.server.of("end")], [("terminated", None)] * 2)
        self.assertEqual(self.server.of("close"), [])  # a run that has a name ends when somebody says so

    def test_a_conversation_is_a_rollout_and_the_same_question_asked_again_is_another_one_of_its_task(self):
        er.autolog()
        client = self.client()
        for _ in range(2):
            said = self.ask(client, "Add 2 and 2.").choices[0].message.content
            self.ask(client, "Add 2 and 2.", said, "Sure?")
            er.reward(1)
            er.end(success=True)
        self.ask(client, "Another.")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: self.ask(client, "Add 2 and 2.", "re: Add 2 and 2.", "Sure?"), range(4)))
        calls = self.calls()
        self.assertEqual(len({call["run"] for call in calls}), 1)
        first, second, other = calls[:2], calls[2:4], calls[4]
        self.assertEqual([len({call["rollout"] for call in pair}) for pair in (first, second)], [1, 1])
        self.assertEqual(len({call["rollout"] for call in calls}), 7)  # what continues a rollout that has ended is another one
        self.assertEqual({call["task"] for call in first + second}, {first[0]["task"]})
        self.assertRegex(first[0]["task"], "^task [0-9a-f]{12}$")
        self.assertNotEqual(other["task"], first[0]["task"])
        self.assertEqual([line["rollout"] for line in self.server.of("reward")], [first[0]["rollout"], second[0]["rollout"]])
        er.autolog(False)
        order = [line["kind"] for line in self.server.lines.values() if line.get("rollout") == first[0]["rollout"]]
        self.assertEqual(order, ["call", "call", "reward", "end"])
        self.assertEqual([close["run"] for close in self.server.of("close")], [first[0]["run"]])

    def test_what_is_called_within_a_rollout_belongs_to_it_and_comes_in_the_order_in_which_it_began(self):
        gate = threading.Event()
        self.model.says = lambda body: gate.wait(5) and "late" if body["messages"][-1]["content"] == "slow" else "soon"
        er.autolog()

        async def agent():
            async with self.client(openai.AsyncOpenAI) as client, er.rollout("errand", id="7", policy="qwen@3") as rollout:
                slow = asyncio.create_task(self.ask(client, "slow"))
                while len(self.model.requests) == 0:
                    await asyncio.sleep(0.01)
                await self.ask(client, "quick")
                gate.set()
                await slow
                await rollout.aend(success=False, reward=-1)

        asyncio.run(agent())
        calls = self.calls()
        self.assertEqual([(call["request"]["messages"][0]["content"], call["overlaps"]) for call in calls], [("slow", False), ("quick", True)])
        self.assertEqual({(call["task"], call["rollout"], call["policy"]["policyId"], call["policy"]["version"]) for call in calls}, {("errand", "7", "qwen", 3)})
        self.assertEqual([(line["kind"], line.get("value"), line.get("success")) for line in list(self.server.lines.values())[2:]], [("reward", -1, None), ("end", None, False)])
        with self.assertRaises(ValueError), er.rollout("errand"):
            self.ask(self.client(), "slow")
            raise ValueError("a fault of the program")
        er.flush()
        self.assertEqual((self.server.of("end")[-1]["outcome"], self.server.of("end")[-1]["reason"]), ("failed", "ValueError: a fault of the program"))

    def test_a_server_that_refuses_the_extra_fields_is_asked_without_them_and_other_errors_are_those_of_the_program(self):
        er.autolog()
        client = self.client()
        for field, asked, sent in (("return_token_ids", True, 2), ("logprobs", False, 2)):
            self.model.refuses = field
            self.model.requests.clear()
            self.assertEqual(self.ask(client, "q").choices[0].message.content, "re: q")
            self.assertEqual([("logprobs" in body) for body in self.model.requests[-1:]], [asked])
            self.assertEqual(len(self.model.requests), sent)
            self.assertEqual(self.calls()[-1]["attempts"], sent)
        self.model.requests.clear()
        self.ask(client, "again")  # what a model refuses is remembered
        self.assertEqual(len(self.model.requests), 1)
        self.model.refuses = "stream_options"
        self.assertEqual("".join(part.choices[0].delta.content or "" for part in self.ask(client, "q", stream=True)), "re: q")
        self.model.requests.clear()
        self.assertEqual([len(part.choices) for part in self.ask(client, "q", stream=True)][-1], 1)
        self.assertEqual(len(self.model.requests), 1)
        self.model.refuses = None
        for status, kind in ((429, openai.RateLimitError), (500, openai.InternalServerError), (422, openai.UnprocessableEntityError)):
            self.model.broken = status, {"content-type": "application/json"}, {"error": {"message": f"it is {status}"}}
            with self.assertRaisesRegex(kind, f"it is {status}"):
                self.ask(client, "q")
            call = self.calls()[-1]
            self.assertEqual((call["outcome"], call["status"], call["message"]), ("failed", status, f"it is {status}"))
        self.model.broken = 200, {"content-type": "application/json", "cut": 5}, {"choices": []}
        with self.assertRaises(openai.APIConnectionError):
            self.ask(client, "q")
        self.assertEqual((self.calls()[-1]["outcome"], self.calls()[-1]["status"]), ("failed", 200))
        with self.assertRaises(openai.APIConnectionError):
            self.ask(openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="k", max_retries=0), "q")
        self.assertEqual((self.calls()[-1]["outcome"], self.calls()[-1]["status"]), ("failed", None))

    def test_fields_are_added_to_a_request_as_it_was_written_unless_it_has_them(self):
        for raw in (b' {"messages": ["\xc3\xa9\\ud83d"], "seed": 12345678901234567890.5e400}\n', b'{"logprobs":null,"messages":[]}', '{"messages":["é"]}'.encode("utf-16-le")):
            body = json.loads(raw)
            sent, added = with_extras("chat.completions", body, raw, "all")
            more = {"logprobs": True, "return_tokens_as_token_ids": True, "return_token_ids": True, "return_meta_info": True}
            self.assertEqual((json.loads(sent), added), (body | more, Added(log_probs=True, token_ids=True)))
            if b"seed" in raw:
                self.assertIn(b"12345678901234567890.5e400", sent)

    def test_a_reply_is_read_without_the_token_ids_of_its_prompt_and_with_everything_else(self):
        added = Added(token_ids=True)
        for ids in ("[1,2,3]", "[1, 2,\t3]", "[]", "null", '["1"]', "[[1],[2]]"):
            for text in ('{"a":1,"prompt_token_ids": %s}', '{"prompt_token_ids":%s,"a":"\\"prompt_token_ids\\":[7]"}'):
                raw = (text % ids).encode()
                reply = read_reply(raw, added)
                self.assertEqual({**reply, "prompt_token_ids": json.loads(ids)}, json.loads(raw))
        for nested in (b'{"choices":[{"prompt_token_ids":[1,2]}]}', b'{"choices":[{"prompt_token_ids":[1,2]}],"prompt_token_ids":null}'):
            self.assertEqual(read_reply(nested, added), json.loads(nested))
        self.assertEqual(read_reply(b'{"prompt_token_ids":[1]}', Added()), {"prompt_token_ids": [1]})
        for ids in ("[1", "[1 2 3]", "[1,,2]", "[,1]", "[1,]", "::[1]", "]"):
            with self.assertRaises(ValueError):
                read_reply(b'{"prompt_token_ids":%b}' % ids.encode(), added)

    def test_only_the_part_of_the_usage_is_taken_out_of_a_stream(self):
        added = Added(usage=True)
        first = {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
        self.assertEqual(without_extras({**first, "usage": None}, added, part=True), first)
        self.assertIsNone(without_extras({"choices": [], "usage": {"total_tokens": 3}}, added, part=True))

    def test_a_conversation_goes_on_without_the_reasoning_that_its_program_leaves_out(self):
        asked = {"role": "user", "content": "q"}
        reply = [{"type": "reasoning", "id": "rs", "summary": []}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}]
        digest = Opening("responses", {"input": [asked]}).digests[-1]
        for each in reply:
            digest = after(digest, each)
        for kept in (reply, reply[1:], [{"role": "assistant", "content": "a"}]):
            self.assertEqual(Opening("responses", {"input": [asked, *kept]}).digests[-1], digest)

    def test_the_same_question_about_another_picture_is_another_task(self):
        def task(picture, **more):
            content = [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}, **more}]
            return Opening("chat.completions", {"messages": [{"role": "user", "content": content}]}).task

        self.assertEqual(len({task("AAAA"), task("AAAA", cache_control={"type": "ephemeral"}), task("BBBB")}), 2)

    def test_a_stream_that_the_program_leaves_is_recorded_as_far_as_it_came_and_what_goes_on_with_that_is_of_its_rollout(self):
        er.autolog()
        client = self.client()
        stream = self.ask(client, "q", stream=True)
        next(iter(stream))
        stream.close()
        [call] = self.calls()
        self.assertEqual((call["outcome"], call["message"]), ("cancelled", "the program went away"))
        self.assertEqual(call["parts"][0]["choices"][0]["delta"]["content"], "r")
        had = "".join(part["choices"][0]["delta"].get("content") or "" for part in call["parts"] if part["choices"])
        self.ask(client, "q", had, "Go on.")
        self.assertEqual([each["rollout"] for each in self.calls()], [call["rollout"]] * 2)

    def test_an_answer_or_a_request_that_cannot_be_read_is_recorded_as_far_as_it_can_and_reaches_the_program(self):
        er.autolog()
        url = f"{self.model.url}/v1/"
        asked = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
        self.model.broken = 200, {"content-type": "application/json", "content-encoding": "gzip"}, b"no gzip"
        with httpx.stream("POST", url + "messages", json=asked) as answer:
            self.assertEqual(b"".join(answer.iter_raw()), b"no gzip")
        self.model.broken = 200, {"content-type": "text/event-stream"}, b'data: {"choices": 5}\n\ndata: [DONE]\n\n'
        self.assertEqual(httpx.post(url + "chat/completions", json={**asked, "stream": True}).content, self.model.broken[2])
        self.model.broken = None
        half = b'{"model":"m","messages":[{"role":"user","content":"\xc3\xa9\\ud83d"}]}'
        self.model.says = lambda body: "well"
        self.assertEqual(httpx.post(url + "chat/completions", content=half).json()["choices"][0]["message"]["content"], "well")
        self.assertEqual([call["outcome"] for call in self.calls()], ["failed", "answered", "answered"])
        self.assertEqual(self.calls()[2]["request"], json.loads(half))

    def test_what_is_no_call_of_a_model_is_neither_recorded_nor_refused(self):
        er.autolog(on_error="raise")
        url = f"{self.server.url}/surveys/responses"
        for options in ({"json": {"answer": 1}}, {"json": [1]}, {"json": {"input": 1}}, {"content": b"\xff"}, {"files": {"a": b"b"}}):
            self.assertEqual(httpx.post(url, **options).json(), {})
        self.assertEqual(self.calls(), [])

    def test_a_client_that_asks_again_after_a_fault_goes_on_with_its_rollout(self):
        er.autolog()
        respond, faults = self.model.respond, [429, 500]
        self.model.respond = lambda *given: (faults.pop(), {"retry-after-ms": "1"}, {}) if faults else respond(*given)
        for _ in range(2):
            self.ask(self.client().with_options(max_retries=2), "q")
        calls = self.calls()
        self.assertEqual([call["status"] for call in calls], [500, 429, 200, 200])
        self.assertEqual([call["rollout"] == calls[0]["rollout"] for call in calls], [True, True, True, False])

    def test_a_call_that_goes_on_at_the_end_of_its_rollout_is_recorded_as_far_as_it_came(self):
        er.autolog()
        stream = iter(self.ask(self.client(), "q", stream=True))
        next(stream)
        er.end()
        self.assertGreater(len(list(stream)), 0)
        with self.assertRaises(ValueError), er.rollout("errand"):
            stream = self.ask(self.client(), "q", stream=True)
            raise ValueError
        stream.close()
        er.flush()
        said = [(line["kind"], line["outcome"]) for line in self.server.lines.values()]
        self.assertEqual(said, [("call", "cancelled"), ("end", "terminated"), ("call", "cancelled"), ("end", "failed")])

    def test_turned_off_it_records_nothing_though_another_tool_still_holds_what_it_wrapped(self):
        er.autolog()
        recorded = httpx.Client.send
        er.autolog(False)
        with mock.patch.object(httpx.Client, "send", lambda *given, **options: recorded(*given, **options)):
            self.ask(self.client(), "q")
        self.assertEqual(self.model.requests, [{"model": "m", "messages": [{"role": "user", "content": "q"}]}])
        self.assertEqual((self.server.lines, list(Path(self.folder).glob("*/*"))), ({}, []))

    @unittest.skipIf(np is None, "numpy is not installed")
    def test_numbers_of_numpy_are_rewards_and_an_answer_behind_a_redirection_names_its_request(self):
        er.autolog()
        answer = httpx.post(f"{self.model.url}/moved/v1/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": "q"}]}, follow_redirects=True)
        self.assertEqual((answer.url.path, answer.history[0].url.path), ("/v1/chat/completions", "/moved/v1/chat/completions"))
        self.assertNotIn(b"return_token_ids", answer.history[0].request.content)
        er.reward(np.float32(0.5))
        er.end(success=np.bool_(True))
        er.flush()
        self.assertEqual((self.server.of("reward")[0]["value"], self.server.of("end")[0]["success"]), (0.5, True))

    def test_calls_of_a_run_that_the_server_does_not_have_yet_wait_for_it_and_the_program_does_not(self):
        port = self.server.port
        self.server.close()
        db = er.connect()
        run = db.run("away", wait_s=5)
        before = httpx.Client.send
        with self.assertRaises(er.Unreachable):
            er.autolog(run=run, on_error="raise")
        self.assertIs(httpx.Client.send, before)
        er.autolog(run=run)
        self.ask(self.client(), "q")
        with self.assertRaises(er.Unreachable):
            er.flush(0.1)
        self.server = CallServer(port)
        self.assertEqual([call["run"] for call in self.calls()], [run.id])
        posted = [path for path in self.server.paths if path in ("/v1/events", "/v1/calls")]
        self.assertEqual(posted[0], "/v1/events")
        run.close()
        db.close()

    def test_the_end_of_a_run_closes_the_tasks_of_rollouts_that_have_ended_too(self):
        with er.connect() as db, db.run("tasks") as run:
            er.autolog(run=run)
            for task in ("one", "two"):
                with er.rollout(task):
                    self.ask(self.client(), "q")
            er.autolog(False)
            er.autolog(run=run)
            with er.rollout("three"):
                self.ask(self.client(), "q")
        self.assertEqual([(line["run"], line["task"]) for line in self.server.of("close")], [(run.id, task) for task in ("one", "two", "three")])

    def test_calls_of_a_run_that_ended_while_the_server_was_away_wait_for_what_it_recorded(self):
        port = self.server.port
        self.server.close()
        short = [mock.patch(f"espalier_rl.{name}", 0.1) for name in ("recording.run.EXIT_S", "recording.sender.TRY_S", "capture.session.TRY_S")]
        with short[0], short[1], short[2], self.assertLogs("espalier_rl", "WARNING"), self.assertRaises(er.Unreachable), er.connect() as db, db.run("away") as run:
            er.autolog(run=run)
            with er.rollout("one"):
                self.ask(self.client(), "q")
            run.episode("t").step("a", done=True)
        self.server = CallServer(port)
        er.autolog(False)
        sent = [path for path in self.server.paths if path in ("/v1/events", "/v1/calls")]
        self.assertEqual((sent, self.server.events[-1]), (sorted(sent, reverse=True), "TreeClosed"))
        self.assertEqual([line["kind"] for line in self.server.lines.values()][-1], "close")
        self.assertEqual(list(Path(self.folder).glob("*/*")), [])

    def test_a_run_that_ends_while_the_server_is_away_keeps_no_program_long_and_ends_behind_its_calls(self):
        port = self.server.port
        self.server.close()
        short = [mock.patch(f"espalier_rl.{name}", 0.1) for name in ("recording.run.EXIT_S", "recording.sender.TRY_S", "capture.session.TRY_S")]
        with short[0], short[1], short[2], self.assertLogs("espalier_rl", "WARNING"):
            began = time.monotonic()
            with self.assertRaises(er.Unreachable), er.connect() as db, db.run("away") as run:
                er.autolog(run=run)
                with er.rollout("one"):
                    self.ask(self.client(), "q")
            self.assertLess(time.monotonic() - began, 5)
            with mock.patch("espalier_rl.capture.session.EXIT_S", 0.1):
                er.autolog(False)
        self.server = CallServer(port)
        with er.connect() as db:
            db.wait_for_spools()
        self.assertEqual(self.server.events, ["RunStarted"])
        said = [(line["kind"], line.get("task"), line.get("outcome")) for line in self.server.lines.values()]
        self.assertEqual(said, [("call", "one", "answered"), ("end", "one", "terminated"), ("close", "one", None), ("close", None, "completed")])
        self.assertEqual(list(Path(self.folder).glob("*/*")), [])

    def test_while_an_event_loop_is_frozen_what_was_recorded_is_sent(self):
        er.autolog()

        async def agent():
            async with self.client(openai.AsyncOpenAI) as client:
                await self.ask(client, "before")
                until = time.monotonic() + 20
                while not self.server.of("call") and time.monotonic() < until:
                    time.sleep(0.01)  # noqa: ASYNC251 - it freezes the loop
                sent = len(self.server.of("call"))
                await self.ask(client, "after")
                return sent

        self.assertEqual(asyncio.run(agent()), 1)
        self.assertEqual([call["request"]["messages"][0]["content"] for call in self.calls()], ["before", "after"])

    def test_a_call_that_is_refused_beforehand_is_not_recorded_and_the_next_one_is_where_the_server_is_back(self):
        er.autolog(on_error="raise")
        self.server.status = 503
        with self.assertLogs("espalier_rl", "WARNING"), mock.patch("espalier_rl.recording.sender.TRY_S", 0):
            self.ask(self.client(), "q")
            with self.assertRaises(er.Unreachable):
                er.flush(0.3)
        with self.assertRaises(er.EspalierError):
            self.ask(self.client(), "refused")
        self.server.status = 200
        er.flush()
        self.ask(self.client(), "q")
        er.autolog(False)
        self.assertEqual([(call["request"]["messages"][0]["content"], call["outcome"]) for call in self.server.of("call")], [("q", "answered")] * 2)

    def test_while_the_server_is_away_the_program_goes_on_and_a_later_process_sends_what_the_spool_keeps(self):
        port = self.server.port
        self.server.close()
        er.autolog(run="away")
        with self.assertLogs("espalier_rl", "WARNING") as said:
            for i in range(20):
                self.assertEqual(self.ask(self.client(), f"q{i}").choices[0].message.content, f"re: q{i}")
            while not said.output:  # the first try has failed
                time.sleep(0.01)
            with self.assertRaisesRegex(er.Unreachable, "start the server"):
                er.flush(0.3)
        self.assertEqual(len(said.output), 1)
        with self.assertLogs("espalier_rl", "WARNING") as said, mock.patch("espalier_rl.capture.session.EXIT_S", 0.1):
            er.autolog(False)
        self.assertEqual(len(said.output), 1)
        self.assertRegex(said.output[0], "not all calls of models are recorded: .*the next er.connect")
        self.server = CallServer(port)
        db = er.connect()
        db.wait_for_spools()
        db.close()
        self.assertEqual([call["request"]["messages"][0]["content"] for call in self.server.of("call")], [f"q{i}" for i in range(20)])
        self.assertEqual(len(self.server.of("end")), 20)
        self.assertEqual(list(Path(self.folder).glob("*/*")), [])

    def test_a_server_that_refuses_everything_is_said_once_and_raised_where_a_program_prefers_that(self):
        self.server.status = 404
        er.autolog()
        with self.assertLogs("espalier_rl", "WARNING") as said:
            for i in range(3):
                self.ask(self.client(), f"q{i}")
                with self.assertRaises(er.EspalierError):
                    er.flush()
            self.assertEqual(len(said.output), 1)
            er.autolog(False)
        self.assertRegex(said.output[0], "not recorded any more: answers 404; wait; what was recorded is kept in")
        self.assertRegex(said.output[1], "not all calls of models are recorded: .*answers 404")
        self.assertEqual(len(said.output), 2)
        self.server.status = 200
        er.autolog(on_error="raise")
        self.server.status = 401
        self.ask(self.client(), "q")
        with self.assertRaises(er.EspalierError):
            er.flush()
        with self.assertRaisesRegex(er.EspalierError, "answers 401"):
            self.ask(self.client(), "q")
        with self.assertRaises(er.EspalierError):
            er.autolog(False)
        self.server.close()
        with self.assertRaises(er.Unreachable):
            er.autolog(on_error="raise")
        self.server = CallServer()

    def test_a_call_that_is_refused_is_raised_by_flush_exported_and_sent_again_by_the_next_connection_and_the_others_are_on_record(self):
        self.server.limit = 3_000
        er.autolog(run="large")
        with self.assertLogs("espalier_rl", "WARNING"):
            for text in ("first", "x" * 5_000, "last"):
                self.ask(self.client(), text)
            with self.assertRaisesRegex(er.EspalierError, r"refused 1 calls, rewards or ends.*call \S+ of \d+ bytes: answers 413; wait; what was recorded is kept in") as refused:
                er.flush()
            self.assertEqual(refused.exception.status, 413)
            self.assertEqual([call["request"]["messages"][0]["content"] for call in self.server.of("call")], ["first", "last"])
            er.autolog(False)
        [folder] = Path(self.folder).glob("*/*")
        exported = subprocess.run(
            [sys.executable, "-m", "espalier_rl", "spool", "export", self.folder, "--run", folder.name], env={**os.environ, "PYTHONPATH": str(PYTHON)}, capture_output=True, check=True
        )  # fmt: skip
        self.assertEqual([json.loads(line)["request"]["messages"][0]["content"] for line in exported.stdout.splitlines()], ["x" * 5_000])
        with self.assertLogs("espalier_rl", "WARNING"), er.connect() as db, self.assertRaisesRegex(er.EspalierError, "answers 413"):
            db.wait_for_spools()
        self.server.limit, self.server.refuses = 2**30, "call"
        with self.assertLogs("espalier_rl", "WARNING"), er.connect() as db, self.assertRaisesRegex(er.EspalierError, "takes no call; repair it"):
            db.wait_for_spools()
        self.server.refuses = None
        with er.connect() as db:
            db.wait_for_spools()
        self.assertEqual((len(self.server.of("call")), list(Path(self.folder).glob("*/*"))), (3, []))

    def test_calls_are_sent_together_when_somebody_waits_for_them_or_a_while_after_the_first(self):
        with mock.patch("espalier_rl.recording.calls.CallSender.linger_s", 600):
            er.autolog()
            for i in range(5):
                self.ask(self.client(), f"q{i}")
            er.flush(20)
            self.assertEqual((len(self.server.of("call")), self.server.paths.count("/v1/calls")), (5, 1))
            er.autolog(False)
        er.autolog()
        self.ask(self.client(), "alone")
        until = time.monotonic() + 20
        while len(self.server.of("call")) < 6 and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(len(self.server.of("call")), 6)

    def test_the_end_of_a_run_is_sent_behind_the_calls_that_autolog_still_holds(self):
        with mock.patch("espalier_rl.recording.calls.CallSender.linger_s", 600):
            er.autolog(run="held")
            with er.rollout("one"):
                self.ask(self.client(), "q")
            er.end_run("held")
            self.assertEqual(self.server.paths, ["/v1/calls", "/v1/proxy/held/close"])
            self.assertEqual([line["kind"] for line in self.server.lines.values()], ["call", "end"])

    def test_the_id_of_a_rollout_is_that_of_its_names_or_its_own_where_the_run_has_one_of_that_id(self):
        er.autolog(run="named")
        run, other = derived_id("captured-run", "p", "named"), derived_id("run", "other")
        tree, elsewhere, own = (derived_id("tree", name) for name in ("on record", "of another run", "rollout"))
        self.server.recorded = {tree: {"runId": run}, elsewhere: {"runId": other}, own: {"id": own}}
        for task, name, expected in (
            ("task", "7", derived_id("rollout", derived_id("tree", run, "task"), "7")),
            (tree, "7", derived_id("rollout", tree, "7")),
            (elsewhere, "7", derived_id("rollout", derived_id("tree", run, elsewhere), "7")),
            (tree, own, own),
            (tree, other, derived_id("rollout", tree, other)),
        ):
            with er.rollout(task, id=name) as rollout:
                with self.assertRaisesRegex(er.EspalierError, "made no call yet"):
                    _ = rollout.id
                self.ask(self.client(), "q")
                self.assertEqual((rollout.id, asyncio.run(rollout.aid())), (expected, expected))

    def test_a_refusal_of_a_line_reaches_who_asked_for_errors(self):
        self.server.refuses = "reward"
        er.autolog(on_error="raise")
        with self.assertLogs("espalier_rl", "WARNING"):
            self.ask(self.client(), "q")
            er.reward(1)
            with self.assertRaisesRegex(er.EspalierError, "takes no reward"):
                er.flush()
            with self.assertRaisesRegex(er.EspalierError, "takes no reward"):
                self.ask(self.client(), "q")
            with self.assertRaisesRegex(er.EspalierError, "takes no reward"):
                er.autolog(False)

    def test_names_and_outcomes_that_the_server_would_refuse_are_refused_at_once(self):
        er.autolog()
        self.ask(self.client(), "q")
        for field, call in (
            ("run", lambda: er.autolog(run="a\nb")),
            ("task", lambda: er.rollout("x" * 201)),
            ("id", lambda: er.rollout("t", id="\U0001f600" * 101)),
            ("run", lambda: er.rollout("t", run="\x00")),
            ("outcome", lambda: er.end(outcome="done")),
            ("outcome", lambda: er.end_run("r", outcome="terminated")),
            ("rollouts", lambda: er.end_run("r", rollouts="completed")),
        ):
            er.autolog() if field != "run" else None
            self.ask(self.client(), "q")
            with self.subTest(field=field), self.assertRaises(er.EspalierError) as refused:
                call()
            self.assertEqual((refused.exception.field, refused.exception.code), (field, "argument"))

    def test_a_server_that_does_not_answer_keeps_the_end_of_a_program_no_longer_than_promised(self):
        er.autolog()
        self.server.answers.clear()
        self.addCleanup(self.server.answers.set)
        self.ask(self.client(), "q")
        began = time.monotonic()
        with self.assertLogs("espalier_rl", "WARNING") as said, mock.patch("espalier_rl.capture.session.EXIT_S", 0.5):
            er.autolog(False)
        self.assertLess(time.monotonic() - began, 5)
        self.assertRegex(said.output[-1], "not all calls of models are recorded")
        [folder] = Path(self.folder).glob("*/*")
        self.assertEqual(len([*folder.glob("*.ndjson")]), 1)

    def test_a_call_is_on_the_disk_where_the_program_wants_that(self):
        er.autolog(durable="fsync")
        with mock.patch("os.fsync") as sync:
            self.ask(self.client(), "q")
            self.assertGreaterEqual(sync.call_count, 2)  # of the segment, and of the line

    def test_a_full_disk_or_spool_loses_no_reply_and_is_said_with_how_much_is_lost(self):
        self.server.status = 503
        er.autolog(spool_bytes=3_000)
        with self.assertLogs("espalier_rl", "WARNING") as said:
            for i in range(10):
                self.assertEqual(self.ask(self.client(), f"q{i}").choices[0].message.content, f"re: q{i}")
            self.server.status = 200
            er.autolog(False)
        self.assertRegex("\n".join(said.output), r"holds \d+ bytes that the server does not have[\s\S]*\d+ calls, rewards or ends could not be recorded")

    def full(self, room):
        """A disk that has room for so many bytes more; returns how to free it."""
        left = [room]

        def write(fd, data):
            left[0] -= len(data)
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            os.write(fd, data)

        patched = mock.patch("espalier_rl.recording.spool._write", write)
        patched.start()
        self.addCleanup(patched.stop)
        return lambda: left.__setitem__(0, 2**30)

    def test_what_a_full_disk_does_not_take_is_sent_from_memory_in_its_order_and_said_once(self):
        for room, durable in ((0, "write"), (3_000, "write"), (0, "none"), (3_000, "none"), (3_000, "fsync")):
            self.server.lines.clear()
            free = self.full(room)
            er.autolog(run=f"room {room}", durable=durable)
            with self.assertLogs("espalier_rl", "WARNING") as said:
                for i in range(5):
                    self.ask(self.client(), f"q{i}")
                    er.end(success=True)
                calls = self.calls()
                self.ask(self.client(), "again")
                free()
                er.flush()
                self.ask(self.client(), "on the disk")
                er.autolog(False)
            self.assertEqual([call["request"]["messages"][0]["content"] for call in calls], [f"q{i}" for i in range(5)])
            self.assertEqual([line["kind"] for line in self.server.lines.values()], [*["call", "end"] * 5, "call", "call", "end", "end"])
            self.assertEqual(len(said.output), 1)
            self.assertRegex(said.output[0], "cannot be written: No space left on device; free space there.*calls are kept in memory, up to 64 MiB")
            self.assertEqual(list(Path(self.folder).glob("*/*")), [])

    def test_what_memory_holds_at_the_end_is_kept_where_the_disk_has_room_again_and_else_said_to_be_lost(self):
        for durable in ("write", "none"):
            port = self.server.port
            self.server.close()
            for has_room in (False, True):
                free = self.full(0)
                er.autolog(run=f"has room: {has_room}", durable=durable)
                with self.assertLogs("espalier_rl", "WARNING") as said, mock.patch("espalier_rl.capture.session.EXIT_S", 0.1):
                    for i in range(3):
                        self.ask(self.client(), f"q{i}")
                    if has_room:
                        free()
                    er.autolog(False)
                self.assertEqual("6 calls, rewards or ends are lost" in "".join(said.output), not has_room)
            self.server = CallServer(port)
            with er.connect() as db:
                db.wait_for_spools()
            sent = [call["request"]["messages"][0]["content"] for call in self.server.of("call") if call["run"] == "has room: True"]
            self.assertEqual(sent, ["q0", "q1", "q2"])

    def spooled(self):
        """What is on the disk, in its order."""
        lines = [line for path in sorted(Path(self.folder).glob("*/*/*.ndjson")) for line in path.read_bytes().splitlines() if line[:1] == b"{"]
        return [json.loads(line)["request"]["messages"][0]["content"] for line in lines]

    def test_what_follows_on_a_full_disk_is_on_it_once_there_is_room_while_the_server_is_away_and_where_it_refused(self):
        for status, error in ((503, er.Unreachable), (401, er.EspalierError)):
            self.server.lines.clear()
            self.server.status = status
            free = self.full(0)
            with self.assertLogs("espalier_rl", "WARNING"), mock.patch("espalier_rl.recording.sender.TRY_S", 0):
                er.autolog(run="freed")
                self.ask(self.client(), "in memory")
                with self.assertRaises(error):
                    er.flush(0.3)
                self.assertEqual(self.spooled(), [])
                free()
                self.ask(self.client(), "then")
                self.assertEqual(self.spooled(), ["in memory", "then"])
                self.ask(self.client(), "last")
                self.assertEqual(self.spooled(), ["in memory", "then", "last"])
                if status == 503:
                    self.server.status = 200
                    er.flush()
                    self.assertEqual([call["request"]["messages"][0]["content"] for call in self.server.of("call")], ["in memory", "then", "last"])
                with mock.patch("espalier_rl.capture.session.EXIT_S", 0.1):
                    er.autolog(False)

    def test_what_is_written_to_the_disk_while_it_is_sent_from_memory_is_sent_once(self):
        free = self.full(0)
        er.autolog(run="both")
        self.server.answers.clear()
        self.server.refuses = "reward"
        with self.assertLogs("espalier_rl", "WARNING") as said:
            self.ask(self.client(), "q")
            er.reward(1)
            until = time.monotonic() + 20
            while "/v1/calls" not in self.server.paths and time.monotonic() < until:
                time.sleep(0.01)
            free()
            self.ask(self.client(), "next")
            self.assertEqual(self.server.paths.count("/v1/calls"), 1)
            self.server.answers.set()
            with self.assertRaisesRegex(er.EspalierError, "refused 1 calls, rewards or ends, which are set aside"):
                er.flush()
            er.autolog(False)
        self.assertEqual([call["request"]["messages"][0]["content"] for call in self.server.of("call")], ["q", "next"])
        self.assertEqual(len([line for line in said.output if "not on record" in line]), 1)

    def test_a_refused_line_that_a_full_disk_cannot_set_aside_is_said_to_be_lost(self):
        self.full(0)
        self.server.refuses = "reward"
        with self.assertLogs("espalier_rl", "WARNING") as said:
            er.autolog(run="refused")
            self.ask(self.client(), "q")
            er.reward(1)
            with self.assertRaisesRegex(er.EspalierError, r"refused 1 calls, rewards or ends, of which 1 are lost, as the disk did not take them; \S+ \S+ of \d+ bytes: takes no reward; repair it$"):
                er.flush()
            er.autolog(False)
        self.assertRegex("\n".join(said.output), "1 calls of models are lost: takes no reward; repair it; the spool .* cannot be written")

    def test_a_disk_that_is_full_before_the_first_call_has_it_kept_in_memory_and_on_disk_once_there_is_room(self):
        full = OSError(errno.ENOSPC, "No space left on device")
        self.server.status = 503
        with self.assertLogs("espalier_rl", "WARNING") as said, mock.patch("espalier_rl.recording.sender.TRY_S", 0):
            with mock.patch("pathlib.Path.mkdir", side_effect=full), mock.patch("tempfile.mkdtemp", side_effect=full):
                er.autolog(run="no folder")
                self.ask(self.client(), "first")
                with self.assertRaisesRegex(er.Unreachable, r"\d+ bytes in memory are not sent"):
                    er.flush(0.3)
            self.assertEqual(list(Path(self.folder).glob("*/*")), [])
            self.ask(self.client(), "then")
            self.assertEqual(self.spooled(), ["first", "then"])
            [owner] = Path(self.folder).glob("*/*/installation")
            self.assertNotEqual(owner.read_text(), "")
            self.server.status = 200
            er.autolog(False)
        self.assertRegex(said.output[0], "cannot be written: No space left on device.*calls are kept in memory")
        self.assertEqual([line["kind"] for line in self.server.lines.values()], ["call", "call", "end", "end"])
        self.assertEqual(list(Path(self.folder).glob("*/*")), [])

    def test_a_reward_of_a_rollout_that_is_lost_is_raised_where_a_program_prefers_that_and_kept_while_another_call_goes_on(self):
        free = self.full(0)
        er.autolog(run="raising", on_error="raise")
        with self.assertLogs("espalier_rl", "WARNING"), mock.patch("espalier_rl.recording.calls.MEMORY_BYTES", 10):
            with self.assertRaisesRegex(er.EspalierError, "neither the disk nor memory"):
                self.ask(self.client(), "q")
            free()
            with self.assertRaisesRegex(er.EspalierError, "the reward of rollout .* cannot be recorded, as none of its calls could be"):
                er.reward(1)
            with er.rollout("two") as rollout:
                self.full(0)
                with self.assertRaises(er.EspalierError):
                    self.ask(self.client(), "lost")
                self.full(2**30)
                with self.client().chat.completions.create(model="m", messages=[{"role": "user", "content": "open"}], stream=True) as stream:
                    next(stream)
                    rollout.reward(1)
            er.autolog(False)
        self.assertEqual(sorted(line["kind"] for line in self.server.lines.values()), ["call", "end", "reward"])

    def test_memory_is_bounded_and_no_end_is_said_of_a_rollout_that_is_lost(self):
        self.server.status = 503
        free = self.full(0)
        with self.assertLogs("espalier_rl", "WARNING") as said, mock.patch("espalier_rl.recording.calls.MEMORY_BYTES", 20_000):
            er.autolog(run="bounded")
            self.ask(self.client(), "kept")
            self.ask(self.client(), "x" * 2_000)
            self.server.status = 200
            free()
            er.autolog(False)
        self.assertEqual([(line["kind"], line.get("request", {}).get("messages", [{}])[0].get("content")) for line in self.server.lines.values()], [("call", "kept"), ("end", None)])
        self.assertRegex("\n".join(said.output), r"neither the disk nor memory has room for calls[\s\S]*2 calls, rewards or ends could not be recorded")

    def test_a_spool_that_cannot_be_made_is_kept_elsewhere_and_said(self):
        path = Path(self.folder, "file")
        path.write_text("no folder")
        with mock.patch.dict(os.environ, {"ESPALIER_SPOOL": str(path)}), self.assertLogs("espalier_rl", "WARNING") as said:
            er.autolog()
            self.ask(self.client(), "q")
            er.autolog(False)
        self.assertEqual([line["kind"] for line in self.server.lines.values()], ["call", "end", "close"])
        self.assertEqual(len(said.output), 1)
        self.assertRegex(said.output[0], "cannot be written: Not a directory; name a folder .*until then calls are kept in /")
        self.assertFalse(Path(said.output[0].split("kept in ")[-1].split(",")[0]).exists())
        self.server.lines.clear()
        no_folder = mock.patch("tempfile.mkdtemp", side_effect=FileNotFoundError("no usable directory"))
        with no_folder, mock.patch.dict(os.environ, {"ESPALIER_SPOOL": str(path)}), self.assertLogs("espalier_rl", "WARNING") as said:
            er.autolog()
            self.ask(self.client(), "q")
            er.autolog(False)
        self.assertEqual([line["kind"] for line in self.server.lines.values()], ["call", "end", "close"])
        self.assertRegex("\n".join(said.output), "^[^\n]*calls are kept in memory[^\n]*$")

    def program(self, text, **more):
        path = Path(self.folder, "agent.py")
        head = f"import os, sys, httpx, espalier_rl as er\nurl = {self.model.url + '/v1/chat/completions'!r}\n"
        # by httpx itself, as openai takes seconds to import
        ask = "def ask(text): return httpx.post(url, json={'model': 'm', 'messages': [{'role': 'user', 'content': text}]})\n"
        path.write_text(head + ask + textwrap.dedent(text))
        environment = {**os.environ, "PYTHONPATH": str(PYTHON), **more}
        return subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=60)

    def test_one_line_records_a_program_to_its_end(self):
        done = self.program("er.autolog()\nask('hello')\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([line["kind"] for line in self.server.lines.values()], ["call", "end", "close"])
        self.assertRegex(self.server.of("call")[0]["run"], r"^agent\.py \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [0-9a-f]{4}$")
        self.assertEqual(self.server.of("close")[0].get("outcome"), None)
        failed = self.program("er.autolog()\nask('hello')\nraise ValueError('no')\n")
        self.assertEqual((failed.returncode, failed.stderr.splitlines()[-1]), (1, "ValueError: no"))
        self.assertEqual((self.server.of("close")[-1]["outcome"], self.server.of("close")[-1]["message"]), ("failed", "ValueError('no')"))

        notebook = self.program("sys.ps1, sys.last_value = '>', ValueError('of a cell')\ner.autolog()\nask('hello')\n")
        self.assertEqual((notebook.returncode, self.server.of("close")[-1].get("outcome")), (0, None))

    def test_a_process_that_is_forked_leaves_the_rollout_and_the_calls_of_its_parent_to_it(self):
        done = self.program("""
            er.autolog()
            with er.rollout('errand', id='r'):
                with httpx.stream('POST', url, json={'model': 'm', 'stream': True, 'messages': [{'role': 'user', 'content': 'parent'}]}) as answer:
                    parts = answer.iter_raw()
                    next(parts)
                    if os.fork() == 0:
                        ask('child')
                        sys.exit()
                    os.wait()
                    list(parts)
                ask('then')
        """)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = [(line["kind"], line.get("rollout"), line.get("outcome"), line.get("request", {}).get("messages", [{}])[0].get("content")) for line in self.server.lines.values()]
        calls = [("call", "r", "answered", content) for content in ("child", "parent", "then")]
        self.assertEqual(said, [*calls, ("end", "r", "terminated", None), ("close", None, None, None)])

    def test_the_run_of_a_program_that_is_killed_is_ended_by_the_next_one(self):
        self.server.status = 503
        killed = self.program(f"er.autolog()\nask('hello')\nos.kill(os.getpid(), {signal.SIGKILL:d})\n")
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.server.status = 200
        self.assertEqual(self.program("er.connect().wait_for_spools()\n").returncode, 0)
        self.assertEqual([line["kind"] for line in self.server.lines.values()], ["call", "close"])
        self.assertEqual((self.server.of("close")[0]["outcome"], self.server.of("close")[0]["rollouts"]), ("failed", "failed"))

    def test_processes_that_a_program_starts_record_into_its_run(self):
        done = self.program("""
            import multiprocessing, subprocess
            def work(i): ask(f'worker {i}')
            if __name__ == '__main__':
                er.autolog()
                ask('before')
                processes = [multiprocessing.get_context('fork').Process(target=work, args=(i,)) for i in range(3)]
                for each in processes: each.start()
                for each in processes: each.join()
                rest = "httpx.post(" + repr(url) + ", json={'model': 'm', 'messages': [{'role': 'user', 'content': 'other'}]})"
                subprocess.run([sys.executable, '-c', 'import httpx, espalier_rl as er; er.autolog(); ' + rest], check=True)
        """)  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(call["request"]["messages"][0]["content"] for call in self.server.of("call")), ["before", "other", *(f"worker {i}" for i in range(3))])
        self.assertEqual(len({call["run"] for call in self.server.of("call")}), 1)
        self.assertEqual((len(self.server.of("end")), len(self.server.of("close"))), (5, 1))
        self.assertEqual(list(self.server.lines.values())[-1]["kind"], "close")
