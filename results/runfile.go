package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

// RunInfo is everything needed to tell what made a CSV, and to make it again.
type RunInfo struct {
	Status       RunStatus `json:"status"`
	Error        string    `json:"error"`  // empty where all is well
	Rounds       int       `json:"rounds"` // done
	Settings     any       `json:"settings"`
	SettingsHash string    `json:"settings_hash"` // [Hash] of Settings; set by [WriteRunInfo]
	Seed         uint32    `json:"seed"`
	Data         string    `json:"data"`          // what was really trained on
	DataChecksum string    `json:"data_checksum"` // kind:digits
	AllowAltered bool      `json:"allow_altered"` // whether other files than the official ones would have been taken
	Engine       string    `json:"engine"`
	Precision    string    `json:"precision"`
	Device       string    `json:"device"`
	Version      string    `json:"version"`
	GoVersion    string    `json:"go_version"`
	Started      time.Time `json:"started"`
	Finished     time.Time `json:"finished"`
}

// WriteRunInfo writes run.json atomically, settings sorted by key. Settings are a map, a struct, a json.RawMessage or
// anything else that has a JSON form; NaN and infinities have none.
func WriteRunInfo(path string, info RunInfo) error {
	return files.WriteFile(path, func(w io.Writer) error {
		settings, err := canonical(info.Settings)
		if err != nil {
			return fmt.Errorf("settings: %w", err)
		}
		info.SettingsHash = hash(settings)
		info.Settings = json.RawMessage(settings)
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(info)
	})
}

// ReadRunInfo reads what [WriteRunInfo] wrote. Settings is then what encoding/json makes of them, a map as a rule, with
// numbers as json.Number. Settings that do not have the hash written beside them are an error.
func ReadRunInfo(path string) (RunInfo, error) {
	text, err := os.ReadFile(path)
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
	var info RunInfo
	if err := decodeJSON(text, &info); err != nil {
		return RunInfo{}, err
	}
	if _, err := info.Status.MarshalText(); err != nil { // where there was no status at all
		return RunInfo{}, err
	}
	settings, err := canonical(info.Settings)
	if err != nil {
		return RunInfo{}, fmt.Errorf("settings: %w", err)
	}
	if want := hash(settings); info.SettingsHash != want {
		return RunInfo{}, fmt.Errorf("settings_hash %q, want %q, the hash of the settings beside it", info.SettingsHash, want)
	}
	return info, nil
}

// Complete reports whether dir holds a finished run with these settings, its curve readable to its last round. Anything
// that is missing, broken, unfinished or of other settings is not complete and has to run again.
func Complete(dir, settingsHash string) bool {
	info, err := ReadRunInfo(filepath.Join(dir, RunFile))
	if err != nil || info.Status != RunComplete || info.SettingsHash != settingsHash {
		return false
	}
	curve, err := ReadCurve(filepath.Join(dir, CurveFile))
	return err == nil && len(curve) > 0 && curve[len(curve)-1].Round == info.Rounds
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
