package kernels

// ScoreArgs are the arguments of score; score.cu says what each field means.
type ScoreArgs struct {
	Work, Logits, Labels, Loss, Correct uint64
	B, O                                uint32
}

// Launch returns the launch of score, which reads the logits; the sums that it writes are a few bytes.
func (a *ScoreArgs) Launch(Precision) Launch {
	return Launch{Geometry{X: 1, Threads: softmaxThreads}, Cost{Bytes: 4 * volume(a.B, a.O)}}
}
