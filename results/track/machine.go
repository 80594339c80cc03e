package track

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"rollcall/internal/files"
)

// Machine describes everything besides the program on which a speed depends. Speeds of different machines are never
// compared; two machines are the same if all their fields are equal. Unknown fields are empty.
type Machine struct {
	Suite     string `csv:"suite"`     // name and version of the workloads: other workloads begin another history
	OS        string `csv:"os"`        // operating system and architecture: linux/amd64
	CPU       string `csv:"cpu"`       // name of the processor, as it reports it
	CPUs      int    `csv:"cpus"`      // logical processors that the program may use
	Threads   int    `csv:"threads"`   // of the CPU engine
	Engine    string `csv:"engine"`    // cpu-avx512, cpu-amx, cuda-sm90, …
	Device    string `csv:"device"`    // name of the processor or the GPU that trains, as it reports it
	Driver    string `csv:"driver"`    // of the GPU
	Clocks    string `csv:"clocks"`    // limits of the clock rates, not the rates at the moment
	Precision string `csv:"precision"` // fp32, tf32, bf16, bf16x3
}

// Fingerprint returns a short name of the machine: the first twelve hexadecimal digits of the SHA-256 of its fields,
// each followed by a zero byte.
func (m Machine) Fingerprint() string {
	var cells []string
	for cells = range files.CSVRecords([]Machine{m}) { // texts and whole numbers, which are never an error
	}
	sum := sha256.Sum256([]byte(strings.Join(cells, "\x00") + "\x00"))
	return hex.EncodeToString(sum[:6])
}

// FileName returns the name of the machine's file in a folder of histories. It has device, engine and precision for
// people, and the fingerprint for the program.
func (m Machine) FileName() string {
	return fmt.Sprintf("%s_%s_%s_%s.csv", slug(m.Device), slug(m.Engine), slug(m.Precision), m.Fingerprint())
}

// String describes the machine in one line.
func (m Machine) String() string {
	parts := []string{m.Device, m.Engine, m.Precision, fmt.Sprintf("%d of %d CPUs", m.Threads, m.CPUs)}
	// Only what is known is listed; the clocks of many machines are not.
	for _, more := range []struct{ name, value string }{
		{"driver", m.Driver},
		{"clocks", m.Clocks},
		{"workloads", m.Suite},
	} {
		if more.value != "" {
			parts = append(parts, more.name+" "+more.value)
		}
	}
	return strings.Join(parts, ", ")
}

// slug returns a name for files: lower-case letters and digits, with a dash for everything between them. It has at most
// 40 bytes, or 41 if it would end with a dash; existing file names depend on this.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	text := strings.Join(words, "-")
	if n := 40; len(text) > n {
		if text[n-1] == '-' {
			n++
		}
		text = text[:n]
	}
	return cmp.Or(text, "unknown")
}
