// Package conditions says under what conditions something is measured: how much processor time it takes, and who else
// uses the machine. Where a system does not say, a number is missing.
//
//	load := conditions.Load(conditions.LoadPath) // of all processes, before
//	from, _ := conditions.ReadTicks(conditions.TicksPath)
//	begun := conditions.ProcessorTime()
//	measure()
//	took := conditions.ProcessorTime() - begun
//	to, _ := conditions.ReadTicks(conditions.TicksPath)
//	fmt.Println(took, load, conditions.Steal(from, to), conditions.Others(from, to))
package conditions
