// Package remote runs a method that is a program of its own, a Python file, and drives the engine for it.
//
// The program is a child process. It speaks JSON lines on two pipes of its own, descriptors 3 (to the child) and 4
// (from it), by the protocol of docs/protocol.md: the parent says which round begins, and the child asks for training
// and for sums of rows until the round is done. Weights stay in the engine.
//
//	host := &remote.Host{Command: "python3"}
//	script, err := host.Describe(ctx, "fedaum.py", os.Stderr, 0) // its name, parameters, rates and the SHA-256 of all
//	algos.Register(host.Definition(script))                   // from now on it is a method like any other
package remote
