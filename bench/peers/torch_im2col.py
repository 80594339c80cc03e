"""Local steps of the plain nets for K clients side by side, of batched products alone, with gradients by hand.

A convolution is a product of its windows [K,B·H·W,h·w·C] with weights [K,h·w·C,O], so that no library's grouped
convolution is needed. Maps are [K,B,H,W,C], images have a fourth channel of zeros, and weights of fully connected
layers are [K,O,I] with inputs in the order of maps. SGD is part of the product that makes a gradient where it can be.
"""
import numpy as np
import torch
import torch.nn.functional as F

import work

CHANNELS = 4  # of an image: a row of windows is then a multiple of 16 bytes
CTAS = 264  # blocks of a product that fill a card: two for each of 132 processors


def start(net, weights):
    """{name: tensor} of one client, in this file's layouts."""
    out, channels = {}, 0
    for name, w in weights.items():
        w = torch.from_numpy(w)
        if w.dim() == 4:
            channels, w = len(w), F.pad(w, (0, 0, 0, 0, 0, CHANNELS - 3 if w.shape[1] == 3 else 0))
            out[name] = w.permute(2, 3, 1, 0).reshape(-1, channels).contiguous()
        elif name == "fc1.weight":
            side = int((w.shape[1] // channels) ** 0.5)
            out[name] = w.view(-1, channels, side, side).permute(0, 2, 3, 1).reshape(w.shape).contiguous()
        else:
            out[name] = w.clone()
    return out


def finish(net, weights):
    """{name: array} in the layouts of work.shapes."""
    out, channels = {}, 0
    for name, shape in work.shapes(net).items():
        w = weights[name].cpu()
        if len(shape) == 4:
            channels = shape[0]
            w = w.view(*shape[2:], -1, channels).permute(3, 2, 0, 1)[:, :shape[1]]
        elif name == "fc1.weight":
            side = int((shape[1] // channels) ** 0.5)
            w = w.view(-1, side, side, channels).permute(0, 3, 1, 2).reshape(shape)
        out[name] = np.ascontiguousarray(w.numpy())
    return out


def windows(x, side, pad, wide):
    """[K,B·H·W,side·side·C] of x [K,B,H,W,C]. wide copies up to 16 bytes at once, which a compiler does by itself."""
    x = F.pad(x, (0, 0, pad, pad, pad, pad)) if pad else x.contiguous()
    dtype, channels = x.dtype, x.shape[-1]
    if wide:
        for other in (torch.complex128, torch.complex64):
            if other.itemsize > dtype.itemsize and channels * dtype.itemsize % other.itemsize == 0:
                x = x.view(other)
                break
    cols = x.unfold(2, side, 1).unfold(3, side, 1).permute(0, 1, 2, 3, 5, 6, 4)  # [K,B,H,W,side,side,C]
    k, b, h, w = cols.shape[:4]
    cols = cols.reshape(k, b * h * w, -1)
    return cols if cols.dtype == dtype else cols.view(dtype)


def pool(y, slices):
    """2×2 maxima of y [K,B,H,W,O], and a function from their gradients to the gradients of y."""
    k, b, h, w, o = y.shape
    if not slices:
        flat = y.view(k * b, h, w, o).permute(0, 3, 1, 2)
        top, index = torch.ops.aten.max_pool2d_with_indices(flat, [2, 2], [2, 2])

        def back(g):
            g = g.reshape(k * b, h // 2, w // 2, o).permute(0, 3, 1, 2)
            d = torch.ops.aten.max_pool2d_with_indices_backward(g, flat, [2, 2], [2, 2], [0, 0], [1, 1], False, index)
            return d.permute(0, 2, 3, 1).reshape(y.shape)

        return top.permute(0, 2, 3, 1).reshape(k, b, h // 2, w // 2, o), back
    q, r, s, t = y[:, :, ::2, ::2], y[:, :, ::2, 1::2], y[:, :, 1::2, ::2], y[:, :, 1::2, 1::2]
    above, below = torch.maximum(q, r), torch.maximum(s, t)

    def back_slices(g):
        first, zero = above >= below, torch.zeros_like(g)  # at ties the first has the gradient
        upper, lower = torch.where(first, g, zero), torch.where(first, zero, g)
        rows = [torch.stack((torch.where(p >= n, d, zero), torch.where(p >= n, zero, d)), 4)
                for p, n, d in ((q, r, upper), (s, t, lower))]
        return torch.stack(rows, 3).reshape(y.shape)  # [K,B,H/2,2,W/2,2,O]

    return torch.maximum(above, below), back_slices


def descend(w, a, d, rate):
    """w [K,I,O] -= rate · aᵀ d, of a [K,M,I] and d [K,M,O]; in parts of M where K products do not fill the card."""
    k, m, parts = len(w), a.shape[1], 1
    while parts < 64 and k * parts * -(-w.shape[1] // 128) * -(-w.shape[2] // 128) < CTAS and m % (256 * parts) == 0:
        parts *= 2
    if parts == 1 and w.dtype == a.dtype:
        w.baddbmm_(a.transpose(1, 2), d, alpha=-rate)
        return
    split = a.reshape(k * parts, m // parts, -1), d.reshape(k * parts, m // parts, -1)
    g = torch.bmm(split[0].transpose(1, 2), split[1])
    w.add_(g.view(k, parts, *w.shape[1:]).sum(1, dtype=w.dtype), alpha=-rate)


def step(net, p, x, y, lr, dtype, compiled):
    """One SGD step in place of weights p {name: [K,…]} on images x [K,B,H,W,4] of dtype, with labels y [K,B]."""
    (k, b), rate, saved, convs, fcs = y.shape, lr / y.shape[1], [], 0, 0
    own = {n: w.to(dtype) for n, w in p.items()}
    for kind, *of in work.PLAIN[net]:
        if kind == "conv":
            convs, channels, (out, side, pad) = convs + 1, x.shape[-1], of
            cols = windows(x, side, pad, not compiled)
            height = x.shape[2] + 2 * pad - side + 1
            z = torch.bmm(cols, own[f"conv{convs}.weight"]).view(k, b, height, height, out)
            top, back = pool(z, compiled)
            # The bias after pooling: the same maxima, of a quarter of the elements.
            x = torch.relu(top + own[f"conv{convs}.bias"].view(k, 1, 1, 1, out))
            saved.append((f"conv{convs}", cols, x, back, (side, pad, channels)))
        else:
            fcs, x = fcs + 1, x.reshape(k, b, -1)
            name, last = f"fc{fcs}", of[0] == work.CLASSES
            z = torch.baddbmm(own[name + ".bias"].unsqueeze(1), x, own[name + ".weight"].transpose(1, 2))
            saved.append((name, x, z if last else torch.relu(z), None, None))
            x = saved[-1][2]
    # d is B times the gradient of a client's loss.
    right = (y.unsqueeze(2) == torch.arange(work.CLASSES, device=y.device)).float()
    d = (x.float().softmax(2) - right).to(dtype)
    for at, (name, seen, out, back, window) in reversed(list(enumerate(saved))):
        weight, bias = p[name + ".weight"], p[name + ".bias"]
        if back is None:
            if name != f"fc{fcs}":
                d = torch.ops.aten.threshold_backward(d, out, 0)
            before = torch.bmm(d, own[name + ".weight"]) if at else None
            descend(weight, d, seen, rate)
            bias.add_(d.sum(1, dtype=bias.dtype), alpha=-rate)
            d = before
            continue
        side, pad, channels = window
        d = torch.ops.aten.threshold_backward(d.reshape(out.shape), out, 0)
        bias.add_(d.sum((1, 2, 3), dtype=bias.dtype), alpha=-rate)
        d = back(d)
        before = None
        if at:  # the windows of the gradients times the turned weights
            turned = own[name + ".weight"].view(k, side, side, channels, -1).flip(1, 2).transpose(3, 4)
            before = torch.bmm(windows(d, side, side - 1 - pad, not compiled), turned.reshape(k, -1, channels))
        descend(weight, seen, d.reshape(k, seen.shape[1], -1), rate)
        d = before
