package gpu

import "rollcall/nets/gpu/kernels"

// update queues a step of SGD on the row of gradients, and the step of the running statistics if the net has any. With
// clip, two kernels in front compute the factor that clips the norm of the gradient; sgd multiplies by it on the way,
// so that the gradient is not written again.
func (l *lowerer) update(clip bool) {
	P, n := uint32(l.layout.P), uint32(l.layout.trained)
	l.layer = "weights"
	norms, scale := &buffer{name: "norms"}, &buffer{name: "scale"}
	if clip {
		c := kernels.ClipArgs{P: P, N: n}
		fill := func(f *frame, c *kernels.ClipArgs) {
			c.Work, c.Grad, c.Partial, c.Scale = f.work, f.grad, f.norms, f.scale
		}
		queue(l, "grad_squares", (*kernels.ClipArgs).Squares, c, fill, access{l.grads, buffers{norms}})
		queue(l, "clip_scale", (*kernels.ClipArgs).Scales, c, fill, access{buffers{norms}, buffers{scale}})
	}
	a := kernels.SGDArgs{P: P, N: n}
	fill := func(f *frame, a *kernels.SGDArgs) {
		a.Work, a.Grad, a.Step, a.E = f.work, f.grad, f.step, f.E
		if clip {
			a.Scale = f.scale
		}
	}
	queue(l, l.kernel("sgd"), (*kernels.SGDArgs).Launch, a, fill, access{append(l.grads, scale), l.weights})
	if n < P {
		queue(l, "track", (*kernels.SGDArgs).Running, a, fill, access{l.grads, l.weights})
	}
}
