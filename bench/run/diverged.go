package run

import "errors"

// divergedError is of a run whose loss is no number any more: the same settings and seed would come to it again.
type divergedError struct{ err error }

func (e *divergedError) Error() string { return e.err.Error() }

func (e *divergedError) Unwrap() error { return e.err }

// IsDiverged reports whether a run ended since its loss is no number any more, and for no other reason.
func IsDiverged(err error) bool {
	_, ok := errors.AsType[*divergedError](err)
	return ok
}
