package plan

import (
	"io"
	"math"
	"path/filepath"

	"rollcall/bench/many"
	"rollcall/internal/files"
)

// document is a plan as JSON, for schedulers that make each run by a command of its own.
type document struct {
	Title    string        `json:"title"`
	Hardware string        `json:"hardware"` // on which seconds were measured; empty: nothing is left to do
	Notes    []string      `json:"notes"`
	Runs     []documentRun `json:"runs"`
}

// documentRun is a run of a [document].
type documentRun struct {
	ID           string   `json:"id"`      // its folder below --out, with slashes
	Command      []string `json:"command"` // the words of a command line that makes this run alone
	Status       string   `json:"status"`  // finished, resumes, left, or refused: its folder has other work
	Round        int      `json:"round"`   // from which it goes on; rounds if it is finished
	Rounds       int      `json:"rounds"`
	Seconds      float64  `json:"seconds"` // for what is left of it
	Bytes        int64    `json:"bytes"`   // of memory; 0 if it is finished
	Method       string   `json:"method"`
	Data         string   `json:"data"`
	Availability string   `json:"availability"`
	Seed         uint32   `json:"seed"`
}

// WriteJSON prints the plan as JSON, a run of two cells once. command returns the words of a command that trains a run.
func (p *Plan) WriteJSON(
	w io.Writer, out string, command func(r *many.Planned, id string) ([]string, error),
) error {
	d := document{Title: p.Title, Notes: append([]string{}, p.Notes...), Runs: []documentRun{}}
	if p.LargestOf != "" {
		d.Notes = append(d.Notes, p.memory())
	}
	if len(p.Rates) > 0 {
		d.Hardware = p.hardware()
	}
	for i := range p.Runs {
		r := &p.Runs[i]
		if r.Twin {
			continue
		}
		dir, err := filepath.Rel(out, r.Dir)
		if err != nil {
			return err
		}
		id, s := filepath.ToSlash(dir), &r.Settings
		one := documentRun{
			ID: id, Status: "left", Round: r.Done, Rounds: s.Rounds,
			Seconds: math.Round(r.Sec*10) / 10, Bytes: r.Bytes,
			Method: s.Method, Data: s.Data, Availability: s.Availability, Seed: r.Seed,
		}
		if one.Command, err = command(&r.Planned, id); err != nil {
			return err
		}
		if r.Refused != "" {
			one.Status = "refused"
		} else if r.Kept {
			one.Status, one.Round = "finished", s.Rounds
		} else if r.Done > 0 {
			one.Status = "resumes"
		}
		d.Runs = append(d.Runs, one)
	}
	return files.WriteJSON(w, d)
}
