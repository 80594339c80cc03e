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

	"rollcall/results/files"
)

// RunFile is the name of the file beside every CSV that says how it came about.
const RunFile = "run.json"

// RunStatus says how a run ended. The zero value is none and cannot be written.
type RunStatus string

// The ways a run ends.
const (
	RunComplete    RunStatus = "complete"
	RunInterrupted RunStatus = "interrupted" // its rows so far are there
	RunFailed      RunStatus = "failed"      // likewise
	RunDiverged    RunStatus = "diverged"    // likewise; the same settings and seed would diverge again
)

// MarshalText refuses other texts than the constants.
func (s RunStatus) MarshalText() ([]byte, error) {
	return statusText(s, RunComplete, RunInterrupted, RunFailed, RunDiverged)
}

// UnmarshalText refuses other texts than the constants.
func (s *RunStatus) UnmarshalText(text []byte) error {
	*s = RunStatus(text)
	_, err := s.MarshalText()
	return err
}

// statusText returns a status as it is written, if it is one of those there are.
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

// Schema is the form of run.json that is written. Of schema 1, which did not say so, a run can be looked at; it is
// never kept for a table, nor in a mean with others.
const Schema = 2

// RunInfo is everything needed to tell what made a CSV, and to make it again.
type RunInfo struct {
	Schema       int       `json:"schema"` // set by [WriteRunInfo]
	Status       RunStatus `json:"status"`
	Error        string    `json:"error"`  // empty where all is well
	Rounds       int       `json:"rounds"` // done
	Settings     any       `json:"settings"`
	Unused       any       `json:"settings_of_no_use"` // those that the run does not look at; they do not name it
	SettingsHash string    `json:"settings_hash"`      // [Hash] of Settings; set by [WriteRunInfo]
	Seed         uint32    `json:"seed"`
	Data         string    `json:"data"`          // what was really trained on
	DataChecksum string    `json:"data_checksum"` // kind:digits, see [OfSeed]
	AllowAltered bool      `json:"allow_altered"` // whether other files than the official ones would have been taken
	Engine       string    `json:"engine"`
	Precision    string    `json:"precision"`
	Numerics     string    `json:"numerics"` // class of the engine's numbers: one class, the same bytes
	Revisions    Revisions `json:"revisions"`
	Device       string    `json:"device"`
	Version      string    `json:"version"`
	GoVersion    string    `json:"go_version"`
	Started      time.Time `json:"started"`
	Finished     time.Time `json:"finished"`
	Checksums    Checksums `json:"checksums"` // of the files beside it, and of the rest of this; set by [WriteRunInfo]
}

// Revisions count how often the numbers of what made a run have changed.
type Revisions struct {
	Method  int `json:"method"`
	Process int `json:"process"` // of availability
	Data    int `json:"data"`    // and how it is split
	Net     int `json:"net"`
	Engine  int `json:"engine"`
}

// String returns them in the order of the fields: 2.1.1.1.1.
func (r Revisions) String() string {
	return fmt.Sprintf("%d.%d.%d.%d.%d", r.Method, r.Process, r.Data, r.Net, r.Engine)
}

// WriteRunInfo writes run.json atomically, settings sorted by key, with the checksums of the run's other files, which
// are there already. Settings are a map, a struct, a json.RawMessage or anything else that has a JSON form; NaN and
// infinities have none.
func WriteRunInfo(path string, info RunInfo) error {
	settings, err := canonical(info.Settings)
	if err != nil {
		return fmt.Errorf("results: %s: settings: %w", path, err)
	}
	info.Schema, info.SettingsHash, info.Settings = Schema, hash(settings), json.RawMessage(settings)
	info.Checksums, err = checksums(filepath.Dir(path))
	if err != nil && info.Status != RunFailed { // of which the file may be what failed
		return err
	}
	text, err := json.Marshal(info)
	if err == nil {
		info.Checksums[RunFile], err = infoChecksum(text)
	}
	if err != nil {
		return fmt.Errorf("results: %s: %w", path, err)
	}
	return files.WriteFile(path, func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(info)
	})
}

// ReadRunInfo reads what [WriteRunInfo] wrote. Settings is then what encoding/json makes of them, a map as a rule, with
// numbers as json.Number. Settings that do not have the hash written beside them are an error, and so is a file that is
// not as it was written.
func ReadRunInfo(path string) (RunInfo, error) {
	text, err := files.ReadRegular(path)
	if err != nil {
		return RunInfo{}, fmt.Errorf("results: %w", err)
	}
	info, err := decodeRunInfo(text)
	if err != nil {
		return RunInfo{}, fmt.Errorf("results: %s: %w", path, err)
	}
	return info, nil
}

func decodeRunInfo(text []byte) (RunInfo, error) {
	info := RunInfo{Schema: 1}
	if err := decodeJSON(text, &info); err != nil {
		return RunInfo{}, err
	}
	if info.Schema < 1 || info.Schema > Schema {
		return RunInfo{}, fmt.Errorf("schema %d, want 1 … %d: a newer rollcall wrote it", info.Schema, Schema)
	}
	if _, err := info.Status.MarshalText(); err != nil { // where there was no status at all
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

// decodeJSON reads one JSON value with nothing behind it.
func decodeJSON(text []byte, into any) error {
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
