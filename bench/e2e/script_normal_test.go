package e2e

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"rollcall/bench/run"
	"rollcall/nets/cpu/kernels"
)

// normal returns what a command wrote, to a file or to stdout or stderr, without what differs from run to run or from
// machine to machine.
func normal(name string, content []byte) []byte {
	switch {
	case strings.HasSuffix(name, ".png"):
		return pixels(content)
	case strings.Contains(filepath.Base(name), "tfevents"):
		return timelessEvents(content)
	case !utf8.Valid(content):
		return content
	}
	text := strings.NewReplacer(
		os.Getenv("XDG_CACHE_HOME"), "CACHE",
		kernels.Model(), "DEVICE",
		runtime.Version(), "GOVERSION",
		runtime.GOOS+"/"+runtime.GOARCH, "OS/ARCH",
		"rollcall "+run.Version(), "rollcall VERSION",
		`"version": "`+run.Version()+`"`, `"version": "VERSION"`,
	).Replace(string(content))
	for _, p := range normalPatterns {
		text = p.find.ReplaceAllString(text, p.put)
	}
	if strings.HasSuffix(name, ".csv") || name == "stdout" {
		text = withoutColumns(text, "elapsed_s", "version")
	}
	return []byte(text)
}

var normalPatterns = []struct {
	find *regexp.Regexp
	put  string
}{
	// "started" and "finished" of run.json, and when a report was made.
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC`), "TIME"},
	// Seconds at the end of a line of progress, and in the column of results show.
	{regexp.MustCompile(`(?m), \d+\.\d s$`), ", 0.0 s"},
	{regexp.MustCompile(` +\d+\.\d( +cpu-)`), " 0.0$1"},
	// The default of --threads is the number of cores, in help and in the flags of a machine with another number.
	{regexp.MustCompile(`(results do not depend on them \(default )\d+\)`), "${1}CORES)"},
	{regexp.MustCompile(`(--threads \d+: want 1 … )\d+`), "${1}MOST"},
	// What a run will hold is said where it is much for this machine, and grows with its cores.
	{regexp.MustCompile(`(?m)^memory: .*\n`), ""},
	// Why nothing can be downloaded is said by the machine's network.
	{regexp.MustCompile(`: unavailable: [^\n"]*`), ": unavailable: NETWORK"},
}

// withoutColumns puts X into columns of a CSV; other texts stay.
func withoutColumns(text string, names ...string) string {
	header, _, _ := strings.Cut(text, "\n")
	if !slices.ContainsFunc(strings.Split(header, ","), func(name string) bool {
		return slices.Contains(names, name)
	}) {
		return text
	}
	reader := csv.NewReader(strings.NewReader(text))
	reader.FieldsPerRecord = -1 // damaged files too
	records, err := reader.ReadAll()
	if err != nil {
		return text
	}
	for i, name := range records[0] {
		if !slices.Contains(names, name) {
			continue
		}
		for _, record := range records[1:] {
			if i < len(record) {
				record[i] = "X"
			}
		}
	}
	var out strings.Builder
	if err := csv.NewWriter(&out).WriteAll(records); err != nil {
		return text
	}
	return out.String()
}

// pixels returns the size and the pixels of a PNG, whose compression is that of the Go version.
func pixels(content []byte) []byte {
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return content
	}
	plain := image.NewNRGBA(picture.Bounds())
	draw.Draw(plain, plain.Bounds(), picture, picture.Bounds().Min, draw.Src)
	return append(fmt.Appendf(nil, "%v\xff", picture.Bounds()), plain.Pix...)
}

// timelessEvents returns TensorBoard's events without their times. A record is a length, its checksum, an event and
// the event's checksum; an event begins with its time, a double, as field 1.
func timelessEvents(content []byte) []byte {
	out := []byte{0xff} // no text
	for rest := content; len(rest) >= 12; {
		size := binary.LittleEndian.Uint64(rest)
		if uint64(len(rest)) < 16+size || size < 9 || rest[12] != 0x09 {
			return append(out, rest...) // damaged
		}
		out = append(binary.LittleEndian.AppendUint64(out, size), rest[12+9:12+size]...)
		rest = rest[16+size:]
	}
	return out
}
