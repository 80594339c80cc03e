//go:build !unix

package signals

import "os"

// TimeUp is empty: this system has no such signal.
var TimeUp []os.Signal
