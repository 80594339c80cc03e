"""The nets in PyTorch, for K clients side by side: one tensor a layer holds the weights of all.

Channels are client-major: maps are [B,K·C,H,W], convolutions have K groups, and BatchNorm needs no change. K = 1 is the
usual net.
"""
import torch
import torch.nn.functional as F

import work


def stack(weights, k, memory=torch.contiguous_format, dtype=None):
    """{name: tensor}: weights [K·O,C,h,w] of convolutions, [K,O,I] of fully connected layers, [K·C] of the others."""
    out = {}
    for name, w in weights.items():
        t = torch.from_numpy(w).to(dtype=dtype)
        if t.dim() == 4:
            out[name] = t.repeat(k, 1, 1, 1).contiguous(memory_format=memory)
        elif name.startswith("fc"):
            out[name] = t.repeat(k, *[1] * t.dim())
        else:
            out[name] = t.repeat(k)
        out[name].requires_grad_(work.learned(name))
    return out


def unstack(params, k):
    """{name: tensor [K,…]}"""
    return {n: p.detach().reshape(k, -1) if p.dim() == 1 else p.detach().reshape(k, -1, *p.shape[1:])
            if p.dim() == 4 else p.detach() for n, p in params.items()}


class Products:
    """The products of convolutions and fully connected layers. replay.py has others."""
    conv2d, linear = staticmethod(F.conv2d), staticmethod(F.linear)


def linear(p, name, x, k, by):
    """x [B,K·I] or [K,B,I] to [K,B,O]; of one client [B,I] to [B,O]."""
    w, b = p[name + ".weight"], p[name + ".bias"]
    if k == 1:
        return by.linear(x, w[0], b[0])
    if x.dim() == 2:
        x = x.reshape(len(x), k, -1).transpose(0, 1)
    return torch.baddbmm(b.unsqueeze(1).to(x.dtype), x, w.transpose(1, 2).to(x.dtype))


def pool(x, slices):
    """2×2 max pooling; of slices where a compiler is to make one loop of it. At ties slices share the gradient."""
    if not slices:
        return F.max_pool2d(x, 2)
    x = x[:, :, :x.shape[2] // 2 * 2, :x.shape[3] // 2 * 2]
    a, b = torch.maximum(x[:, :, ::2, ::2], x[:, :, ::2, 1::2]), torch.maximum(x[:, :, 1::2, ::2], x[:, :, 1::2, 1::2])
    return torch.maximum(a, b)


def norm(p, name, x):
    return F.batch_norm(x, p[name + ".running_mean"], p[name + ".running_var"], p[name + ".weight"], p[name + ".bias"],
                        True, 0.1, 1e-5)


def block(p, name, x, k, channels, stride, project, by):
    h = by.conv2d(x, p[name + ".conv1.weight"], stride=stride, padding=1, groups=k)
    h = F.relu(norm(p, name + ".bn1", h), inplace=True)
    h = norm(p, name + ".bn2", by.conv2d(h, p[name + ".conv2.weight"], padding=1, groups=k))
    if project:
        x = norm(p, name + ".downsample.1", by.conv2d(x, p[name + ".downsample.0.weight"], stride=stride, groups=k))
    elif stride > 1:
        x = x[:, :, ::2, ::2]
        b, c, height, width = x.shape
        more = (0, 0, 0, 0, 0, channels - c // k)  # zeros in the new channels
        x = F.pad(x, more) if k == 1 else F.pad(x.reshape(b, k, -1, height, width), more).reshape(b, -1, height, width)
    return F.relu(h + x)


def forward(net, p, x, k, slices=False, by=Products, masks=()):
    """Logits [B,10] of one client, or [K,B,10]; x is [B,K·C,H,W]. masks: [(bool mask [B,F], rate)] of the
    dropout layers."""
    if net in work.PLAIN:
        convs = fcs = 0
        masks = iter(masks)
        for layer in work.PLAIN[net]:
            if layer[0] == "conv":
                convs += 1
                x = by.conv2d(x, p[f"conv{convs}.weight"], p[f"conv{convs}.bias"], padding=layer[3], groups=k)
                x = F.relu(pool(x, slices), inplace=True)  # the same values and gradients as ReLU before it
                continue
            if x.dim() == 4:
                x = x.flatten(1)
            if layer[0] == "drop":
                mask, rate = next(masks)
                x = x * mask / (1 - rate)
                continue
            fcs += 1
            x = linear(p, f"fc{fcs}", x, k, by)
            if layer is not work.PLAIN[net][-1]:
                x = F.relu(x, inplace=True)
        return x
    x = by.conv2d(x, p["conv1.weight"], padding=1, groups=k)
    x = F.relu(norm(p, "bn1", x), inplace=True)
    for name, _, channels, stride, project in work.blocks(net):
        x = block(p, name, x, k, channels, stride, project, by)
    return linear(p, "fc", x.mean((2, 3)), k, by)


def loss(net, p, x, y, k, slices=False):
    """The sum over clients of the mean loss of a batch, so that each has the gradient of its own; y [B] or [K,B]."""
    out = forward(net, p, x, k, slices).float()
    if k == 1:
        return F.cross_entropy(out, y)
    return F.cross_entropy(out.flatten(0, 1), y.flatten(), reduction="sum") / y.shape[1]
