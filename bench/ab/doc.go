// Package ab says whether one program is slower than another on this machine, and finds the first slow one of a series.
//
//	changes := ab.DefaultRule().Changes(series)      // two programs, pass by pass
//	v := ab.Judge(changes)                           // NEW is slower: step_loops +5.1 % (4.8 … 5.4 %)
//	found, err := ab.Bisect{…}.Find(ctx, len(names)) // the first slow one
//
// Programs are measured by `rollcall bench --format json`, in turn, so that they have the same neighbours.
package ab
