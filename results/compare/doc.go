// Package compare puts our numbers beside the printed ones, and runs beside runs.
package compare
