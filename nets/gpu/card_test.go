//go:build gpu && linux && cgo

package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
)

// sanitizer stands in for compute-sanitizer, which knows no emulator: it runs the program, and finds no error.
const sanitizer = `#!/usr/bin/env bash
while [[ $1 == --* ]]; do
  [[ $1 != --tool ]] || tool=$2
  shift 2
done
"$@" || exit
summary='ERROR SUMMARY: 0 errors'
[[ $tool != racecheck ]] || summary='RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'
echo "========= $summary"
`

// TestCardKit packs the kit and goes through all stages of card.sh on the emulator. TestGPUKitStages of package bench
// shows that none of them passes for nothing.
func TestCardKit(t *testing.T) {
	longtest.Only(t, "packs the kit, and runs it: ten minutes and more")
	if gputest.Real() || gputest.LeftOut != "" {
		t.Skip("left out: this test wants the emulator. " + gputest.LeftOut)
	}
	folder := t.TempDir()
	tools := filepath.Join(folder, "tools")
	must.OK(t, os.Mkdir(tools, 0o755))
	must.OK(t, os.WriteFile(filepath.Join(tools, "compute-sanitizer"), []byte(sanitizer), 0o755))
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	out := filepath.Join(folder, "out")
	for _, args := range [][]string{
		{"make", "gpu-kit", "KIT=" + filepath.Join(folder, "gpu-kit")},
		{"tar", "-C", folder, "-xf", filepath.Join(folder, "gpu-kit.tar.xz")},
		{filepath.Join(folder, "gpu-kit", "card.sh"), "-o", out, "-t", "1200", "-e", os.Getenv(driver.Variable)},
	} {
		c := exec.CommandContext(t.Context(), args[0], args[1:]...)
		c.Dir = "../.."
		if printed, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, printed)
		}
	}
	table := must.Get(os.ReadFile(filepath.Join(out, "table.txt")))(t)
	t.Logf("\n%s", table)
	if passed := strings.Count(string(table), " passed "); passed < 11 {
		t.Errorf("%d stages passed, want all but driver, and ptxas where there is none", passed)
	}
	packed := must.Get(os.Stat(filepath.Join(folder, "gpu-kit.tar.xz")))(t)
	if packed.Size() > 30e6 {
		t.Errorf("the kit has %d bytes, want 30 MB at the most", packed.Size())
	}
}
