package memory

import "testing"

// FuzzParseSize: a size is at least a byte, or an error.
func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"8GB", "1.5 gib", "0x1p4TiB", "1e-3kb", "NaNMB", "infTB", "", "ſB"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := ParseSize(text); (err == nil) != (n >= 1) {
			t.Errorf("%q: %d bytes, %v, want 1 or more, or an error", text, n, err)
		}
	})
}
