// Package ops holds the batched Gorgonia operations the networks are made of, each with a leading client axis K.
//
// An op knows its shapes when it is made, owns its output buffer and is used in one place of one graph. Its gradient
// is one op too, a [Grad], whose output is one flat vector [dx|dw|db]; [Take] makes zero-copy views of it. Gorgonia's
// own sum, where a value is used twice, may write its result into the buffer of one of its terms: borders stay zero,
// nothing else can be relied on.
//
// Read linear.go first, an op with weights, then op.go and grad.go, which have what all ops and all gradients share.
// Every other file is one op and its gradient, but for take.go, which has the views. The arithmetic is in nets/cpu.
//
// A new op is one file: its formula and shapes, a constructor that checks the shapes, DiffWRT and SymDiff, the
// gradient rule, and Do and Backward, which call kernels of nets/cpu. Add a row to the table of cases in ops_test.go or
// residual_test.go, which compare the gradient with difference quotients, and cases to op and gradient in
// nets/gpu/lower.go, or the CUDA engine refuses nets with it.
package ops
