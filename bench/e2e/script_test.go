package e2e

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Every script of testdata/script runs the program, and says what it writes. With -update, what follows `cmp stdout`
// and `cmp stderr` in the scripts is rewritten.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", UpdateScripts: *update, RequireExplicitExec: true})
}
