// Package papers holds each paper's tables and figures as data: the runs they need, the printed numbers, what the paper
// says about them, and the functions that draw them. It trains nothing: bench/many measures, and [Figure.Draw] draws.
//
//	table, err := papers.TableByID("fedawe-2")
//	for _, column := range table.Columns {
//		for _, method := range table.Methods {
//			fmt.Println("rollcall run", column.Data, column.Availability, method, column.Settings(method, "code"))
//		}
//	}
//	rows := table.Summarise(runs, false) // of finished runs, beside the printed numbers
//
// A new table is a value in PAPER.go with the numbers of the paper, and an item in items.go. A new figure is a value
// beside the other figures of its paper, its name in the list of its paper, and an item. A new kind of measurement is a
// type in figure.go, and a case of Pool.Measure in bench/many.
package papers
