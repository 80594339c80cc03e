package models

import (
	"fmt"

	"rollcall/datasets/plan"
)

// fromLayers returns the net of some layers.
func fromLayers(name string, shape plan.Shape, l layers) *Model {
	m := &Model{Name: name, revision: 1, Shape: shape, Build: l.build, layers: l, Linear: len(l) == 0}
	if l.normalises() {
		m.revision = normRevision
	}
	return m
}

// build adds the layers and the last one, and stops at the first that the maps before it do not fit.
//
// Parameters are named as in PyTorch code for such nets: conv1, bn1, conv2, …, each bn with the number of its conv;
// layer1.0, layer1.1, … for blocks, as torchvision's ResNets have them, where a stage of blocks begins with other
// channels, a stride, or behind another layer; fc1, fc2, …, or fc alone in a net with blocks and no linear.
func (l layers) build(b *Builder) Maps {
	borders := l.borders(b.model.C)
	h := b.Input(borders[0])
	stage, inStage, before, blocks := 0, 0, layer{}, false
	convs, weights := 0, 0.0
	for i, at := range append(l[:len(l):len(l)], layer{kind: "linear", n: b.model.Classes}) {
		last, text := i == len(l), at.String()
		if last {
			text = "the last, " + text
		}
		n, err := at.fits(h)
		if weights += n; err == nil && weights > maxParams {
			err = fmt.Errorf("%.0f parameters up to here, want at most %d", weights, maxParams)
		}
		if err != nil {
			b.fail(layerError(i, text, err))
			return Maps{}
		}
		border := borders[min(i+1, len(l))]
		switch at.kind {
		case "conv":
			convs++
			name := fmt.Sprintf("conv%d", convs)
			if at.norm {
				h = b.conv2d(name, h, at.n, at.r, at.s, at.stride, at.pad)
				h = b.norm(b.normParams(fmt.Sprintf("bn%d", convs), h), h, Maps{}, border, at.relu)
			} else {
				h = b.Conv(name, h, at.n, at.r, at.s, at.stride, at.pad, border, at.pool)
			}
		case "block":
			inStage++
			if before.kind != "block" || at.stride > 1 || at.n != before.n {
				stage, inStage = stage+1, 0
			}
			blocks = true
			h = b.basicBlock(fmt.Sprintf("layer%d.%d", stage, inStage), h, at.n, at.stride, true, max(1, border))
		case "average":
			h = b.average(h)
		case "dropout":
			h = b.Dropout(h, at.rate)
		case "linear":
			name := fmt.Sprintf("fc%d", b.fcs+1)
			if last && blocks && b.fcs == 0 {
				name = "fc"
			}
			h = b.namedLinear(name, h, at.n, !last)
		}
		if b.err != nil {
			b.err = layerError(i, text, b.err)
			return Maps{}
		}
		before = at
	}
	return h
}

// borders returns how wide a border of zeros the maps before every layer have, and the maps before the last one. The
// output of a block whose shortcut is its input has the border of its input, and a block writes one for the next.
func (l layers) borders(channels int) []int {
	borders := make([]int, len(l)+1)
	for i := len(l) - 1; i >= 0; i-- {
		before := channels
		if i > 0 {
			before = l[i-1].n
		}
		switch at := l[i]; {
		case at.kind == "conv":
			borders[i] = at.pad
		case at.kind == "block" && at.stride == 1 && at.n == before:
			borders[i] = max(1, borders[i+1])
		case at.kind == "block", at.kind == "average": // average takes any; with 1 resnet18 is as it always was
			borders[i] = 1
		}
	}
	return borders
}

// fits returns how many parameters a layer has behind maps or features, and an error for maps that it cannot take.
func (l *layer) fits(x Maps) (params float64, err error) {
	in, out := float64(x.c), float64(l.n)
	sizes := fmt.Sprintf("%d×%d×%d maps", x.h, x.w, x.c)
	h, w := x.h, x.w
	switch l.kind {
	case "linear":
		if x.h > 0 {
			in *= float64(h) * float64(w)
		}
		return (in + 1) * out, nil
	case "conv":
		if h += 2 * l.pad; h < l.r || w+2*l.pad < l.s {
			return 0, fmt.Errorf("%s with padding %d are smaller than the %d×%d window", sizes, l.pad, l.r, l.s)
		}
		h, w = (h-l.r)/l.stride+1, (w+2*l.pad-l.s)/l.stride+1
		params = float64(l.r*l.s)*in*out + out
		if l.norm {
			params += 3 * out
		}
	case "block":
		h, w = (h-1)/l.stride+1, (w-1)/l.stride+1
		params = 9*out*(in+out) + 8*out
		if l.stride > 1 || x.c != l.n {
			params += in*out + 4*out
		}
	}
	switch {
	case l.pool && (h < 2 || w < 2):
		return 0, fmt.Errorf("of %s the convolution makes %d×%d×%d, want at least 2×2 to pool", sizes, h, w, l.n)
	case (l.norm || l.kind == "block") && h*w < 2:
		return 0, fmt.Errorf("of %s it makes %d×%d×%d, which have no variance in a batch of one sample, "+
			"want at least 2 pixels to normalise", sizes, h, w, l.n)
	}
	return params, nil
}
