package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rollcall/internal/files"
)

// RunFile is the name of the file in a run's folder that says how the CSV files beside it were made.
const RunFile = "run.json"

// RunStatus says how a run ended. The zero value is not a status and cannot be written.
type RunStatus string

// The ways a run ends.
const (
	RunComplete    RunStatus = "complete"
	RunInterrupted RunStatus = "interrupted" // the curve has the rows until then
	RunFailed      RunStatus = "failed"      // likewise
	RunDiverged    RunStatus = "diverged"    // likewise; the same settings and seed would diverge again
)

// MarshalText returns an error for any status that is not one of the constants above.
func (s RunStatus) MarshalText() ([]byte, error) {
	return statusText(s, RunComplete, RunInterrupted, RunFailed, RunDiverged)
}

// UnmarshalText returns an error for any text that is not one of the constants above.
func (s *RunStatus) UnmarshalText(text []byte) error {
	*s = RunStatus(text)
	_, err := s.MarshalText()
	return err
}

// statusText returns the text of a status, or an error if it is not among the known ones.
func statusText[S ~string](s S, known ...S) ([]byte, error) {
	if !slices.Contains(known, s) {
		names := make([]string, len(known))
		for i, k := range known {
			names[i] = string(k)
		}
		return nil, fmt.Errorf("status %q, want one of %s", string(s), strings.Join(names, ", "))
	}
	return []byte(s), nil
}

// Schema is the version of run.json's format. Version 1 had no schema field and no checksums: its runs can be looked
// at, but no table reuses them and no mean mixes them with others.
const Schema = 2

// RunInfo is the content of run.json: everything needed to know how a run was made, and to repeat it.
type RunInfo struct {
	Schema       int       `json:"schema"` // set by [WriteRunInfo]
	Status       RunStatus `json:"status"`
	Error        string    `json:"error"`               // why the run failed; otherwise empty
	Traceback    string    `json:"traceback,omitempty"` // of a method in Python that failed
	Rounds       int       `json:"rounds"`              // the number that were trained
	Settings     any       `json:"settings"`
	Unused       any       `json:"settings_of_no_use,omitempty"` // settings of the column params that name no run
	SettingsHash string    `json:"settings_hash"`                // [Hash] of Settings; set by [WriteRunInfo]
	// The files that settings name: their paths, as a command line has them. They are in no hash.
	Files map[string]string `json:"files,omitempty"`
	// A command line that repeats the run, see [Cell.Command]. It is empty in the run.json of older programs.
	Command      string `json:"command,omitempty"`
	Seed         uint32 `json:"seed"`
	Data         string `json:"data"`          // the data set trained on
	DataChecksum string `json:"data_checksum"` // kind:digits, see [OfSeed]
	// Of a data set in a file of the user: the mean and the standard deviation of each channel of its training images,
	// scaled to [0, 1], with which images are normalised.
	DataMean     []float32 `json:"data_mean,omitempty"`
	DataStd      []float32 `json:"data_std,omitempty"`
	Subset       *Subset   `json:"subset,omitempty"` // that took part; nil: all samples of the data set
	AllowAltered bool      `json:"allow_altered"`    // whether data files that are not the official ones were allowed
	// The number of clients without a sample to train on, which were never available; missing: the program that made
	// the run may have averaged such clients too.
	WithoutSamples *int      `json:"clients_without_samples,omitempty"`
	Engine         string    `json:"engine"`
	Precision      string    `json:"precision"`
	Numerics       string    `json:"numerics"` // engines of the same numerics compute the same bytes
	Revisions      Revisions `json:"revisions"`
	Device         string    `json:"device"`
	Version        string    `json:"version"`
	GoVersion      string    `json:"go_version"`
	// Of a method in Python: the versions of python, numpy and rollcall_fl, on which its numbers may depend.
	Runtime   map[string]string `json:"runtime,omitempty"`
	Started   time.Time         `json:"started"`
	Finished  time.Time         `json:"finished"`
	Checksums Checksums         `json:"checksums"` // of the files beside it and of run.json; set by [WriteRunInfo]
}

// Subset says how many training and test samples were drawn, with --train-size and --test-size, and of how many. A part
// of which 0 were drawn has all.
type Subset struct {
	Train   int `json:"train"`
	TrainOf int `json:"train_of"`
	Test    int `json:"test"`
	TestOf  int `json:"test_of"`
}

// String returns the parts of which not all took part: "2,000 of 50,000 training samples, 500 of 10,000 test samples".
// Where it is not known of how many they are, it leaves that out.
func (s *Subset) String() string {
	var parts []string
	for _, part := range []struct {
		n, of int
		name  string
	}{{s.Train, s.TrainOf, "training"}, {s.Test, s.TestOf, "test"}} {
		switch {
		case part.n == 0:
		case part.of == 0:
			parts = append(parts, fmt.Sprintf("%s %s samples of the set", files.Thousands(part.n), part.name))
		default:
			parts = append(parts, fmt.Sprintf("%s of %s %s samples", files.Thousands(part.n), files.Thousands(part.of),
				part.name))
		}
	}
	return strings.Join(parts, ", ")
}

