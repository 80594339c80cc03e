#!/usr/bin/env python3
"""Federated rounds in JAX: a whole round is one compiled program, with the local steps in a scan.

A variant is a word of parts that are joined by a dash: vmap (over the clients) or map (one client after another), and
im2col (convolutions as a product of shifted views, which vmap makes a batched one, in place of grouped convolutions).
"""
import json
import os
import platform
import sys

import work

PARSER = work.arguments(__doc__, ["vmap", "vmap-im2col", "map", "map-im2col"])
PARSER.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: fp32 is TF32, the library's choice")
ARGS = PARSER.parse_args()
HOW = ARGS.variant.split("-")
os.environ["JAX_PLATFORMS"] = ARGS.device
if ARGS.device == "cuda":
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
else:
    work.stay(ARGS.cpus, ARGS.threads)
if ARGS.device == "cpu" and ARGS.threads == 1:
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"

import jax  # noqa: E402 (its threads count the processors once)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

if ARGS.check:
    jax.config.update("jax_enable_x64", True)

BF16 = ARGS.precision == "bf16"
# Of the largest difference after one step, as a part of the largest update.
LIMIT = {"fp32": 1e-2 if ARGS.device == "cpu" else 5e-2, "bf16": 1e-1}


def cast(x):
    return x.astype(jnp.bfloat16) if BF16 else x


def conv(x, w, stride=1, pad=1, im2col=False):
    """x [B,H,W,C], w [O,C,h,w]; the operands are bfloat16 in bf16, as autocast's are."""
    x, w = cast(x), cast(w)
    if not im2col or w.shape[2] == 1:
        return lax.conv_general_dilated(x, w.transpose(2, 3, 1, 0), (stride, stride), ((pad, pad), (pad, pad)),
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))
    side, x = w.shape[2], jnp.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    height, width = (x.shape[1] - side) // stride + 1, (x.shape[2] - side) // stride + 1
    views = [x[:, i:i + (height - 1) * stride + 1:stride, j:j + (width - 1) * stride + 1:stride]
             for i in range(side) for j in range(side)]
    return jnp.concatenate(views, -1) @ w.transpose(2, 3, 1, 0).reshape(-1, w.shape[0])


