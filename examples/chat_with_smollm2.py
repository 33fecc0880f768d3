"""Talks with a real model on this machine, SmolLM2-135M-Instruct, and records the talk by one line:

    python -m espalier_rl.trainer.smollm2 --out smollm2
    python -m espalier_rl.trainer.serve --model smollm2 --name smollm2 --port 8000 &
    python examples/chat_with_smollm2.py http://127.0.0.1:8000/v1
"""

import sys

import openai

import espalier_rl as er

er.autolog(run="chat with smollm2")
model = openai.OpenAI(base_url=sys.argv[1], api_key="unused")
talk = []
for question, expected in (("What is the capital of France?", "Paris"), ("And what is the capital of Italy?", "Rome")):
    talk.append({"role": "user", "content": question})
    answer = model.chat.completions.create(model="smollm2", messages=talk, max_tokens=24, temperature=0).choices[0].message.content
    talk.append({"role": "assistant", "content": answer})
    er.reward(float(expected in answer), step=True, component="right")
    print(f"{question} {answer}")
er.end(success=True)
er.flush()
er.end_run("chat with smollm2")
