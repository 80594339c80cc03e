package track

import (
	"io"
	"time"
)

// WritePage writes the page of a machine.
func WritePage(w io.Writer, h *History, r Rule, v Verdict) error {
	_ = time.Time{}
	return nil
}
