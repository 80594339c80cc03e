package track

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Machine is all that a speed depends on and that is not the program: histories of two machines are never compared. Two
// machines are the same if all fields are. What is not known is empty.
type Machine struct {
	Suite     string // workloads, and the number of their version: other work is another history
	OS        string // operating system and architecture, linux/amd64
	CPU       string // the processor's own name
	CPUs      int    // logical processors the program may use
	Threads   int    // of the CPU engine
	Engine    string // cpu-avx512, cuda-sm90 and the like
	Device    string // what trains: the processor's or the card's own name
	Driver    string // of the card
	Clocks    string // limits of the clocks as seen, not their value of the moment
	Precision string // fp32, tf32, bf16
}

// fields are the cells of a machine, in the order of [columns].
func (m Machine) fields() []string {
	return []string{
		m.Suite, m.OS, m.CPU, strconv.Itoa(m.CPUs), strconv.Itoa(m.Threads), m.Engine, m.Device, m.Driver,
		m.Clocks, m.Precision,
	}
}

// Fingerprint names the machine in twelve hexadecimal digits: the head of the SHA-256 of its fields, each with a zero
// byte behind it.
func (m Machine) Fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join(m.fields(), "\x00") + "\x00"))
	return hex.EncodeToString(sum[:6])
}

// FileName is the name of the machine's file in a folder of histories: its device, engine and precision for people, its
// fingerprint for the program.
func (m Machine) FileName() string {
	return fmt.Sprintf("%s_%s_%s_%s.csv", slug(m.Device), slug(m.Engine), slug(m.Precision), m.Fingerprint())
}

// String says what the machine is, in a line.
func (m Machine) String() string {
	parts := []string{m.Device, m.Engine, m.Precision, fmt.Sprintf("%d of %d CPUs", m.Threads, m.CPUs)}
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

// slug keeps letters and digits of a name, small, and puts one dash for all else. It is cut at 40 bytes, or behind the
// next one where the last of them would be a dash.
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
