package kernels

// The layers below allocate buffers in their first run and keep them. The functions
// below give the sizes beforehand, so that a run can say how much memory it will take. Buffers of a few numbers per
// channel are not counted.

// Buffers is the memory that a layer keeps.
type Buffers struct {
	Numbers  int // elements of the layer's type
	Operands int // elements of rounded operands; 0 without [Exec.Products]
	Shared   int // elements that an executor computes with, which its layers share
	Scratch  int // elements that a thread computes with, which all layers share; 0 if they are few
}

// ForwardBuffers returns what a [ConvForward] keeps. rounded says whether operands are rounded.
func (s ConvShape) ForwardBuffers(rounded bool) Buffers {
	if !rounded {
		return Buffers{}
	}
	return Buffers{Operands: s.K * s.panels().len()}
}

// BackwardBuffers returns what a [ConvBackward] keeps. dx says whether it computes the gradient of x.
func (s ConvShape) BackwardBuffers(dx, rounded bool) Buffers {
	b := Buffers{Numbers: s.K * imageChunks(s.B) * (s.wLen() + s.O)}
	if dx {
		b.Numbers += s.flippedLen(rounded)
		if rounded {
			b.Operands = s.K * s.flippedPanels().len()
		}
	}
	return b
}

// ForwardBuffers returns what a [Conv2DForward] keeps.
func (s Conv2DShape) ForwardBuffers(rounded bool) (b Buffers) {
	switch {
	case !rounded && s.Winograd():
		b.Shared = s.K * s.winogradLen()
		layer := s.winogradForward()
		b.Scratch = layer.room()
	case rounded:
		b.Operands = s.K * s.panels().len()
		if _, w := s.Out(); w < narrow {
			b.Operands += s.K * s.B * s.xLen()
		}
	case s.O > PanelCols:
		b.Numbers = s.K * s.wLen()
	}
	return b
}

// BackwardBuffers returns what a [Conv2DWeights] keeps and, if dx, a [Conv2DInput].
func (s Conv2DShape) BackwardBuffers(dx, rounded bool) (b Buffers) {
	if !rounded && s.Winograd() {
		b.Shared = s.K * s.winogradGroups() * s.winogradLen()
		if dx {
			layer := s.winogradBackward()
			b.Scratch = layer.room() // more than dw takes
		}
		return b
	}
	switch large := s.wLen() >= largeWeights; {
	case large && rounded:
		b.Operands = s.K * s.gradientPanels().len()
	case large && s.O > PanelCols:
		b.Numbers = s.K * s.B * s.yLen()
	case !large && imageChunks(s.B) > 1:
		b.Numbers = s.K * imageChunks(s.B) * s.wLen()
	}
	if !dx {
		return b
	}
	input := Conv2DInput[float32]{Conv2DShape: s}
	input.prepare()
	framed := 0 // elements of gy in its frame, if tiles go through the images
	if input.frame.w < narrow {
		framed = s.K * s.B * input.frame.len()
	}
	if rounded {
		b.Operands += s.K*input.rows*s.C + framed
		return b
	}
	if input.frame.bordered() {
		b.Numbers += framed
	}
	b.Numbers += s.K * s.wLen()
	return b
}

// ForwardBuffers returns what a [LinearForward] keeps.
func (s LinearShape) ForwardBuffers(rounded bool) Buffers {
	if !rounded {
		return Buffers{}
	}
	return Buffers{Operands: s.K * s.B * rowPitch(s.I)}
}

// BackwardBuffers returns what a [LinearBackward] keeps.
func (s LinearShape) BackwardBuffers(dx, rounded bool) Buffers {
	b := Buffers{Numbers: s.K * s.B * s.O}
	if rounded {
		b.Operands = s.K * s.panels().len()
		if dx {
			b.Operands += s.K * s.B * rowPitch(s.O)
		}
	}
	return b
}
