// Package many trains many runs: tables and figures of papers, sweeps, and tunings.
//
//	t, err := papers.TableByID("fedawe-2")
//	cells, err := many.Cells(&t, &many.Wanted{Preset: "code", Methods: []string{"fedawe", "mifa"}})
//	p := many.NewPool(os.Stderr, run.Machine{Device: "cpu", Threads: 2, AtOnce: 1, Out: "out"}, many.Keep{})
//	done, err := p.Table(ctx, &t, cells) // finished runs are kept, the others trained or resumed; summary.csv
//	err = errors.Join(err, p.Close())
//
// A pool hands jobs to its sessions in the order of a queue. Workers may share the work by a common folder, whose
// runs they lock, or by parts of the list of runs.
package many
