import torch
from transformers import AutoModelForCausalLM
import espalier_rl as er

pol = er.connect().training("qwen", estimator="grpo", groups=2, max_staleness=1)
pol.publish("versions/0")  # names the first weights: version 0
model = AutoModelForCausalLM.from_pretrained(f"versions/{pol.version}")
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in pol.batches(renew="auto", updates=2):
    rows, log_probs = batch.tensors(), batch.log_probs(model)
    ratio = (log_probs - rows["rollout_log_probs"]).exp()
    gains = torch.min(ratio * rows["advantages"], ratio.clamp(0.8, 1.2) * rows["advantages"])
    loss = -gains.sum() / batch.sampled_tokens
    optimiser.zero_grad(), loss.backward(), optimiser.step()
    model.save_pretrained(f"versions/{batch.version}")
    batch.ack(weights=pol.publish(f"versions/{batch.version}"), metrics={"loss": loss.item()})
