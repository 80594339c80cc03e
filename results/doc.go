// Package results defines the files of a run and of a table, writes them, finds them again and checks them.
//
//	runs, bad, err := results.FindRuns(ctx, "out")
//	for _, cell := range results.Cells(runs, false) { // the seeds of one setting that may share a mean
//		mean, err := protocol.OverSeeds(cell.Complete(), results.ProtocolRounds, metrics.TestAcc)
//		fmt.Println(cell, cell.Status(), mean)
//	}
//
// Nobody can vouch for a folder. So a run counts only if its curve agrees with its run.json and its files with their
// checksums, and if no other seed has the same numbers.
package results
