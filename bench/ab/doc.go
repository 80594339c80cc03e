// Package ab says whether one program is slower than another on this machine, and finds the first slow one of a series.
//
//	bench := &ab.Bench{Flags: flags, Out: dir}
//	all, last, err := bench.Compare(ctx, old, next, 16, func(pass int) {}) // in turn, pass by pass
//	report, err := ab.DefaultRule().Judge(old, next, all, last)
//	fmt.Println(report.Text) // new is slower: step_loops +5.1 % (4.8 … 5.4 %)
//
// [Bisect] searches a series. Programs are measured by `rollcall bench --format json`, in turn, so that they have the
// same neighbours.
package ab