// Revisions count, for each part of the program, how often its numbers have changed. Runs of different revisions are
// not comparable number by number.
type Revisions struct {
	Method       int `json:"method"`
	Availability int `json:"process"` // the availability model
	Data         int `json:"data"`    // the data and their split
	Net          int `json:"net"`
	Engine       int `json:"engine"`
}

// String returns the revisions in the order of the fields: 2.1.1.1.1.
func (r Revisions) String() string {
	return fmt.Sprintf("%d.%d.%d.%d.%d", r.Method, r.Availability, r.Data, r.Net, r.Engine)
}

// WriteRunInfo writes run.json atomically, with settings sorted by key. It has the checksums of the curve up to the
// last round of info, and of the other files that the run has written, which wrote names. Settings are a map, a struct,
// a json.RawMessage or anything else that JSON can express, which excludes NaN and infinities. See [files.WriteFile]
// for before.
func WriteRunInfo(path string, info RunInfo, wrote []string, before ...files.Before) error {
	settings, err := canonical(info.Settings)
	if err != nil {
		return fmt.Errorf("results: %s: settings: %w", path, err)
	}
	info.Schema, info.SettingsHash, info.Settings = Schema, hash(settings), json.RawMessage(settings)
	info.Checksums, err = checksums(filepath.Dir(path), info.Rounds, wrote)
	if err != nil && info.Status != RunFailed { // the run may have failed because of this very file
		return err
	}
	// Go through JSON once more: the checksum depends on the fields as a reader will decode them.
	text, err := json.Marshal(info)
	if err == nil {
		info.Checksums[RunFile], err = infoChecksum(text)
	}
	if err != nil {
		return fmt.Errorf("results: %s: %w", path, err)
	}
	return files.WriteFile(path, func(w io.Writer) error {
		return files.WriteJSON(w, info)
	}, before...)
}

// Bounds of a run.json, whose longest part is a checksum for each model that a client keeps: of 100,000 clients.
const (
	MostInfo   = 16 << 20 // bytes
	mostValues = 1 << 18  // commas, each with a value
)

// ErrNewer is wrapped by the errors about a run.json that a newer rollcall has written.
var ErrNewer = errors.New("a newer rollcall wrote it")

// ReadRunInfo reads what [WriteRunInfo] wrote. Settings are decoded by encoding/json, usually to a map, with numbers as
// json.Number. It is an error if the settings do not have the hash beside them, or if the file was changed since.
func ReadRunInfo(path string) (RunInfo, error) {
	text, err := files.ReadTextUpTo(path, MostInfo)
	if err != nil {
		return RunInfo{}, fmt.Errorf("results: %w", err)
	}
	info, err := decodeRunInfo(text)
	if err != nil {
		return RunInfo{}, fmt.Errorf("results: %s: %w", path, err)
	}
	return info, nil
}

// decodeRunInfo decodes the content of run.json, of schema 1 or 2, and checks its hash and its checksum.
func decodeRunInfo(text []byte) (RunInfo, error) {
	info := RunInfo{Schema: 1}
	if err := decodeJSON(text, &info); err != nil {
		return RunInfo{}, err
	}
	if info.Schema < 1 || info.Schema > Schema {
		return RunInfo{}, fmt.Errorf("schema %d, want 1 … %d: %w", info.Schema, Schema, ErrNewer)
	}
	if _, err := info.Status.MarshalText(); err != nil { // the file has no status
		return RunInfo{}, err
	}
	settings, err := canonical(info.Settings)
	if err != nil {
		return RunInfo{}, fmt.Errorf("settings: %w", err)
	}
	if want := hash(settings); info.SettingsHash != want {
		return RunInfo{}, fmt.Errorf("settings_hash %q, want %q, the hash of the settings beside it",
			info.SettingsHash, want)
	}
	if info.Schema < Schema {
		return info, nil
	}
	if want, err := infoChecksum(text); err != nil || info.Checksums[RunFile] != want {
		return RunInfo{}, errors.Join(err, fmt.Errorf("checksum %q of its own, want %q: it was changed",
			info.Checksums[RunFile], want))
	}
	return info, nil
}

// decodeJSON decodes a text that is exactly one JSON value.
func decodeJSON(text []byte, into any) error {
	if n := bytes.Count(text, []byte(",")); n > mostValues { // decoded, each takes ten times its bytes
		return fmt.Errorf("%d values, want at most %d", n, mostValues)
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("empty, want JSON")
		}
		return err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more text after byte %d, want one JSON value", in.InputOffset())
	}
	return nil
}

// NetLayers is the key under which the settings in run.json have the layers of a net that is not of the catalogue.
const NetLayers = "net-layers"

// FileSettings are the settings that name a file, and the keys under which run.json has the SHA-256 of its content in
// their place.
var FileSettings = map[string]string{
	"trace": "trace-sha256", "chain": "chain-sha256", "init-from": "init-sha256", "split-file": "split-sha256",
}
