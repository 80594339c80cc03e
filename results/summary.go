package results

import (
	"fmt"

	"rollcall/internal/files"
	"rollcall/results/metrics"
	"rollcall/results/stats"
)

// SummaryFile is the name of a table's summary in its folder.
const SummaryFile = "summary.csv"

// CellStatus says how the runs of a cell ended. The zero value is not a status and cannot be written.
type CellStatus string

// The ways a cell ends.
const (
	CellOK          CellStatus = "ok"
	CellFailed      CellStatus = "failed"
	CellInterrupted CellStatus = "interrupted"
	CellRunning     CellStatus = "running"    // other processes still compute some seeds, not in the mean yet
	CellRefused     CellStatus = "refused"    // the folders of some seeds have other work
	CellDiverged    CellStatus = "diverged"   // some seeds diverged and are not in the mean
	CellMixed       CellStatus = "mixed"      // the mean is over runs that are not alike, as the user asked
	CellUnverified  CellStatus = "unverified" // the runs are missing, or are of schema 1
)

// MarshalText returns an error for any status that is not one of the constants above.
func (s CellStatus) MarshalText() ([]byte, error) {
	return statusText(s, CellOK, CellFailed, CellInterrupted, CellRunning, CellRefused, CellDiverged, CellMixed,
		CellUnverified)
}

// UnmarshalText returns an error for any text that is not one of the constants above.
func (s *CellStatus) UnmarshalText(text []byte) error {
	*s = CellStatus(text)
	_, err := s.MarshalText()
	return err
}

// SummaryRow is one metric of one cell of a table, averaged over the seeds, beside the paper's number.
type SummaryRow struct {
	Setup
	Params Params         `csv:"params"`          // as in [CurveRow]
	Rounds int            `csv:"rounds,optional"` // of each of its runs; 0: unknown
	Metric metrics.Metric `csv:"metric"`
	N      int            `csv:"n"` // seeds in Mean and Std
	// missing if no seed is complete, or if no round reached the target of the metric
	Mean      files.Optional `csv:"mean"`
	Std       files.Optional `csv:"std"`        // sample standard deviation, see [stats.SampleStd]; missing if N < 2
	PaperMean files.Optional `csv:"paper_mean"` // missing if the paper prints none, or a dash for never
	PaperStd  files.Optional `csv:"paper_std"`
	Status    CellStatus     `csv:"status"`
	Error     string         `csv:"error"` // of the first failed seed; the diverged seeds; what is mixed; or empty

	// These may differ between the runs of a row: all values, with [And] between them.
	Version   string `csv:"version"`
	Engine    string `csv:"engine"`
	Precision string `csv:"precision"`
	Device    string `csv:"device"`

	// These may not differ: such runs are in rows of their own, see [Likeness]. If the status is mixed all the same,
	// they are [mixedText].
	Numerics  string `csv:"numerics,optional"`
	Revisions string `csv:"revisions,optional"`
	Checksum  string `csv:"data_checksum,optional"`
}

// And is between the values of a column in which the runs of a row differ.
const And = " and "

// mixedText is the text of a column of the conditions that runs must share, where the user had runs mixed that do not.
const mixedText = "mixed"

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

// Estimate sets the row's seeds, mean and standard deviation.
func (r *SummaryRow) Estimate(e stats.Estimate) {
	r.N, r.Mean, r.Std = e.N, files.Some(e.Mean), e.Std
}

// Paper sets the row's printed mean and standard deviation.
func (r *SummaryRow) Paper(p Printed) {
	r.PaperMean, r.PaperStd = p.Mean, p.Std
}
