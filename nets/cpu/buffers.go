package cpu

// The layers below allocate buffers in their first run and keep them. The functions
// below give the sizes beforehand, so that a run can say how much memory it will take. Buffers of a few numbers per
// channel are not counted.

// BackwardBuffers returns the elements that a [ConvBackward] keeps. dx says whether it computes the gradient of x.
func (s ConvShape) BackwardBuffers(dx bool) int {
	n := s.K * imageChunks(s.B) * (s.wLen() + s.O)
	if dx {
		n += s.K * s.wLen()
	}
	return n
}

// ForwardBuffers returns the elements that a [Conv2DForward] keeps.
func (s Conv2DShape) ForwardBuffers() int {
	if s.O <= PanelCols {
		return 0
	}
	return s.K * s.wLen()
}

// BackwardBuffers returns the elements that a [Conv2DWeights] keeps and, if dx, those that a [Conv2DInput] keeps.
func (s Conv2DShape) BackwardBuffers(dx bool) int {
	n := 0
	switch {
	case s.wLen() >= largeWeights && s.O > PanelCols:
		n = s.K * s.B * s.yLen()
	case s.wLen() < largeWeights && imageChunks(s.B) > 1:
		n = s.K * imageChunks(s.B) * s.wLen()
	}
	if !dx {
		return n
	}
	input := Conv2DInput[float32]{Conv2DShape: s}
	input.prepare()
	if input.frame.w < narrow && input.frame.bordered() {
		n += s.K * s.B * input.frame.len()
	}
	return n + s.K*s.wLen()
}

// BackwardBuffers returns the elements that a [LinearBackward] keeps.
func (s LinearShape) BackwardBuffers() int { return s.K * s.B * s.O }
