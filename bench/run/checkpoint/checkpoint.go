// Package checkpoint writes and reads what a run needs to go on where it was interrupted, to the same bytes.
//
// A checkpoint is a safetensors file: a description of the run (metadata), the curve up to now, the decisions if they
// are asked for, the method's state, and a SHA-256 of everything before it. A run keeps two, so that a damaged one
// costs no more than the rounds between them. Every draw of a run is a function of (seed, purpose, round, client,
// step), so that no generator has a state to be kept.
//
// checkpoint.go names and removes the files, write.go and read.go are the format, and newest.go looks how far a run is.
package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"rollcall/results"
)

// Schema is the version of the file format. A file of another version is not used.
const Schema = 1

// About describes the run of a checkpoint, and how far the run is.
type About struct {
	Schema       int               `json:"schema"` // [Write] sets it
	SettingsHash string            `json:"settings_hash"`
	Seed         uint32            `json:"seed"`
	Numerics     string            `json:"numerics"`
	Revisions    results.Revisions `json:"revisions"`
	DataChecksum string            `json:"data_checksum"`
	Params       int               `json:"params"`    // P, the parameters of the net
	Decisions    bool              `json:"decisions"` // whether the decisions of all rounds are in the file

	Version    string    `json:"version"` // rollcall's, for messages only
	Round      int       `json:"round"`   // how many rounds are done
	Rounds     int       `json:"rounds"`  // how many rounds the run has
	Started    time.Time `json:"started"`
	ElapsedSec float64   `json:"elapsed_s"` // time of training and evaluation

	Runtime map[string]string `json:"runtime,omitempty"` // versions of a method in Python, for messages only
}

// Unlike returns the reason why a run cannot resume from a; nil: it can. Everything that decides the numbers of the run
// must be equal. A data checksum of run that is "" is not known yet, and not compared.
func (a *About) Unlike(run *About) error {
	for _, d := range []struct {
		what      string
		is, wants any
	}{
		{"settings", a.SettingsHash, run.SettingsHash},
		{"seed", a.Seed, run.Seed},
		{"numerics", a.Numerics, run.Numerics},
		{"revisions of method, availability model, data, net and engine", a.Revisions, run.Revisions},
		{"data checksum", a.DataChecksum, cmp.Or(run.DataChecksum, a.DataChecksum)},
		{"number of parameters", a.Params, run.Params},
		{"number of rounds", a.Rounds, run.Rounds},
	} {
		if d.is != d.wants {
			return fmt.Errorf("%s %v, want %v", d.what, d.is, d.wants)
		}
	}
	if run.Decisions && !a.Decisions {
		return errors.New("a checkpoint without decisions, want the decisions of all rounds")
	}
	return nil
}

// fileName matches the name of a checkpoint and captures its round.
var fileName = regexp.MustCompile(`^checkpoint-(\d+)\.safetensors$`)

// Name returns the file name of a run's checkpoint after a round.
func Name(round int) string { return fmt.Sprintf("checkpoint-%d.safetensors", round) }

// Rounds returns the rounds of the checkpoints in a folder, the last first; none if there is no folder. It looks at
// names alone.
func Rounds(dir string) (rounds []int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if m := fileName.FindStringSubmatch(e.Name()); m != nil {
			if round, err := strconv.Atoi(m[1]); err == nil && Name(round) == e.Name() {
				rounds = append(rounds, round)
			}
		}
	}
	slices.Sort(rounds)
	slices.Reverse(rounds)
	return rounds, err
}

// Remove removes the checkpoints of these rounds from a folder.
func Remove(dir string, rounds ...int) (err error) {
	for _, round := range rounds {
		gone := os.Remove(filepath.Join(dir, Name(round)))
		if !errors.Is(gone, fs.ErrNotExist) { // another process may have removed it
			err = errors.Join(err, gone)
		}
	}
	return err
}
