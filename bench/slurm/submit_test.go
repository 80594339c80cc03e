package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// programs puts programs of shell in the place of Slurm's.
func programs(t *testing.T, of map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range of {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o700))
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("DIR", dir)
}

func TestSubmit(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out", "slurm")
	programs(t, map[string]string{"sbatch": `echo "$*" >>"$DIR/args"; for last; do :; done; cat "$last" >"$DIR/was"
		echo "41;cluster"`})
	must.OK(t, os.MkdirAll(folder, 0o700))
	edited := []byte("\ufeff40\r\n") // the file of an older version
	must.OK(t, os.WriteFile(filepath.Join(folder, jobsFile), edited, 0o600))
	for n, after := range []string{"", "7"} {
		if id, err := Submit(t.Context(), folder, "#!/bin/bash\n", 8+n, after); id != "41" || err != nil {
			t.Errorf("%q, %v, want 41", id, err)
		}
	}
	if was := read(t, os.Getenv("DIR")+"/was"); was != "#!/bin/bash\n" {
		t.Errorf("submitted %q", was)
	}
	path := filepath.Join(folder, scriptFile)
	want := "--parsable " + path + "\n--parsable --dependency=afterok:7 --kill-on-invalid-dep=yes " + path + "\n"
	if args := read(t, os.Getenv("DIR")+"/args"); args != want {
		t.Errorf("arguments %q, want %q", args, want)
	}
	if _, err := Submit(t.Context(), filepath.Join(folder, "rung-1"), "", 3, ""); err != nil {
		t.Error(err)
	}
	if jobs, err := Submitted(folder); fmt.Sprint(jobs) != "[{40 0} {41 8} {41 9} {41 3}]" || err != nil {
		t.Errorf("%v, %v, want all, also that of the folder below", jobs, err)
	}
	if jobs, err := Submitted(t.TempDir()); jobs != nil || err != nil {
		t.Errorf("an empty folder: %v, %v, want none", jobs, err)
	}
	for text, want := range map[string]string{
		`echo "sbatch: error: invalid partition specified: x" >&2; exit 1`: "slurm: sbatch: exit status 1: " +
			"sbatch: error: invalid partition specified: x",
		"echo Submitted": `slurm: sbatch printed "Submitted\n", want the number of a job`,
	} {
		programs(t, map[string]string{"sbatch": text})
		id, err := Submit(t.Context(), folder, "", 1, "")
		if err == nil || err.Error() != want || id != "" && id != "Submitted" {
			t.Errorf("%q, %v, want %s", id, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	_, err := Submit(t.Context(), folder, "", 1, "")
	if err == nil || !strings.Contains(err.Error(), "no program sbatch here") {
		t.Errorf("%v, want that there is no sbatch", err)
	}
	for _, line := range []string{"-5", "41 0", "41 x"} {
		must.OK(t, os.WriteFile(filepath.Join(folder, jobsFile), []byte("41 8\n"+line+"\n"), 0o600))
		_, err := Submitted(folder)
		if want := fmt.Sprintf("%q, want the number of a job and of its parts", line); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Tasks of other jobs, and those that have ended, are not counted; a pending one says what it waits for.
func TestQueue(t *testing.T) {
	programs(t, map[string]string{"squeue": `printf '%s\n' "7 RUNNING None" "7 PENDING Priority" "7 PENDING BeginTime" \
		"7 PENDING Priority" "7 COMPLETED None" "7 NODE_FAIL None" "70 RUNNING None" "8 COMPLETING None" \
		"9 PENDING x"`})
	got, err := Queue(t.Context(), []string{"7", "8"})
	want := Tally{5, "1 COMPLETING, 1 PENDING (BeginTime), 1 RUNNING, 2 PENDING (Priority)"}
	if got != want || err != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// Waiting says each new tally once, outlives a silent controller, and ends when Slurm has said twice that all is done.
func TestWait(t *testing.T) {
	programs(t, map[string]string{"squeue": `n=$(cat "$DIR/n" 2>/dev/null || echo 0); echo $((n+1)) >"$DIR/n"
		case $n in
		0|1) echo "7 PENDING Resources";; 2) echo "squeue: error: Unable to contact slurm controller" >&2; exit 1;;
		3) echo "7 RUNNING None";; 4) ;; 5) echo "7 PENDING BeginTime";; *) ;; esac`})
	var said []string
	say := func(t Tally) { said = append(said, t.Text) }
	if err := Wait(t.Context(), []string{"7"}, time.Millisecond, say); err != nil {
		t.Error(err)
	}
	want := "1 PENDING (Resources); 1 RUNNING; 1 PENDING (BeginTime)"
	if got := strings.Join(said, "; "); got != want || strings.TrimSpace(read(t, os.Getenv("DIR")+"/n")) != "8" {
		t.Errorf("%s, asked %s times, want %s, 8", got, read(t, os.Getenv("DIR")+"/n"), want)
	}
	programs(t, map[string]string{"squeue": `echo "7 RUNNING None"`})
	ctx, cancel := context.WithCancel(t.Context())
	err := Wait(ctx, []string{"7"}, time.Hour, func(Tally) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was canceled", err)
	}
}

// FuzzSubmitted: the file of jobs has numbers of jobs, or is an error.
func FuzzSubmitted(f *testing.F) {
	f.Add("40\n41 8\n")
	f.Add("\ufeff40\r\n\n41 -1")
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		must.OK(t, os.WriteFile(filepath.Join(folder, jobsFile), []byte(text), 0o600))
		jobs, err := Submitted(folder)
		for _, j := range jobs {
			if !jobNumber.MatchString(j.ID) || j.Parts < 0 {
				t.Errorf("%q: %+v, %v, want numbers of jobs", text, j, err)
			}
		}
	})
}
