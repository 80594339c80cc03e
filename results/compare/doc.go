// Package compare compares our numbers with the printed ones, and runs with runs.
//
//	table, err := papers.TableByID("fedawe-2")
//	rows, err := results.ReadSummary("out/fedawe-2/summary.csv")
//	c := compare.Table(&table, rows)        // every number beside the printed one, judged
//	err = c.Write(os.Stdout, compare.Plain) // column by column, with the order of the methods
//	err = c.Grid().Write(os.Stdout, compare.Export{Format: "latex", Printed: true}) // in the layout of the paper
package compare
