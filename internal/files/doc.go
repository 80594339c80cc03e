// Package files writes files whole or not at all, and reads and writes structs as CSV and arrays as NPY.
//
//	type row struct {
//		Round int            `csv:"round"`
//		Loss  files.Optional `csv:"loss"` // an empty cell if it is missing
//	}
//	err := files.WriteCSVFile("curve.csv", []row{{1, files.Some(2.3)}, {2, files.Optional{}}})
//	rows, err := files.ReadCSVFile[row]("curve.csv", files.MostTable)
//
// A run may be killed at any moment, and a half-written file must never pass for a result. So every file is written
// under a temporary name, and then renamed.
package files
