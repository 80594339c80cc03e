package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"rollcall/internal/files"
)

// ModelFile is the name of the file with the last model, in the folder of a run that saved it.
const ModelFile = "model.safetensors"

// ClientModelFile returns the file name of a personal model. Several clients may share one; client is the smallest of
// their numbers.
func ClientModelFile(client int) string { return fmt.Sprintf("model-client-%d.safetensors", client) }

// ModelFiles returns the sorted names of the saved models in a run's folder; nil if the folder does not exist.
func ModelFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("results: %w", err)
	}
	for _, e := range entries {
		if isModelFile(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// isModelFile reports whether a file of this name in a run's folder is a saved model.
func isModelFile(name string) bool {
	is, _ := path.Match("model*.safetensors", name) // the pattern is well formed
	return is
}

// models returns the sorted names of the models that the run's folder has, or should have according to run.json.
func (r *Run) models() ([]string, error) {
	names, err := ModelFiles(r.Dir)
	for name := range r.Info.Checksums {
		if isModelFile(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}

// DecisionsFile is the name of the file in a run's folder that says how the method treated its clients.
const DecisionsFile = "decisions.csv"

// DecisionRow is one client in one round of a method that weights clients (CA-Fed's papers). Rows are sorted by Round,
// then by Client, and every client has a row in every round.
type DecisionRow struct {
	Round    int `csv:"round"` // from 1
	Client   int `csv:"client"`
	Active   int `csv:"active"`   // 1: the client is available
	Included int `csv:"included"` // 1: the method uses the client whenever it is available
	// factor of the client's update in the model, without the server's learning rate; 0 if absent or excluded
	Weight float64 `csv:"q"`
	Pi     float64 `csv:"pi"`     // the server's estimate of its availability; with the oracle, the truth
	Lambda float64 `csv:"lambda"` // likewise of the second eigenvalue of its Markov chain
	Target float64 `csv:"alpha"`  // α, the target importance
}

// ReadDecisions reads the decisions of one run. Rows that are missing or out of order are an error.
func ReadDecisions(path string) ([]DecisionRow, error) {
	rows, err := files.ReadCSVFile[DecisionRow](path, files.MostRows)
	if err != nil {
		return nil, err
	}
	n := ClientsOf(rows)
	for i, r := range rows {
		if n == 0 || r.Round != i/n+1 || r.Client != i%n || len(rows)%n != 0 {
			return nil, fmt.Errorf("results: %s: row %d: round %d client %d, want every client of every round in order",
				path, i+1, r.Round, r.Client)
		}
	}
	return rows, nil
}

// ClientsOf returns the number of clients in the rows of one run, N: the number of rows of round 1.
func ClientsOf(rows []DecisionRow) int {
	n := slices.IndexFunc(rows, func(r DecisionRow) bool { return r.Round != 1 })
	if n < 0 {
		return len(rows)
	}
	return n
}

// ClientsFile is the name of the file in a run's folder that says how good the last model is for each client.
const ClientsFile = "clients.csv"

// ClientRow is one client of a run, tested after the last round (FedAR, Table 3 and Figure 3).
type ClientRow struct {
	Round    int     `csv:"round"`
	Client   int     `csv:"client"`
	Pi       float64 `csv:"pi"`       // the client's availability, mean over the rounds
	N        int     `csv:"n"`        // test samples of the client's own classes
	Accuracy float64 `csv:"accuracy"` // on these test samples, a fraction
	Loss     float64 `csv:"loss"`     // mean per sample
}

// ReadClients reads the clients of one run. The rows must be in the order of the clients, from 0.
func ReadClients(path string) ([]ClientRow, error) {
	rows, err := files.ReadCSVFile[ClientRow](path, files.MostRows)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if r.Client != i {
			return nil, fmt.Errorf("results: %s: row %d: client %d, want %d", path, i+1, r.Client, i)
		}
	}
	return rows, nil
}

// RunFiles are the files that a run may write besides its models, in the order in which they are written. run.json
// comes last: a folder without it is an unfinished run.
var RunFiles = []string{CurveFile, DecisionsFile, ClientsFile, RunFile}

// Written returns the sorted names of the files that the run has written besides its curve and its run.json, and that
// are as they were written.
func (r *Run) Written() (names []string) {
	if r.Info == nil {
		return nil
	}
	for name := range r.Info.Checksums {
		if name != CurveFile && name != RunFile && r.Wrote(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// CopyRun copies the files of a run into the folder to, byte for byte, run.json last. It copies no other files.
func CopyRun(r *Run, to string) error {
	for _, name := range slices.Concat([]string{CurveFile}, r.Written(), []string{RunFile}) {
		if err := copyFile(r, name, to); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies one file of a run into the folder to. An unfinished run has no run.json.
func copyFile(r *Run, name, to string) error {
	from, _, err := files.OpenRegular(filepath.Join(r.Dir, name))
	if errors.Is(err, fs.ErrNotExist) && name == RunFile {
		return nil
	}
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	defer func() { _ = from.Close() }() // nothing was written
	return files.WriteFile(filepath.Join(to, name), func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// Adopt copies a finished run into the folder to and makes it a run of the given table: the curve names that table, and
// run.json has the checksum of the new curve. Tables share cells, and a copy takes seconds where a run takes hours.
func Adopt(r *Run, to, table string) (*Run, error) {
	for _, name := range r.Written() {
		if err := copyFile(r, name, to); err != nil {
			return nil, err
		}
	}
	copied := *r
	copied.Dir, copied.Table, copied.Curve = to, table, slices.Clone(r.Curve)
	for i := range copied.Curve {
		copied.Curve[i].Table = table
	}
	if err := WriteCurve(filepath.Join(to, CurveFile), copied.Curve); err != nil {
		return nil, err
	}
	return &copied, WriteRunInfo(filepath.Join(to, RunFile), *r.Info, r.Written())
}
