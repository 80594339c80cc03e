package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"rollcall/bench/cli"
)

// recordingMachine is what of an output is this machine's and not the program's.
type recordingMachine struct {
	work, cache     string   // folders
	device, version string   // as rollcall devices and rollcall version say them
	kernels         []string // variants
	// What file returned before, by the SHA-256 of name and content: there are hundreds of files, and most do not
	// change.
	known map[[sha256.Size]byte][]byte
}

func (m *recordingMachine) has(kernels string) bool { return slices.Contains(m.kernels, kernels) }

// recordingAbout asks the program itself.
func recordingAbout(t *testing.T, work, cache string) *recordingMachine {
	t.Helper()
	ask := func(command string) string {
		var stdout, stderr bytes.Buffer
		if status := cli.Main([]string{command}, &stdout, &stderr); status != 0 {
			t.Fatalf("rollcall %s: status %d, %s", command, status, &stderr)
		}
		return stdout.String()
	}
	version := strings.Fields(ask("version")) // rollcall VERSION go1.26 linux/amd64
	line := regexp.MustCompile(`^cpu +(.*), \d+ threads?, kernels \S+ \(of ([^)]*)\); bf16.*\n`)
	devices := line.FindStringSubmatch(ask("devices"))
	if len(version) != 4 || devices == nil {
		t.Fatalf("rollcall version and devices: %q and %q, want a version and a processor", version, devices)
	}
	return &recordingMachine{
		work: work, cache: cache, device: devices[1], version: version[1],
		kernels: strings.Split(devices[2], ", "), known: map[[sha256.Size]byte][]byte{},
	}
}

// Times, and what else differs from run to run or from machine to machine, in texts.
var recordingPatterns = []struct {
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

// file is normal for a file that may have been seen before.
func (m *recordingMachine) file(name string, content []byte) []byte {
	key := sha256.Sum256(append([]byte(name+"\x00"), content...))
	if _, ok := m.known[key]; !ok {
		m.known[key] = m.normal(name, content)
	}
	return m.known[key]
}

// normal returns the content of a file, or of stdout or stderr, without what is this machine's.
func (m *recordingMachine) normal(name string, content []byte) []byte {
	switch {
	case strings.HasSuffix(name, ".png"):
		return recordingPixels(content)
	case strings.Contains(filepath.Base(name), "tfevents"):
		return recordingEvents(content)
	case !utf8.Valid(content):
		return content
	}
	text := string(content)
	for _, r := range []struct{ find, put string }{
		{m.work, "WORK"},
		{m.cache, "CACHE"},
		{m.device, "DEVICE"},
		{runtime.Version(), "GOVERSION"},
		{runtime.GOOS + "/" + runtime.GOARCH, "OS/ARCH"},
		{"rollcall " + m.version, "rollcall VERSION"},
		{`"version": "` + m.version + `"`, `"version": "VERSION"`},
	} {
		text = strings.ReplaceAll(text, r.find, r.put)
	}
	for _, p := range recordingPatterns {
		text = p.find.ReplaceAllString(text, p.put)
	}
	if strings.HasSuffix(name, ".csv") || name == "stdout" {
		text = recordingColumns(text)
	}
	return []byte(text)
}

// recordingField is one field of a line of CSV, quotes and all.
var recordingField = regexp.MustCompile(`("([^"]|"")*"|[^,]*)(,|$)`)

// recordingColumns empties the columns of a CSV that say when, how fast and by which build; other texts stay.
func recordingColumns(text string) string {
	header, _, _ := strings.Cut(text, "\n")
	var hide []int
	for i, name := range strings.Split(header, ",") {
		if name == "elapsed_s" || name == "version" {
			hide = append(hide, i)
		}
	}
	if len(hide) == 0 {
		return text
	}
	var out strings.Builder
	for n, line := range slices.Collect(strings.Lines(text)) {
		if n == 0 {
			out.WriteString(line)
			continue
		}
		fields := recordingField.FindAllString(strings.TrimSuffix(line, "\n"), -1)
		for _, i := range hide {
			if i < len(fields) {
				fields[i] = "X" + strings.Repeat(",", min(1, len(fields)-1-i)) // no comma after the last
			}
		}
		out.WriteString(strings.Join(fields, "") + "\n")
	}
	return out.String()
}

// recordingPixels returns the size and the pixels of a PNG, whose compression is that of the Go version.
func recordingPixels(content []byte) []byte {
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return content
	}
	pixels := image.NewNRGBA(picture.Bounds())
	draw.Draw(pixels, pixels.Bounds(), picture, picture.Bounds().Min, draw.Src)
	return append(fmt.Appendf(nil, "%v\xff", picture.Bounds()), pixels.Pix...)
}

// recordingEvents returns TensorBoard's events without their times. A record is a length, its checksum, an event and
// the event's checksum; an event begins with its time, a double, as field 1.
func recordingEvents(content []byte) []byte {
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

// recordingFile writes a file of a golden: whole if it is a small text and the budget allows it.
func recordingFile(out *strings.Builder, name string, content []byte, budget *int) {
	if len(content) > recordingWhole || len(content) > *budget || !utf8.Valid(content) ||
		bytes.ContainsRune(content, 0) {
		fmt.Fprintf(out, "--- %s: %d bytes, SHA-256 %x\n", name, len(content), sha256.Sum256(content))
		return
	}
	*budget -= len(content)
	recordingPart(out, name, content)
}

// recordingPart writes a text under its name.
func recordingPart(out *strings.Builder, name string, content []byte) {
	if len(content) == 0 {
		fmt.Fprintf(out, "--- %s: empty\n", name)
		return
	}
	fmt.Fprintf(out, "--- %s\n%s", name, content)
	if !bytes.HasSuffix(content, []byte("\n")) {
		out.WriteString("\n(no newline at its end)\n")
	}
}
