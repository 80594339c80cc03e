"""Trains a step of the nets on stdin in PyTorch, with net() of docs/nets.md, and prints their weights then."""
import json
import sys

import torch
from torch import nn

space = {}
exec(open(sys.argv[1]).read(), space)
torch.set_num_threads(1)
out = []
for case in json.load(sys.stdin):
    b, h, w, c = case["Shape"]
    x = torch.tensor(case["X"]).reshape(b, h, w, c).permute(0, 3, 1, 2).contiguous()
    model = space["net"](case["Text"], c, case["Classes"])
    model.eval()(x)  # gives linear layers their sizes
    state, names, at = model.state_dict(), [], 0
    for name, value in state.items():
        if not name.endswith("num_batches_tracked"):
            state[name] = torch.tensor(case["W"][at:at + value.numel()]).reshape(value.shape)
            names.append([name, list(value.shape)])
            at += value.numel()
    model.load_state_dict(state)
    model.train()
    loss = nn.functional.cross_entropy(model(x), torch.tensor(case["Labels"]))
    loss.backward()
    torch.optim.SGD(model.parameters(), lr=1).step()
    state = model.state_dict()
    out.append({"Names": names, "Loss": loss.item(), "W": [v for n, _ in names for v in state[n].flatten().tolist()]})
json.dump(out, sys.stdout)
