// Package checkpoint writes and reads what a run needs to go on where it was interrupted, to the same bytes.
//
// A checkpoint is a safetensors file: what it is of (metadata), the curve so far, the method's state, and a SHA-256 of
// all before it. Two are kept, so that one that is damaged costs no more than the rounds between them.
package checkpoint

import (
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

// Schema is the form of the files that are written. A file of another one is not used.
const Schema = 1

// About says which run a checkpoint is of, and how far the run is.
type About struct {
	Schema       int               `json:"schema"` // set by [Write]
	SettingsHash string            `json:"settings_hash"`
	Seed         uint32            `json:"seed"`
	Numerics     string            `json:"numerics"`
	Revisions    results.Revisions `json:"revisions"`
	DataChecksum string            `json:"data_checksum"`
	Params       int               `json:"params"`    // P
	Decisions    bool              `json:"decisions"` // whether what the method decided was kept

	Version    string    `json:"version"` // of rollcall, for people
	Round      int       `json:"round"`   // rounds done
	Rounds     int       `json:"rounds"`  // in all
	Started    time.Time `json:"started"`
	ElapsedSec float64   `json:"elapsed_s"` // of training and evaluation
}

// Unlike says why a run that is about to begin cannot go on from a; nil: it can.
func (a *About) Unlike(run *About) error {
	for _, d := range []struct {
		what      string
		is, wants any
	}{
		{"settings", a.SettingsHash, run.SettingsHash},
		{"seed", a.Seed, run.Seed},
		{"numerics", a.Numerics, run.Numerics},
		{"revisions of method, process, data, net and engine", a.Revisions, run.Revisions},
		{"data checksum", a.DataChecksum, run.DataChecksum},
		{"number of parameters", a.Params, run.Params},
		{"number of rounds", a.Rounds, run.Rounds},
	} {
		if d.is != d.wants {
			return fmt.Errorf("%s %v, want %v", d.what, d.is, d.wants)
		}
	}
	if run.Decisions && !a.Decisions {
		return errors.New("without decisions, want those of all rounds")
	}
	return nil
}

var fileName = regexp.MustCompile(`^checkpoint-(\d+)\.safetensors$`)

// Name is the name of a run's checkpoint after a round.
func Name(round int) string { return fmt.Sprintf("checkpoint-%d.safetensors", round) }

// Rounds returns the rounds after which there are checkpoints in a folder, the last first.
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

// Remove removes the checkpoints in a folder but for the newest ones.
func Remove(dir string, but int) error {
	rounds, err := Rounds(dir)
	return errors.Join(err, remove(dir, rounds[min(but, len(rounds)):]))
}

// RemoveAfter removes the checkpoints of later rounds: those that a run left which has begun anew or gone on from an
// older one, because they were of no use.
func RemoveAfter(dir string, round int) error {
	rounds, err := Rounds(dir)
	return errors.Join(err, remove(dir, slices.DeleteFunc(rounds, func(r int) bool { return r <= round })))
}

// remove removes what has the names of checkpoints, even if it is no file.
func remove(dir string, rounds []int) (err error) {
	for _, round := range rounds {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, Name(round))))
	}
	return err
}
