//go:build !unix

package cli

import "os"

// TimeUp is empty: this system has no such signal.
var TimeUp []os.Signal
