// Package ops holds the batched Gorgonia operations the networks are made of, each with a leading client axis K.
//
// An op knows its shapes when it is made, owns its output buffer, and is used in one place of one graph. Its gradient
// is a single op too, a [Grad], whose output is one flat vector [dx|dw|db]; [Take] makes views of its parts without
// copying. Nobody may rely on the contents of an output buffer after its last reader, except for borders, which stay
// zero.
//
// Two gradients go no way of their own, since they would only be written to memory and read again. That of a
// normalised convolution's output is computed by the gradient of the convolution, see [BatchNorm.SymDiff]. And where a
// value is used twice, Gorgonia adds the gradients with an op of its own: the CPU engine leaves that to the gradient of
// a convolution, see [Conv2D].Plus.
//
// Read linear.go first: it is an op with weights. Then read op.go and grad.go, which have what all ops and all
// gradients share. take.go has the views, buffer_bytes.go the memory that ops take; every other file is one op and its
// gradient. The arithmetic is in nets/cpu/kernels.
//
// A new op is one file: its formula and shapes, a constructor that checks the shapes, the gradient rule (SymDiff), and
// Do and Backward, which call nets/cpu/kernels. Add a row to the table of cases in ops_test.go, whose tests compare the
// gradient with difference quotients. Add the op and its gradient to nets/gpu/lower.go, or the CUDA engine refuses nets
// that use it.
package ops
