#!/usr/bin/env python3
"""Writes the golden files of TestGolden: what PyTorch computes for the nets of the catalogue.

    python3 nets/models/testdata/goldens.py [NET ...]

writes NET.json beside this script for every net; nothing else rewrites them. It needs PyTorch (1.13 or later) and
numpy, no GPU and no data set: images, labels, weights, plans and drifts come from the hash below, which golden_test.go
repeats. Two runs on one machine write the same bytes; other versions of PyTorch differ in the last digits printed.

A case is some SGD steps from the same weights. Its file entry holds, all computed in float64:
  loss, logits  of the first batch, in training mode (dropout on); logits [samples,classes]; linear-binary has one output z, its
                logits are (0, z) and its loss is the binary cross-entropy of sigmoid(z)
  grads         digest of every parameter's gradient on the first batch, before decay, clipping and drift
  update        digest of every parameter's change over all steps
  norms         gradient norm of every step, before clipping
  evaluated     logits of samples 0 … 7 after all steps, as they are, in evaluation mode; residual nets only
Running statistics have an update, but zeros for a gradient.
A digest is, of one tensor in PyTorch's layout: its Euclidean norm, sum, largest magnitude, and the elements at up to 64
(residual nets: 16) hashed places, so that a permuted or mirrored tensor shows. grads, logits and loss are left out of cases whose first batch
is that of "plain".

float32 says how far the same program in float32 is from float64, which is what tolerances are to be measured by: for
loss |difference|, for logits the largest difference, for grads and update the largest difference of any element,
divided by the largest magnitude of its tensor; the worst tensor counts. Of the updates of residual nets, whose steps are
small beside some weights, a rounding of a number below 2 is taken off for every step.

plan numbers the samples, crops and flips that a case draws; without it, 0. resnet18 has half a million ReLUs an image,
so that in most batches one is so close to 0 that correct float32 programs round it to different sides, which moves
gradients by up to 2e-3, and updates of five steps by up to 0.09. So its cases are one step of a small batch, drawn by
the first plan that leaves no ReLU within MARGIN of 0.
"""
import itertools
import json
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = 0xFFFFFFFF
PLACES = {False: 64, True: 16}  # residual nets have many tensors
SAMPLES = 96
MEAN, STD = (0.5, 0.4375, 0.375), (1.0, 1.125, 0.875)  # exact in binary; wide, so that the gradients stay moderate
SEED, ROUND, CLIENT = 3, 7, 5  # of the dropout masks
RATE = 0.2
# Least distance to 0 of what a ReLU takes in float64, as a part of its layer's standard deviation. PyTorch's float32 is
# 1e-7 (first layer of resnet18) to 2e-6 (last) off, root mean square.
MARGIN = 5e-6

# What a hashed number is for; golden_test.go has the same list.
IMAGE, LABEL, WEIGHT, INDEX, CROP, FLIP, DRIFT, PLACE, FEATURE = range(1, 10)


def hashed(kind, tensor, n):
    """uint32 [n]: element i is a hash of (kind, tensor, i)."""
    x = np.arange(n, dtype=np.uint64)
    x = (x * 0x9E3779B1 + kind * 0x85EBCA6B + tensor * 0xC2B2AE35) & MASK
    for multiplier in (0x7FEB352D, 0x846CA68B):
        x ^= x >> np.uint64(16)
        x = (x * np.uint64(multiplier)) & MASK
    return x ^ (x >> np.uint64(15))


def symmetric(kind, tensor, n, bound):
    """float32 [n] in ±bound."""
    return ((hashed(kind, tensor, n).astype(np.float64) / 2.0**31 - 1) * bound).astype(np.float32)