def pool(x):
    """2×2 max pooling; the gradient of reduce_window is slow."""
    x = x[:, :x.shape[1] // 2 * 2, :x.shape[2] // 2 * 2]
    rows = jnp.maximum(x[:, ::2], x[:, 1::2])
    return jnp.maximum(rows[:, :, ::2], rows[:, :, 1::2])


def norm(p, new, name, x):
    """BatchNorm over a batch; the running statistics go to new."""
    n, y = x.size // x.shape[-1], x.astype(p[name + ".weight"].dtype)
    mean = y.mean((0, 1, 2))
    var = jnp.square(y - mean).mean((0, 1, 2))
    for part, value in (("running_mean", mean), ("running_var", var * (n / (n - 1)))):
        new[f"{name}.{part}"] = lax.stop_gradient(0.9 * p[f"{name}.{part}"] + 0.1 * value)
    y = (y - mean) * (lax.rsqrt(var + 1e-5) * p[name + ".weight"]) + p[name + ".bias"]
    return cast(y)


def linear(p, name, x):
    return cast(x) @ cast(p[name + ".weight"]).T + cast(p[name + ".bias"])


def forward(net, p, x, im2col):
    """Logits [B,10], and the new running statistics; x [B,32,32,3]."""
    new, relu = {}, jax.nn.relu
    if net in work.PLAIN:
        convs = fcs = 0
        for layer in work.PLAIN[net]:
            if layer[0] == "conv":
                convs += 1
                x = conv(x, p[f"conv{convs}.weight"], 1, layer[3], im2col) + cast(p[f"conv{convs}.bias"])
                x = relu(pool(x))
            else:
                x = x.transpose(0, 3, 1, 2).reshape(len(x), -1) if x.ndim == 4 else x
                fcs += 1
                x = linear(p, f"fc{fcs}", x)
                x = x if layer[1] == work.CLASSES else relu(x)
        return x, new
    x = relu(norm(p, new, "bn1", conv(x, p["conv1.weight"], im2col=im2col)))
    for name, before, channels, stride, project in work.blocks(net):
        h = relu(norm(p, new, name + ".bn1", conv(x, p[name + ".conv1.weight"], stride, 1, im2col)))
        h = norm(p, new, name + ".bn2", conv(h, p[name + ".conv2.weight"], 1, 1, im2col))
        if project:
            x = norm(p, new, name + ".downsample.1", conv(x, p[name + ".downsample.0.weight"], stride, 0))
        elif stride > 1:
            x = jnp.pad(x[:, ::2, ::2], ((0, 0), (0, 0), (0, 0), (0, channels - before)))
        x = relu(h + x)
    return linear(p, "fc", x.mean((1, 2))), new


def make(net, im2col, vmapped, lr, images, labels):
    """The compiled round(weights, index [K,E,B], row, column, flip [K,E])."""
    data = work.data_of(net)

    def batch(index, row, column, flip, dtype):
        std = jnp.asarray(data.std, dtype)
        x = images[index].astype(dtype) * (1 / (255 * std)) - jnp.asarray(data.mean, dtype) / std
        if not data.augmented:
            return x
        x = jnp.pad(x, ((0, 0), (work.BORDER,) * 2, (work.BORDER,) * 2, (0, 0)))
        at = jnp.int32(0), row, column, jnp.int32(0)
        x = lax.dynamic_slice(x, at, (len(index), data.side, data.side, data.channels))
        return jnp.where(flip, x[:, :, ::-1], x)

    def step(p, plan):
        dtype = p["fc.weight" if net in work.RESIDUAL else "fc1.weight"].dtype

        def loss(p):
            logits, new = forward(net, p, batch(*plan, dtype), im2col)
            logp = jax.nn.log_softmax(logits.astype(dtype))
            return -jnp.take_along_axis(logp, labels[plan[0]][:, None], 1).mean(), new

        grads, new = jax.grad(loss, has_aux=True)(p)
        return {n: new[n] if n in new else w - lr * grads[n] for n, w in p.items()}, None

    def one_round(p, *plan):
        def client(plan):
            return lax.scan(step, p, plan)[0]

        ends = jax.vmap(client)(plan) if vmapped else lax.map(client, plan)
        return jax.tree.map(lambda w: w.mean(0), ends)

    return jax.jit(one_round)


def as_plan(index, row, column, flip):
    return index.astype(np.int32), row.astype(np.int32), column.astype(np.int32), flip


def check(draws, weights):
    """Status 0 if one step agrees with the same step without vmap or im2col in float64."""
    global BF16
    plan = as_plan(*draws.round(ARGS.clients, 1))
    images, labels = jnp.asarray(draws.images), jnp.asarray(draws.labels)
    got = make(ARGS.net, "im2col" in HOW, "vmap" in HOW, np.float32(ARGS.lr), images, labels)(weights, *plan)
    got = jax.tree.map(np.asarray, got)
    BF16, double = False, {n: w.astype(np.float64) for n, w in weights.items()}
    want = jax.tree.map(np.asarray, make(ARGS.net, False, False, ARGS.lr, images, labels)(double, *plan))
    return work.verdict(ARGS, LIMIT[ARGS.precision], work.largest_difference(got, want, double))


def main():
    draws = work.Draws(ARGS.net, ARGS.batch, None if ARGS.check else ARGS.data)
    weights = work.start_weights(ARGS.net, ARGS.init_from)
    if ARGS.check:
        return check(draws, weights)
    if ARGS.profile:
        sys.exit("jax_peer: --profile: only torch_peer.py has it")
    compiled = make(ARGS.net, "im2col" in HOW, "vmap" in HOW, np.float32(ARGS.lr), jnp.asarray(draws.images),
                    jnp.asarray(draws.labels))

    def one_round():
        jax.block_until_ready(compiled(weights, *as_plan(*draws.round(ARGS.clients, ARGS.steps))))

    if ARGS.device == "cuda":
        weights, plan = jax.device_put(weights), as_plan(*draws.round(ARGS.clients, ARGS.steps))

        def one_round():  # draws the next round while the card trains
            nonlocal plan
            mean = compiled(weights, *plan)
            plan = as_plan(*draws.round(ARGS.clients, ARGS.steps))
            jax.block_until_ready(mean)

    if ARGS.serve:
        work.serve(one_round, ARGS.clients * ARGS.steps, {"python": platform.python_version(), "jax": jax.__version__})
    else:
        one_round()
        versions = {"jax": jax.__version__, "card": jax.devices()[0].device_kind} if ARGS.device == "cuda" else {}
        print(json.dumps({**work.measure(one_round, ARGS.clients * ARGS.steps, 5), **versions}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
