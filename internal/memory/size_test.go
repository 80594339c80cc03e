package memory

import (
	"testing"

	"rollcall/internal/must"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"8GB": 8e9, "8gb": 8e9, "8 GB": 8e9, "1.5GB": 15e8, "500MB": 5e8, "3kB": 3000, "2TB": 2e12,
		"8GiB": 8 << 30, "0.5MiB": 1 << 19, "1KiB": 1024, "1TiB": 1 << 40,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "8", "GB", "8G", "8B", "-1GB", "0GB", "0.0001KB", "NaNGB", "InfGB", "1e30TB", "8 G B", "GB8",
		"8GB8", "eight GB",
	} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 MB", 512e6: "512 MB", 44_800e6: "44.8 GB", 1e9: "1.0 GB"} {
		if got := Size(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}

func TestCeiling(t *testing.T) {
	var c Ceiling
	own, ownKnown := c.Limit()
	if system, known := System(); known != ownKnown || own.From != system.From {
		t.Errorf("without a value: %+v, known %t, want the system's, %+v", own, ownKnown, system)
	}
	must.OK(t, c.Set("3GB"))
	if l, known := c.Limit(); !known || l != (Limit{3e9, "--memory-limit"}) {
		t.Errorf("3GB: %+v, known %t", l, known)
	}
	if err := c.Set("much"); err == nil || c.String() != "3GB" {
		t.Errorf("much: error %v, and the value is %s, want an error and 3GB still", err, c.String())
	}
	must.OK(t, c.Set("off"))
	if l, known := c.Limit(); known {
		t.Errorf("off: %+v, want nothing known", l)
	}
}