def philox(key, counter):
    """Philox4x32-10 (Salmon et al., SC 2011). counter: four uint64 arrays holding 32-bit words; returns the like."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = ((p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0), p1 & np.uint64(MASK),
                          (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1), p0 & np.uint64(MASK))
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def known_answers():
    """The published vectors of Philox4x32-10: all zeros, all ones, digits of π."""
    for counter, key, want in (
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((MASK,) * 4, (MASK,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
         (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ):
        got = tuple(int(w[0]) for w in philox(key, [np.array([c], dtype=np.uint64) for c in counter]))
        if got != want:
            sys.exit(f"goldens: philox of {counter}, {key}: {got}, want {want}")


def dropout_mask(batch, shape, step, layer):
    """bool [batch, F] in PyTorch's order; shape: (h, w, c) of flattened maps, or (F,).

    The suite counts features of maps in (h, w, c) order; element e of [batch, F] takes word e mod 4 of block e div 4.
    """
    n = batch * int(np.prod(shape))
    blocks = np.arange((n + 3) // 4, dtype=np.uint64)
    words = philox((SEED, 6 | (layer + 1) << 16), [np.full_like(blocks, v) for v in (ROUND, CLIENT, step)] + [blocks])
    kept = (np.stack(words, 1).reshape(-1)[:n] >= int(RATE * 2**32)).reshape(batch, *shape)
    if len(shape) == 3:
        kept = kept.transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(kept.reshape(batch, -1)))


# Layers of the nets: conv (channels out, window, pad), fc (features out); a conv brings ReLU and 2×2 max pooling, an fc
# ReLU but for the last, drop a dropout layer.
NETS = {
    "cnn-svhn": ("conv 32 3 1", "conv 32 3 1", "fc 128", "fc 10"),
    "cnn-cifar10": ("conv 32 3 1", "conv 32 3 1", "fc 256", "fc 64", "fc 10"),
    "cnn-cinic10": ("conv 32 3 1", "conv 32 3 1", "drop", "fc 512", "drop", "fc 256", "drop", "fc 10"),
    "cnn-cafed": ("conv 32 5 0", "conv 64 5 0", "fc 2048", "fc 10"),
    "lenet5": ("conv 6 5 0", "conv 16 5 0", "fc 120", "fc 84", "fc 10"),
    "linear-mnist": ("fc 10",),
    "linear-synthetic": ("fc 10",),
    "linear-binary": ("fc 1",),
}
# Residual nets: channels of the first stage, stages, blocks a stage, whether a shortcut that changes the shape has weights.
RESIDUAL = {"resnet18": (64, 4, 2, True), "resnet20": (16, 3, 3, False)}
IMAGES = {"linear-mnist": (28, 28, 1)}  # (h, w, c) of those that are not 32×32×3
FEATURES = {"linear-synthetic": (1, 1, 60), "linear-binary": (1, 1, 10)}  # nets that take real numbers, neither cropped nor normalised


def layers(net):
    """[(kind, numbers)]"""
    return [(kind, [int(n) for n in numbers]) for kind, *numbers in (layer.split() for layer in NETS[net])]


def image_shape(net):
    """(h, w, c) of the images or features a net takes."""
    return {**IMAGES, **FEATURES}.get(net, (32, 32, 3))


def outputs(net):
    return 10 if net in RESIDUAL else layers(net)[-1][1][0]


def classes(net):
    return max(2, outputs(net))


def residual_shapes(net):
    """[(name, shape)] in state_dict order, without num_batches_tracked."""
    first, stages, blocks, project = RESIDUAL[net]
    out = []

    def conv(name, channels, before, window):
        out.append((name + ".weight", (channels, before, window, window)))

    def norm(name, channels):
        out.extend((f"{name}.{part}", (channels,)) for part in ("weight", "bias", "running_mean", "running_var"))

    conv("conv1", first, 3, 3)
    norm("bn1", first)
    before = first
    for s in range(stages):
        channels = first << s
        for i in range(blocks):
            name = f"layer{s + 1}.{i}"
            conv(name + ".conv1", channels, before, 3)
            norm(name + ".bn1", channels)
            conv(name + ".conv2", channels, channels, 3)
            norm(name + ".bn2", channels)
            if before != channels and project:
                conv(name + ".downsample.0", channels, before, 1)
                norm(name + ".downsample.1", channels)
            before = channels
    return out + [("fc.weight", (10, before)), ("fc.bias", (10,))]


def residual_forward(net, p, x, train, relu=F.relu):
    """Logits; training updates the running statistics among p."""
    _, stages, blocks, project = RESIDUAL[net]
    p = iter(p)

    def conv(x, stride=1):
        w = next(p)
        return F.conv2d(x, w, stride=stride, padding=w.shape[2] // 2)

    def norm(x):
        weight, bias, mean, variance = (next(p) for _ in range(4))
        return F.batch_norm(x, mean, variance, weight, bias, training=train, momentum=0.1, eps=1e-5)

    x = relu(norm(conv(x)))
    for s in range(stages):
        for i in range(blocks):
            stride = 2 if s > 0 and i == 0 else 1
            y = norm(conv(relu(norm(conv(x, stride)))))
            if stride > 1 and project:
                x = norm(conv(x, stride))
            elif stride > 1:
                x = x[:, :, ::stride, ::stride]
                x = F.pad(x, (0, 0, 0, 0, 0, y.shape[1] - x.shape[1]))
            x = relu(y + x)
    return F.linear(x.mean((2, 3)), next(p), next(p))


def is_buffer(name):
    return name.rsplit(".", 1)[-1].startswith("running_")


def residual_initial(net):
    params = []
    for name, shape in residual_shapes(net):
        bound, offset = 0.125, 0
        if len(shape) > 1:
            bound = np.sqrt((1.0 if name == "fc.weight" else 6.0) / np.prod(shape[1:]))
        elif name.endswith("running_var") or name.endswith("weight"):
            offset = 1
        params.append((name, symmetric(WEIGHT, len(params), int(np.prod(shape)), bound).reshape(shape) + np.float32(offset)))
    return params


def initial(net):
    """[(name, float32 tensor)] in state_dict order."""
    if net in RESIDUAL:
        return residual_initial(net)
    h, _, c = image_shape(net)
    features, params, count = None, [], {"conv": 0, "fc": 0}
    for kind, numbers in layers(net):
        if kind == "drop":
            continue
        if kind == "conv":
            shape = (numbers[0], c, numbers[1], numbers[1])
            h, c = (h + 2 * numbers[2] - numbers[1] + 1) // 2, numbers[0]
        else:
            shape = (numbers[0], features or h * h * c)  # maps are square
            features = numbers[0]
        count[kind] += 1
        last = kind == "fc" and shape[0] == outputs(net)
        limit = np.sqrt((1.0 if last else 6.0) / np.prod(shape[1:]))
        for name, size, bound in ((f"{kind}{count[kind]}.weight", shape, limit), (f"{kind}{count[kind]}.bias", shape[:1], 0.125)):
            params.append((name, symmetric(WEIGHT, len(params), int(np.prod(size)), bound).reshape(size)))
    return params


def forward(net, p, x, batch, step):
    """Outputs [samples,O]; batch is B, the number of samples the masks are drawn for."""
    if net in RESIDUAL:
        return residual_forward(net, p, x, True)
    params, drops, maps = iter(p), 0, None
    for kind, numbers in layers(net):
        if kind == "conv":
            x = F.max_pool2d(F.relu(F.conv2d(x, next(params), next(params), padding=numbers[2])), 2)
            maps = tuple(x.shape[i] for i in (2, 3, 1))
            continue
        x = x.flatten(1)
        if kind == "drop":
            mask = dropout_mask(batch, maps or (x.shape[1],), step, drops)[: len(x)]
            x = x * mask.to(x.dtype) / (1 - RATE)
            drops += 1
            continue
        x = F.linear(x, next(params), next(params))
        maps = None
        if numbers[0] != outputs(net):
            x = F.relu(x)
    return x


def samples(net):
    """images uint8 or features float32 [n,h,w,c], labels int64 [n]."""
    shape = (SAMPLES, *image_shape(net))
    labels = (hashed(LABEL, 0, SAMPLES) % np.uint64(classes(net))).astype(np.int64)
    if net in FEATURES:
        return symmetric(FEATURE, 0, int(np.prod(shape)), 1.0).reshape(shape), labels
    images = (hashed(IMAGE, 0, int(np.prod(shape))) >> np.uint64(24)).astype(np.uint8).reshape(shape)
    return images, labels


def plain_images(net, n):
    """The first n images float32 [n,c,h,w], normalised."""
    c = image_shape(net)[2]
    x = torch.from_numpy(samples(net)[0][:n]).permute(0, 3, 1, 2).float().div(255)
    return (x - torch.tensor(MEAN[:c]).view(c, 1, 1)) / torch.tensor(STD[:c]).view(c, 1, 1)


def batches(net, case):
    """[(x float32 [count,c,h,w], y [count])] of every step."""
    images, labels = samples(net)
    h, w, c = image_shape(net)
    steps, batch = case["steps"], case["batch"]
    plan = case.get("plan", 0)
    index = (hashed(INDEX, plan, steps * batch) % np.uint64(SAMPLES)).astype(int).reshape(steps, batch)
    crop = (hashed(CROP, plan, steps * batch * 2) % np.uint64(9)).astype(int).reshape(steps, batch, 2)
    flip = (hashed(FLIP, plan, steps * batch) % np.uint64(2)).astype(bool).reshape(steps, batch)
    if net in FEATURES:
        return [(torch.from_numpy(images[i]), torch.from_numpy(labels[i])) for i in index[:, : case["count"]]]
    x = torch.from_numpy(images).permute(0, 3, 1, 2).float().div(255)
    x = (x - torch.tensor(MEAN[:c]).view(c, 1, 1)) / torch.tensor(STD[:c]).view(c, 1, 1)
    x = F.pad(x, (4, 4, 4, 4))
    out = []
    for e in range(steps):
        rows = []
        for b in range(case["count"]):
            top, left = crop[e, b]
            image = x[index[e, b], :, top : top + h, left : left + w]
            rows.append(image.flip(2) if flip[e, b] else image)
        out.append((torch.stack(rows), torch.from_numpy(labels[index[e, : case["count"]]])))
    return out


class Near(Exception):
    """A ReLU within MARGIN of 0."""


def relu_with_margin(x):
    if x.abs().min() < MARGIN * x.std():
        raise Near
    return F.relu(x)


def clear_plan(net, batch, count):
    """The first plan that leaves no ReLU of a step near 0."""
    params = [torch.from_numpy(w).double() for _, w in initial(net)]
    for plan in itertools.count():
        ((x, _),) = batches(net, {"plan": plan, "batch": batch, "count": count, "steps": 1})
        try:
            residual_forward(net, params, x.double(), True, relu_with_margin)
        except Near:
            continue
        return plan


def train(net, case, dtype):
    """Runs a case; returns its results as float64 arrays."""
    params = [torch.nn.Parameter(torch.from_numpy(w).to(dtype), requires_grad=not is_buffer(name)) for name, w in initial(net)]
    learned = [p for p in params if p.requires_grad]
    drift = [torch.from_numpy(symmetric(DRIFT, i, p.numel(), 2.0**-6)).to(dtype).view_as(p) for i, p in enumerate(params)]
    start = [p.detach().clone() for p in params]
    optimizer = torch.optim.SGD(learned, lr=case["lr"], weight_decay=case["weight_decay"], momentum=case["momentum"])
    result = {"norms": []}
    for step, (x, y) in enumerate(batches(net, case)):
        optimizer.zero_grad()
        logits = forward(net, params, x.to(dtype), case["batch"], step)
        if outputs(net) == 1:
            loss = F.binary_cross_entropy_with_logits(logits[:, 0], y.to(dtype))
            logits = torch.cat((torch.zeros_like(logits), logits), 1)
        else:
            loss = F.cross_entropy(logits, y)
        loss.backward()
        norm = float(torch.sqrt(sum((p.grad.double() ** 2).sum() for p in learned)))
        result["norms"].append(norm)
        if step == 0:
            result["loss"] = float(loss)
            result["logits"] = logits.detach().double().numpy().copy()
            result["grads"] = [(p.grad if p.requires_grad else torch.zeros_like(p)).double().numpy().copy() for p in params]
        if case["clip"] is not None:
            if norm <= case["clip"]:
                sys.exit(f"goldens: {net} {case['name']} step {step}: gradient norm {norm} within the clip {case['clip']}: nothing is tested")
            torch.nn.utils.clip_grad_norm_(learned, case["clip"])
        if case["drift"]:
            for p, d in zip(params, drift):
                if p.requires_grad:
                    p.grad += d
        optimizer.step()
    if net in RESIDUAL:
        with torch.no_grad():
            result["evaluated"] = residual_forward(net, params, plain_images(net, 8).to(dtype), False).double().numpy()
    result["update"] = [(p.detach().double() - s.double()).numpy() for p, s in zip(params, start)]
    return result


def number(x):
    return float(f"{x:.10g}")


def digest(tensor, i, places):
    flat = tensor.reshape(-1)
    places = np.arange(flat.size) if flat.size <= places else (hashed(PLACE, i, places) % np.uint64(flat.size)).astype(int)
    return {
        "norm": number(np.linalg.norm(flat)),
        "sum": number(flat.sum()),
        "largest": number(np.abs(flat).max()),
        "elements": [number(v) for v in flat[places]],
    }


def distance(a, b, rounding=0.0):
    return number(max(max(0.0, np.abs(x - y).max() - rounding) / np.abs(x).max() for x, y in zip(a, b) if np.abs(x).max() > 0))


def golden(net, case):
    exact, rounded = train(net, case, torch.float64), train(net, case, torch.float32)
    entry, places = dict(case), PLACES[net in RESIDUAL]
    entry["norms"] = [number(n) for n in exact["norms"]]
    entry["update"] = [digest(t, i, places) for i, t in enumerate(exact["update"])]
    entry["float32"] = {"update": distance(exact["update"], rounded["update"], case["steps"] * 2.0**-24 if net in RESIDUAL else 0.0)}
    if "evaluated" in exact:
        entry["evaluated"] = [[number(v) for v in row] for row in exact["evaluated"]]
        entry["float32"]["evaluated"] = number(np.abs(exact["evaluated"] - rounded["evaluated"]).max())
    if case["name"] in ("plain", "ragged", "large"):
        entry["loss"] = number(exact["loss"])
        entry["logits"] = [[number(v) for v in row] for row in exact["logits"]]
        entry["grads"] = [digest(t, i, places) for i, t in enumerate(exact["grads"])]
        entry["float32"].update(
            loss=number(abs(exact["loss"] - rounded["loss"])),
            logits=number(np.abs(exact["logits"] - rounded["logits"]).max()),
            grads=distance(exact["grads"], rounded["grads"]),
        )
    print(f"{net:12} {case['name']:12} loss {exact['loss']:.4f} norms", *(f"{n:.3g}" for n in exact["norms"]), entry["float32"])
    return entry


def cases(net):
    plain = {"name": "plain", "batch": 8, "count": 8, "steps": 5, "lr": 2.0**-4, "weight_decay": 0.0, "momentum": 0.0, "clip": None, "drift": False}
    features = {"weight decay": {"weight_decay": 2.0**-4}, "momentum": {"momentum": 0.875}, "clip": {"clip": 0.25 if net in FEATURES else 1.0}, "drift": {"drift": True}}
    if net in RESIDUAL:
        plain["lr"] = 2.0**-10  # or five steps go so far that float32 and float64 end in different places
        ragged = {"count": 5}
        if net == "resnet18":
            plain.update(batch=3, count=3, steps=1, plan=clear_plan(net, 3, 3))
            ragged = {"count": 2, "plan": clear_plan(net, 3, 2)}
        yield plain
        yield {**plain, "name": "all", "weight_decay": 2.0**-4, "momentum": 0.875, "clip": 1.0, "drift": True}
        yield {**plain, "name": "ragged", **ragged}
        return
    yield plain
    for name, change in features.items():
        yield {**plain, "name": name, **change}
    everything = {"name": "all"}
    for change in features.values():
        everything.update(change)
    yield {**plain, **everything}
    yield {**plain, "name": "ragged", "count": 5}
    if net == "cnn-cifar10":
        yield {**plain, "name": "large", "batch": 128, "count": 128, "steps": 1}


def main():
    torch.set_num_threads(1)
    known_answers()
    for net in sys.argv[1:] or [*NETS, *RESIDUAL]:
        if net not in NETS and net not in RESIDUAL:
            sys.exit(f"goldens: unknown net {net!r}, want one of {', '.join([*NETS, *RESIDUAL])}")
        file = {
            "origin": "nets/models/testdata/goldens.py; rewritten only by running it",
            "torch": torch.__version__, "numpy": np.__version__,
            "net": net, "samples": SAMPLES, "mean": MEAN, "std": STD,
            **({"places": PLACES[True]} if net in RESIDUAL else {}), "seed": SEED, "round": ROUND, "client": CLIENT, "rate": RATE if "drop" in NETS.get(net, ()) else 0.0,
            "params": [{"name": name, "shape": list(w.shape)} for name, w in initial(net)],
            "cases": [golden(net, case) for case in cases(net)],
        }
        path = os.path.join(HERE, net + ".json")
        with open(path + ".tmp", "w", encoding="utf-8") as f:
            json.dump(file, f, separators=(",", ":"), ensure_ascii=False)
            f.write("\n")
            f.flush()
            os.fsync(f.fileno())
        os.replace(path + ".tmp", path)


if __name__ == "__main__":
    main()
