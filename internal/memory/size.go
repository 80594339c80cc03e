package memory

import (
	"fmt"
	"math"
	"strings"

	"rollcall/internal/files"
)

// units are the units in which sizes are written, in capitals.
var units = []struct {
	name  string
	bytes float64
}{
	{"KIB", 1 << 10},
	{"MIB", 1 << 20},
	{"GIB", 1 << 30},
	{"TIB", 1 << 40},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
}

// ParseSize reads a size such as 8GB, 1.5 GiB or 500MB and returns its bytes, at least 1 and below 2⁶³. A number
// without a unit is an error: some would mean bytes, others gigabytes.
func ParseSize(text string) (int64, error) {
	upper := strings.ToUpper(text)
	for _, u := range units {
		number, found := strings.CutSuffix(upper, u.name)
		if !found {
			continue
		}
		n, err := files.ParseNumber(strings.TrimSpace(number), 64)
		if n *= u.bytes; err == nil && n >= 1 && n < math.MaxInt64 {
			return int64(n), nil
		}
		break
	}
	return 0, fmt.Errorf("memory: size %q, want one such as 8GB, 8GiB or 500MB", text)
}

// Size returns a number of bytes as text: 44.8 GB, 512 MB.
func Size(bytes int64) string {
	if bytes < 1e9 {
		return fmt.Sprintf("%.0f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
}

// Flag is the name of the flag whose value is a [Ceiling].
const Flag = "memory-limit"

// Ceiling is the value of --memory-limit: a size, off, or empty for the system's limit. It is a pflag.Value.
type Ceiling struct {
	text  string
	bytes int64
}

// String returns the value as it was given.
func (c *Ceiling) String() string { return c.text }

// Type returns the kind of value, for usage texts.
func (c *Ceiling) Type() string { return "SIZE|off" }

// Set reads the value.
func (c *Ceiling) Set(text string) (err error) {
	bytes := int64(0)
	if text != "off" {
		bytes, err = ParseSize(text)
	}
	if err == nil {
		c.text, c.bytes = text, bytes
	}
	return err
}

// Limit returns the limit of the flag, or else the system's. known is false with off, and where the system has none.
func (c *Ceiling) Limit() (l Limit, known bool) {
	switch c.text {
	case "":
		return System()
	case "off":
		return Limit{}, false
	}
	return Limit{c.bytes, "--" + Flag}, true
}
