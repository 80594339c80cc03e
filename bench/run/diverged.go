package run

import "slices"

// divergedError is of a run whose loss is no number any more: the same settings and seed would come to it again.
type divergedError struct{ err error }

func (e *divergedError) Error() string { return e.err.Error() }

func (e *divergedError) Unwrap() error { return e.err }

// IsDiverged reports whether a run ended since its loss is no number any more, and for no other reason: of one whose
// files could not be written either, it is not the whole story.
func IsDiverged(err error) bool {
	switch e := err.(type) { //nolint:errorlint // errors.As finds one error of several, where all are asked for
	case *divergedError:
		return true
	case interface{ Unwrap() error }:
		return IsDiverged(e.Unwrap())
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		return len(all) > 0 && !slices.ContainsFunc(all, func(err error) bool { return !IsDiverged(err) })
	}
	return false
}
