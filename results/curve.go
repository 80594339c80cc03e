package results

import (
	"rollcall/internal/files"
	"rollcall/results/metrics"
)

// CurveFile is the name of a run's curve in its folder.
const CurveFile = "curve.csv"

// CurveRow is one evaluated round of one run.
type CurveRow struct {
	Setup
	Seed       uint32         `csv:"seed"`
	Round      int            `csv:"round"`  // 1 … T; 0 is the initial model
	Active     int            `csv:"active"` // clients that trained in this round; 0 in round 0
	LR         float64        `csv:"lr"`     // local learning rate of this round; 0 in round 0
	TrainLoss  files.Optional `csv:"train_loss"`
	TrainAcc   files.Optional `csv:"train_acc"` // fraction
	TestLoss   files.Optional `csv:"test_loss"`
	TestAcc    files.Optional `csv:"test_acc"`  // fraction
	ElapsedSec float64        `csv:"elapsed_s"` // since the start of the run; the parts of a resumed run are added up
	// all other settings that differ from the preset, sorted: key=value;…
	Params    Params `csv:"params"`
	Engine    string `csv:"engine"`    // cpu-generic, cpu-avx2, cpu-avx512, cpu-amx, cuda-sm90, …
	Precision string `csv:"precision"` // fp32, tf32, bf16, bf16x3
	Version   string `csv:"version"`   // of rollcall
}

// WriteCurve writes a curve in the order given, atomically. See [files.WriteFile] for before.
func WriteCurve(path string, rows []CurveRow, before ...files.Before) error {
	return files.WriteCSVFile(path, rows, before...)
}

// ReadCurve reads what [WriteCurve] wrote.
func ReadCurve(path string) ([]CurveRow, error) { return files.ReadCSVFile[CurveRow](path) }

// Metric returns the measured column of a metric; it is missing for metrics that are computed from whole curves.
func (r CurveRow) Metric(m metrics.Metric) files.Optional {
	switch m {
	case metrics.TrainLoss:
		return r.TrainLoss
	case metrics.TrainAcc:
		return r.TrainAcc
	case metrics.TestLoss:
		return r.TestLoss
	case metrics.TestAcc:
		return r.TestAcc
	}
	return files.Optional{}
}
