package results

import (
	"fmt"

	"rollcall/results/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// SummaryFile is the name of a table's summary in its folder.
const SummaryFile = "summary.csv"

// CellStatus says how the runs of a cell ended. The zero value is none and cannot be written.
type CellStatus string

// The ways a cell ends.
const (
	CellOK          CellStatus = "ok"
	CellFailed      CellStatus = "failed"
	CellInterrupted CellStatus = "interrupted"
	CellRunning     CellStatus = "running"    // other processes make some seeds, which are not in the mean yet
	CellDiverged    CellStatus = "diverged"   // some seeds did, which are not in the mean
	CellMixed       CellStatus = "mixed"      // the mean is over runs that are not alike, as somebody asked for
	CellUnverified  CellStatus = "unverified" // nothing says that the numbers are what a run left
)

// MarshalText refuses other texts than the constants.
func (s CellStatus) MarshalText() ([]byte, error) {
	return statusText(s, CellOK, CellFailed, CellInterrupted, CellRunning, CellDiverged, CellMixed, CellUnverified)
}

// UnmarshalText refuses other texts than the constants.
func (s *CellStatus) UnmarshalText(text []byte) error {
	*s = CellStatus(text)
	_, err := s.MarshalText()
	return err
}

// SummaryRow is one metric of one cell of a table over its seeds, beside the paper's number.
type SummaryRow struct {
	Cell
	Params Params         `csv:"params"`          // as in [CurveRow]
	Rounds int            `csv:"rounds,optional"` // of every run in it; 0: nobody knows
	Metric metrics.Metric `csv:"metric"`
	N      int            `csv:"n"` // seeds in Mean and Std
	// missing where no seed got to the end, or where a first round was never reached
	Mean      files.Optional `csv:"mean"`
	Std       files.Optional `csv:"std"`        // sample standard deviation, see [stats.SampleStd]; missing where N < 2
	PaperMean files.Optional `csv:"paper_mean"` // missing where the paper prints none, or a dash for never
	PaperStd  files.Optional `csv:"paper_std"`
	Status    CellStatus     `csv:"status"`
	Error     string         `csv:"error"` // the first failed seed's; "1 diverged: " and which; what is mixed; or empty

	// What may differ between the runs of a row is [Mixed] where it does.
	Version   string `csv:"version"`
	Engine    string `csv:"engine"`
	Precision string `csv:"precision"`
	Device    string `csv:"device"`

	// What may not, unless the status is mixed: rows of one cell that differ in it stand apart. See [Likeness].
	Numerics  string `csv:"numerics,optional"`
	Revisions string `csv:"revisions,optional"`
	Checksum  string `csv:"data_checksum,optional"`
}

// Mixed stands for a text of runs that do not have the same.
const Mixed = "mixed"

// WriteSummary writes a summary in the order given, atomically.
func WriteSummary(path string, rows []SummaryRow) error { return files.WriteCSVFile(path, rows) }

// ReadSummary reads what [WriteSummary] wrote.
func ReadSummary(path string) ([]SummaryRow, error) {
	rows, err := files.ReadCSVFile[SummaryRow](path)
	for i := range rows {
		if err := rows[i].Named(); err != nil {
			return nil, fmt.Errorf("results: %s: row %d: %w", path, i+1, err)
		}
	}
	return rows, err
}

// Estimate puts a mean over seeds into the row.
func (r *SummaryRow) Estimate(e stats.Estimate) {
	r.N, r.Mean, r.Std = e.N, files.Some(e.Mean), e.Std
}

// Paper puts a printed number into the row.
func (r *SummaryRow) Paper(p Printed) {
	r.PaperMean, r.PaperStd = p.Mean, p.Std
}
