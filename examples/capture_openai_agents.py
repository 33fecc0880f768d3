"""An agent of the OpenAI Agents SDK that is recorded by one line, `er.autolog()`.

    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 python examples/capture_openai_agents.py MODEL
"""

import asyncio
import sys

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

import espalier_rl as er

er.autolog(run="openai-agents")
set_tracing_disabled(True)  # its own traces go to OpenAI


async def main():
    model = OpenAIChatCompletionsModel(model=sys.argv[1], openai_client=AsyncOpenAI(api_key="unused"))
    agent = Agent(name="talker", instructions="Answer briefly.", model=model, model_settings=ModelSettings(max_tokens=12, temperature=1))
    first = await Runner.run(agent, "Say a word.")
    second = await Runner.run(agent, [*first.to_input_list(), {"role": "user", "content": "Another one."}])
    print(second.final_output)


asyncio.run(main())
