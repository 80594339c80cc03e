// Package nightly measures the workloads whose speed is followed night by night: rounds, client-steps and evaluations
// of three nets, the server's arithmetic, and single kernels.
//
//	b := &nightly.Bench{Suite: nightly.StandardSuite(), Machine: machine, Stderr: os.Stderr}
//	m, err := b.Identify() // the machine, with its fingerprint: only nights of the same machine are compared
//	values, err := b.Measure(ctx)
//	for _, line := range nightly.Warnings(m, track.Night{Conditions: b.Conditions(), Values: values}) {
//		fmt.Fprintln(os.Stderr, line) // why not to trust this night
//	}
//
// Package results/track keeps the measurements and finds shifts in them.
package nightly
