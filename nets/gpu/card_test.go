//go:build gpu && linux && cgo

package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/longtest"
	"rollcall/internal/must"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
)

// Stand-ins for tools that know no emulator: each runs the program. One finds no error, one says that it has profiled.
var tools = map[string]string{
	"compute-sanitizer": `#!/usr/bin/env bash
while [[ $1 == --* ]]; do
  [[ $1 != --tool ]] || tool=$2
  shift 2
done
"$@" || exit
summary='ERROR SUMMARY: 0 errors'
[[ $tool != racecheck ]] || summary='RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'
echo "========= $summary"
`,
	"ncu": `#!/usr/bin/env bash
while [[ $1 == --* ]]; do
  [[ $1 != --launch-count ]] || count=$2
  shift 2
done
"$@" || exit
for ((i = 0; i < count; i++)); do echo '    Duration  us  1.0'; done
`,
}

// TestCardKit packs the kit and goes through all stages of card.sh on the emulator, in one call, and again while its
// worker is killed in every stage. TestGPUKitStages of package bench shows that no stage passes for nothing.
func TestCardKit(t *testing.T) {
	longtest.Only(t, "packs the kit, and runs it twice: ten minutes")
	if gputest.Real() || gputest.LeftOut != "" {
		t.Skip("left out: this test wants the emulator. " + gputest.LeftOut)
	}
	folder := t.TempDir()
	for name, text := range tools {
		path := filepath.Join(folder, "tools", name)
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.OK(t, os.WriteFile(path, []byte(text), 0o755))
	}
	t.Setenv("PATH", filepath.Join(folder, "tools")+":"+os.Getenv("PATH"))
	pack := exec.CommandContext(t.Context(), "make", "-C", "../..", "gpu-kit", "KIT="+filepath.Join(folder, "gpu-kit"))
	if printed, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	card := func(out string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "bash", "card.sh", "-o", out, "-e", os.Getenv(driver.Variable))
		c.Dir = folder
		return c
	}
	table := func(out string) string {
		text, _ := os.ReadFile(filepath.Join(folder, out, "table.txt")) // there may be none yet
		return string(text)
	}
	named := func(out string) []string { return regexp.MustCompile(`(?m)^\w+`).FindAllString(table(out), -1) }
	begun := time.Now()
	if printed, err := card("whole").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	took := time.Since(begun)
	t.Logf("one call, %.0f s:\n%s", took.Seconds(), table("whole"))
	stages := named("whole")
	if passed := strings.Count(table("whole"), " passed "); passed < len(stages)-3 || took > 10*time.Minute {
		t.Errorf("%d of %d stages passed in %v, want all but driver, and ptxas and peers where they are not there, "+
			"in ten minutes", passed, len(stages), took)
	}
	logs := filepath.Join(folder, "killed", "logs")
	for _, stage := range stages {
		c := card("killed")
		must.OK(t, c.Start())
		for !slices.Contains(named("killed"), stage) {
			running, _ := os.ReadFile(filepath.Join(logs, "stage")) // the process of a stage, if one runs
			if _, err := os.Stat(filepath.Join(logs, stage+".log")); err == nil && len(running) > 0 {
				worker := strings.TrimSpace(string(must.Get(os.ReadFile(filepath.Join(logs, "worker")))(t)))
				_ = exec.CommandContext(t.Context(), "kill", "-KILL", worker).Run() // unless it has just ended
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		_ = c.Wait() // its stages were killed
	}
	if printed, err := card("killed").CombinedOutput(); err != nil {
		t.Errorf("called anew after %d kills: %v\n%s", len(stages), err, printed)
	}
	if !slices.Equal(named("killed"), stages) ||
		strings.Count(table("killed"), " passed ") != strings.Count(table("whole"), " passed ") {
		t.Errorf("killed in every stage:\n%s\nwant as in one call", table("killed"))
	}
}
