package lock

import (
	"os"
	"path/filepath"
	"testing"

	"rollcall/internal/must"
)

// FuzzRunning: whatever is in the file of a lock that nobody holds, at most a live process elsewhere is named.
func FuzzRunning(f *testing.F) {
	f.Add([]byte(`{"pid":1,"host":"elsewhere","time":"2999-01-01T00:00:00Z","round":3,"rounds":9}`))
	f.Add([]byte(`{"pid":-1`))
	f.Add([]byte(nil))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		must.OK(t, os.WriteFile(filepath.Join(dir, File), text, 0o600))
		h, err := Running(dir)
		if err != nil || h != nil && h.PID == 0 {
			t.Errorf("%q: %+v, %v, want a process, or none", text, h, err)
		}
	})
}
